"""Rows of .npy files, read by their offsets.

Files are not mapped into memory: pages of a map that were read count as memory of the
process, and under a limit of addresses the whole file counts.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from tensorgen.engines.row_blocks import BLOCK, RowBlock, cut_rows

PathLike = str | os.PathLike[str]


@dataclass(frozen=True)
class NpyFile:
    """An array in a .npy file, in C order."""

    path: str
    dtype: Any
    shape: tuple[int, ...]
    offset: int

    @property
    def rows(self) -> int:
        """How many there are."""
        return self.shape[0]

    @property
    def row_bytes(self) -> int:
        """How many bytes one takes."""
        return int(self.dtype.itemsize) * math.prod(self.shape[1:])

    def read(self, start: int, stop: int) -> Any:
        """Return rows from start to stop; ValueError if the file has lost them."""
        shape = (stop - start, *self.shape[1:])
        place = self.offset + start * self.row_bytes
        found = np.fromfile(self.path, self.dtype, math.prod(shape), offset=place)
        if found.size != math.prod(shape):
            raise ValueError(f"{self.path}: the file ends before row {stop}")
        return found.reshape(shape)

    def cut(self, start: int, stop: int) -> NpyFile:
        """Return itself, which holds no rows."""
        return self


def npy_file(path: PathLike) -> NpyFile:
    """Return what reads the array of a .npy file; ValueError if that is impossible."""
    name = os.fspath(Path(path).absolute())
    with open(name, "rb") as file:
        version = np.lib.format.read_magic(file)
        if version == (1, 0):
            header = np.lib.format.read_array_header_1_0(file)
        else:
            header = np.lib.format.read_array_header_2_0(file)
        offset = file.tell()
    shape, is_fortran, dtype = header
    if not shape:
        raise ValueError(f"{name}: expected rows, got a number")
    if is_fortran and len(shape) > 1:
        hint = "write np.ascontiguousarray of it"
        raise ValueError(f"{name}: its rows are not together, in Fortran order; {hint}")
    if dtype.hasobject:
        raise ValueError(f"{name}: expected numbers, got dtype {dtype}")
    return NpyFile(name, dtype, shape, offset)


def npy_rows(
    files: Mapping[str, PathLike] | Iterable[Mapping[str, PathLike]],
    *,
    rows: int | None = None,
    nbytes: int = BLOCK,
) -> Sequence[RowBlock]:
    """Return blocks of the rows of .npy files, by the names of inputs.

    `{"X": "X.npy", "y": "y.npy"}`, or several of them, one for each part of the rows. A
    block has `rows` rows, or those that take `nbytes` bytes.
    """
    parts = [files] if isinstance(files, Mapping) else files
    found = [{name: npy_file(path) for name, path in part.items()} for part in parts]
    return list(chain.from_iterable(cut_rows(part, rows, nbytes) for part in found))
