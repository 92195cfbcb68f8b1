"""Entries that name their rows, such as answers of persons or edges of a graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tensorgen.engines.row_blocks import BLOCK, Held, RowBlock, Source, cut_rows


@dataclass(frozen=True)
class Entries:
    """A column of entries sorted by their rows; `bounds` says where rows begin.

    Those of the column that names rows are numbers within the block.
    """

    column: Any
    bounds: Any
    names_rows: bool
    first: int = 0

    @property
    def rows(self) -> int:
        """How many there are."""
        return len(self.bounds) - 1

    @property
    def row_bytes(self) -> float:
        """How many bytes the entries of one take, in the mean."""
        return float(self.column.nbytes) / max(self.rows, 1)

    def read(self, start: int, stop: int) -> Any:
        """Return the entries of rows from start to stop."""
        own = self.bounds[start - self.first], self.bounds[stop - self.first]
        found = self.column[slice(*(x - self.bounds[0] for x in own))]
        return found - start if self.names_rows else found

    def cut(self, start: int, stop: int) -> Entries:
        """Return the entries of these rows alone."""
        bounds = self.bounds[start - self.first : stop - self.first + 1]
        ends = (int(x - self.bounds[0]) for x in (bounds[0], bounds[-1]))
        column = np.ascontiguousarray(self.column[slice(*ends)])
        return Entries(column, bounds.copy(), self.names_rows, start)


@dataclass(frozen=True)
class Counted:
    """How many rows there are: what a block tells where no array of it does."""

    rows: int
    row_bytes: float = 0.0

    def read(self, start: int, stop: int) -> int:
        """Return how many rows there are from start to stop."""
        return stop - start

    def cut(self, start: int, stop: int) -> Counted:
        """Return itself, which holds no rows."""
        return self


def edges(
    row: Mapping[str, Any],
    columns: Mapping[str, Any],
    *,
    beside: Mapping[str, Any] | None = None,
    count: int | None = None,
    size: str | None = None,
    rows: int | None = None,
    nbytes: int = BLOCK,
) -> Sequence[RowBlock]:
    """Return blocks of rows with the entries of each, for `blocks: {m: {E: row}}`.

    `row` names the row of each entry, `{"row": row}`; `columns` are what entries have
    besides, and arrays `beside` have rows themselves. There are as many rows as `count`
    says, or these arrays, or else the last that is named. A block has that number of
    its own as `size`, such as `"m"`, which it needs where no array beside has rows.
    Entries are sorted by their rows once, and blocks number their rows from 0. A block
    has `rows` rows, or those that take `nbytes` bytes in the mean.
    """
    ((name, given),) = row.items()
    at = np.asarray(given)
    if at.ndim != 1 or at.dtype.kind not in "iu":
        message = f"{name}: expected integers, one an entry"
        raise TypeError(f"{message}, got shape {at.shape} of dtype {at.dtype}")
    held = {x: Held(np.asarray(array)) for x, array in (beside or {}).items()}
    if count is None:
        known = [own.rows for own in held.values()]
        count = known[0] if known else int(at.max(initial=-1)) + 1
    if at.size and (at.min() < 0 or at.max() >= count):
        far = at.min() if at.min() < 0 else at.max()
        raise ValueError(f"{name}: expected rows in 0 ... {count - 1}, got {far}")
    order = np.argsort(at, kind="stable")
    bounds = np.searchsorted(at[order], np.arange(count + 1))
    sources: dict[str, Source] = {name: Entries(at[order], bounds, True)}
    for other, array in columns.items():
        column = np.asarray(array)
        if column.shape[:1] != at.shape:
            message = f"{other}: expected {at.size} entries, as {name} has"
            raise ValueError(f"{message}, got shape {column.shape}")
        sources[other] = Entries(column[order], bounds, False)
    if size is not None:
        sources[size] = Counted(count)
    return cut_rows({**sources, **held}, rows, nbytes)
