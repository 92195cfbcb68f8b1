"""Rows of arrays in chunks and of tables: Zarr, Parquet, Dask arrays."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tensorgen.engines.optional import needed
from tensorgen.engines.row_blocks import BLOCK, RowBlock, cut_rows

PathLike = str | os.PathLike[str]


@dataclass(frozen=True)
class ZarrArray:
    """An array of Zarr, opened where it is read if it is given by a path."""

    at: Any
    rows: int
    row_bytes: float

    def read(self, start: int, stop: int) -> Any:
        """Return rows from start to stop."""
        return np.asarray(_opened(self.at)[start:stop])

    def cut(self, start: int, stop: int) -> ZarrArray:
        """Return itself, which holds no rows."""
        return self


def _opened(at: Any) -> Any:
    return needed("zarr").open_array(at, mode="r") if isinstance(at, str) else at


def zarr_rows(
    arrays: Mapping[str, Any], *, rows: int | None = None, nbytes: int = BLOCK
) -> Sequence[RowBlock]:
    """Return blocks of the rows of Zarr arrays, given by paths or as they are.

    A block has `rows` rows, or as many chunks as take `nbytes` bytes, and one at least;
    of arrays with other chunks, the largest count.
    """
    sources, units = {}, [1]
    for name, given in arrays.items():
        at = os.fspath(given) if isinstance(given, str | os.PathLike) else given
        array = _opened(at)
        each = array.dtype.itemsize * math.prod(array.shape[1:])
        sources[name] = ZarrArray(at, int(array.shape[0]), each)
        units.append(int(array.chunks[0]))
    return cut_rows(sources, rows, nbytes, max(units))


@dataclass(frozen=True)
class ParquetBlock:
    """Some groups of rows of a Parquet file, which are read when it is called."""

    path: str
    groups: tuple[int, ...]
    columns: Mapping[str, str | tuple[str, ...]]

    def __call__(self) -> dict[str, Any]:
        """Return columns by the names of inputs; ValueError where one has no value."""
        names = [x for own in self.columns.values() for x in _listed(own)]
        with needed("pyarrow.parquet").ParquetFile(self.path) as file:
            read = file.read_row_groups(list(self.groups), columns=[*{*names}])
        found = {name: self._numbers(name, read[name]) for name in {*names}}
        return {
            name: (
                found[own]
                if isinstance(own, str)
                else np.stack([found[x] for x in own], axis=1)
            )
            for name, own in self.columns.items()
        }

    def _numbers(self, name: str, column: Any) -> Any:
        if column.null_count:
            where = f"row groups {self.groups[0]} to {self.groups[-1]}"
            message = f"{self.path}: {column.null_count} values of {name} are missing"
            raise ValueError(f"{message}, in {where}")
        return column.to_numpy()


def _listed(columns: str | tuple[str, ...]) -> tuple[str, ...]:
    return (columns,) if isinstance(columns, str) else columns


def parquet_rows(
    paths: PathLike | Iterable[PathLike],
    columns: Mapping[str, str | Sequence[str]],
    *,
    nbytes: int = BLOCK,
) -> Sequence[ParquetBlock]:
    """Return blocks of the rows of Parquet files.

    Columns are by the names of inputs, one for a vector and a sequence for a matrix:
    `{"X": ["age", "dose"], "y": "answer"}`. A block has as many groups of rows, as they
    stand in the file, as take `nbytes` bytes in memory, and one at least.
    """
    parquet = needed("pyarrow.parquet")
    wanted = {x: y if isinstance(y, str) else tuple(y) for x, y in columns.items()}
    names = {x for own in wanted.values() for x in _listed(own)}
    if isinstance(paths, str | os.PathLike):
        paths = [paths]
    blocks = []
    for path in paths:
        at = os.fspath(Path(path).absolute())
        about = parquet.read_metadata(at)
        if absent := sorted(names - {*about.schema.names}):
            raise ValueError(f"{at}: has no column {', '.join(absent)}")
        sizes = [about.row_group(k).num_rows for k in range(about.num_row_groups)]
        for groups in _gathered(sizes, nbytes // (8 * len(names))):
            blocks.append(ParquetBlock(at, groups, wanted))
    return blocks


def _gathered(sizes: Sequence[int], most: int) -> list[tuple[int, ...]]:
    """Return neighbours together as long as they are not more rows than that."""
    found: list[list[int]] = []
    rows = 0
    for k, size in enumerate(sizes):
        if not found or rows + size > most:
            found.append([])
            rows = 0
        found[-1].append(k)
        rows += size
    return [tuple(groups) for groups in found]


@dataclass(frozen=True)
class DaskBlock:
    """One chunk of rows of each of some Dask arrays, computed when it is called."""

    parts: Mapping[str, Any]

    def __call__(self) -> dict[str, Any]:
        """Return the chunks by the names of inputs, computed where this runs."""
        (found,) = needed("dask").compute(dict(self.parts), scheduler="synchronous")
        return {name: np.asarray(part) for name, part in found.items()}


def dask_rows(arrays: Mapping[str, Any]) -> Sequence[Callable[[], dict[str, Any]]]:
    """Return a block for each chunk of rows of some Dask arrays, by names of inputs.

    Chunks are computed in each round, where the block is, from what the arrays are made
    of: files, say. So arrays are given as they are before `persist`. ValueError where
    chunks of rows differ.
    """
    chunks = {name: array.chunks[0] for name, array in arrays.items()}
    if len({*chunks.values()}) != 1:
        found = ", ".join(f"{x} has {len(own)}" for x, own in chunks.items())
        message = (
            f"chunks of rows: expected the same of all arrays, got {found or 'none'}"
        )
        raise ValueError(f"{message}; rechunk them")
    whole = {
        name: array.rechunk({k: -1 for k in range(1, array.ndim)})
        for name, array in arrays.items()
    }
    optimize = needed("dask").optimize  # leaves of a graph what a chunk needs
    count = len(next(iter(chunks.values())))
    parts = ({name: own.blocks[k] for name, own in whole.items()} for k in range(count))
    return [DaskBlock(*optimize(part)) for part in parts]
