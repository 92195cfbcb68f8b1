"""The stand-in's sparse matrices, to be made and factorised."""

from __future__ import annotations

import importlib
from types import SimpleNamespace
from typing import Any

import scipy.sparse


def _lifted(name: str) -> Any:
    return getattr(importlib.import_module("cupy._array"), name)


class _Matrix:
    """A sparse matrix on the device."""

    make: Any

    def __init__(self, given: Any, shape: tuple[int, int] | None = None) -> None:
        if not scipy.sparse.issparse(given):
            given = self.make(_lifted("unwrap")(given), shape=shape)
        self._matrix = given

    def __getattr__(self, name: str) -> Any:
        if name in ("shape", "has_canonical_format"):
            return getattr(self._matrix, name)
        if name not in ("data", "indices", "indptr", "dtype"):
            raise AttributeError(name)
        return _lifted("wrap")(getattr(self._matrix, name))

    def tocsr(self) -> _Matrix:
        """Return the matrix by rows; itself, if it is."""
        by_rows = isinstance(self, csr_matrix)
        return self if by_rows else csr_matrix(self._matrix.tocsr())

    def copy(self) -> Any:
        """Return another matrix with these entries."""
        return type(self)(self._matrix.copy())

    def sum_duplicates(self) -> None:
        """Add up entries of one place, and sort them."""
        self._matrix.sum_duplicates()

    def sort_indices(self) -> None:
        """Sort the entries of each row."""
        self._matrix.sort_indices()

    def tocoo(self) -> Any:
        """Return the entries by row and column, on the device."""
        entries = self._matrix.tocoo()
        row, col, data = map(_lifted("wrap"), (entries.row, entries.col, entries.data))
        return SimpleNamespace(row=row, col=col, data=data)

    def diagonal(self) -> Any:
        """Return the diagonal, on the device."""
        return _lifted("wrap")(self._matrix.diagonal())

    @property
    def T(self) -> Any:
        """The transpose."""
        turned = self._matrix.T
        return (csr_matrix if turned.format == "csr" else csc_matrix)(turned)

    def __matmul__(self, other: Any) -> Any:
        """Multiply an array, or a sparse matrix, on the device."""
        if isinstance(other, _Matrix):
            return csr_matrix((self._matrix @ other._matrix).tocsr())
        return _lifted("wrap")(self._matrix @ _lifted("unwrap")(other))

    def toarray(self) -> Any:
        """Return the whole matrix, on the device."""
        return _lifted("wrap")(self._matrix.toarray())


class csc_matrix(_Matrix):
    """A sparse matrix by columns."""

    make = scipy.sparse.csc_matrix


class csr_matrix(_Matrix):
    """A sparse matrix by rows."""

    make = scipy.sparse.csr_matrix
