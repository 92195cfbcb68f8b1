"""Rows that are cut into blocks, each read by itself where it is needed.

A source has rows that can be read by ranges. A block knows its sources and its range,
and nothing of the data, so that it is small to send and holds nothing between rounds.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

# Bytes a block where nothing is said: reads as fast as larger ones, and a few fit
# into any memory beside what is computed of them.
BLOCK = 64_000_000


class Source(Protocol):
    """Rows that can be read by ranges, also in another process."""

    @property
    def rows(self) -> int:
        """How many there are."""
        ...

    @property
    def row_bytes(self) -> float:
        """How many bytes one takes, in the mean."""
        ...

    def read(self, start: int, stop: int) -> Any:
        """Return rows from start to stop, an array or a sparse matrix."""
        ...

    def cut(self, start: int, stop: int) -> Source:
        """Return what reads these rows by the same numbers, and is sent for them."""
        ...


@dataclass(frozen=True)
class RowBlock:
    """Rows from `start` to `stop` of its sources, which are read when it is called."""

    sources: Mapping[str, Source]
    start: int
    stop: int

    def __call__(self) -> dict[str, Any]:
        """Return the rows by the names of inputs."""
        return {x: own.read(self.start, self.stop) for x, own in self.sources.items()}

    def __reduce__(self) -> tuple[Any, ...]:
        cut = {x: own.cut(self.start, self.stop) for x, own in self.sources.items()}
        return RowBlock, (cut, self.start, self.stop)


@dataclass(frozen=True)
class Held:
    """An array in memory, of which a block that is sent takes its rows along."""

    array: Any
    first: int = 0

    @property
    def rows(self) -> int:
        """How many there are."""
        return int(self.array.shape[0])

    @property
    def row_bytes(self) -> float:
        """How many bytes one takes."""
        return float(self.array.nbytes) / max(self.rows, 1)

    def read(self, start: int, stop: int) -> Any:
        """Return rows from start to stop."""
        return self.array[start - self.first : stop - self.first]

    def cut(self, start: int, stop: int) -> Held:
        """Return these rows alone."""
        return Held(np.ascontiguousarray(self.read(start, stop)), start)


def cut_rows(
    sources: Mapping[str, Source],
    rows: int | None = None,
    nbytes: int = BLOCK,
    unit: int = 1,
) -> Sequence[RowBlock]:
    """Return blocks of `rows` rows, or of what `nbytes` bytes hold of all sources.

    Where `rows` is not given blocks are multiples of a `unit`, such as a chunk.
    ValueError where sources have different numbers of rows, or none.
    """
    counts = {name: own.rows for name, own in sources.items()}
    if len(set(counts.values())) != 1:
        found = ", ".join(f"{name} has {count}" for name, count in counts.items())
        raise ValueError(f"rows: expected one number of them, got {found or 'none'}")
    count = next(iter(counts.values()))
    if rows is None:
        each = math.fsum(own.row_bytes for own in sources.values())
        rows = max(int(nbytes // max(each, 1)) // unit, 1) * unit
    if rows < 1:
        raise ValueError(f"rows: expected one a block at least, got {rows}")
    kept = dict(sources)
    starts = range(0, max(count, 1), rows)
    return [RowBlock(kept, k, min(k + rows, count)) for k in starts]
