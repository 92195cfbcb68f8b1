"""The stand-in's sparse matrices: one format, to be made and factorised."""

from __future__ import annotations

import importlib
from types import SimpleNamespace
from typing import Any

import scipy.sparse


def _lifted(name: str) -> Any:
    return getattr(importlib.import_module("cupy._array"), name)


class csc_matrix:
    """A sparse matrix on the device."""

    def __init__(self, given: Any, shape: tuple[int, int] | None = None) -> None:
        if not scipy.sparse.issparse(given):
            given = scipy.sparse.csc_matrix(_lifted("unwrap")(given), shape=shape)
        self._matrix = given

    def __getattr__(self, name: str) -> Any:
        if name not in ("data", "indices", "indptr", "shape", "dtype"):
            raise AttributeError(name)
        return _lifted("wrap")(getattr(self._matrix, name))

    def tocoo(self) -> Any:
        """Return the entries by row and column, on the device."""
        entries = self._matrix.tocoo()
        row, col, data = map(_lifted("wrap"), (entries.row, entries.col, entries.data))
        return SimpleNamespace(row=row, col=col, data=data)

    def diagonal(self) -> Any:
        """Return the diagonal, on the device."""
        return _lifted("wrap")(self._matrix.diagonal())
