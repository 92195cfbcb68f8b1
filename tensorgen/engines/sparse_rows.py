"""Rows of sparse matrices, held in memory or in files, in compressed rows."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tensorgen.engines.npy_rows import NpyFile, npy_file
from tensorgen.engines.optional import needed
from tensorgen.engines.row_blocks import BLOCK, Held, RowBlock, Source, cut_rows

PARTS = ("data", "indices", "indptr")


@dataclass(frozen=True)
class HeldCsr:
    """A matrix in memory, of which a block that is sent takes its rows along."""

    matrix: Any
    first: int = 0

    @property
    def rows(self) -> int:
        """How many there are."""
        return int(self.matrix.shape[0])

    @property
    def row_bytes(self) -> float:
        """How many bytes one takes, in the mean."""
        parts = (getattr(self.matrix, part).nbytes for part in PARTS)
        return float(sum(parts)) / max(self.rows, 1)

    def read(self, start: int, stop: int) -> Any:
        """Return rows from start to stop, a matrix."""
        return self.matrix[start - self.first : stop - self.first]

    def cut(self, start: int, stop: int) -> HeldCsr:
        """Return these rows alone."""
        return HeldCsr(self.read(start, stop), start)


@dataclass(frozen=True)
class CsrFiles:
    """A matrix in a folder, as `save_csr` has written it."""

    data: NpyFile
    indices: NpyFile
    indptr: NpyFile
    columns: int

    @property
    def rows(self) -> int:
        """How many there are."""
        return self.indptr.rows - 1

    @property
    def row_bytes(self) -> float:
        """How many bytes one takes, in the mean."""
        each = self.data.row_bytes + self.indices.row_bytes
        return each * self.data.rows / max(self.rows, 1) + self.indptr.row_bytes

    def read(self, start: int, stop: int) -> Any:
        """Return rows from start to stop, a matrix."""
        bounds = self.indptr.read(start, stop + 1)
        data, indices = (
            part.read(int(bounds[0]), int(bounds[-1]))
            for part in (self.data, self.indices)
        )
        shape = stop - start, self.columns
        given = data, indices, bounds - bounds[0]
        return needed("scipy.sparse").csr_array(given, shape=shape)

    def cut(self, start: int, stop: int) -> CsrFiles:
        """Return itself, which holds no rows."""
        return self


def save_csr(folder: str | os.PathLike[str], matrix: Any) -> None:
    """Write a sparse matrix to a folder, so that `csr_rows` can read rows of it."""
    matrix, target = matrix.tocsr(), Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    for part in PARTS:
        np.save(target / f"{part}.npy", getattr(matrix, part))
    np.save(target / "shape.npy", np.asarray(matrix.shape))


def csr_rows(
    arrays: Mapping[str, Any], *, rows: int | None = None, nbytes: int = BLOCK
) -> Sequence[RowBlock]:
    """Return blocks of the rows of sparse matrices, and of arrays beside them.

    By the names of inputs: a matrix of `scipy.sparse`, a folder that `save_csr` has
    written, an array, or a .npy file. A block has `rows` rows, or those that take
    `nbytes` bytes in the mean.
    """
    sources = {name: _source(given) for name, given in arrays.items()}
    return cut_rows(sources, rows, nbytes)


def _source(given: Any) -> Source:
    if isinstance(given, str | os.PathLike):
        folder = Path(given)
        if not folder.is_dir():
            return npy_file(folder)
        _, columns = np.load(folder / "shape.npy")
        parts = {part: npy_file(folder / f"{part}.npy") for part in PARTS}
        return CsrFiles(**parts, columns=int(columns))
    if hasattr(given, "tocsr"):
        return HeldCsr(given.tocsr())
    return Held(np.asarray(given))
