"""Turned matrices that are spread over more axes are copied: rows in rows of memory.

An operation goes along the last axis of its result. Where the entries of an operand lie
apart in memory along it, as those of `X.T` do, each is fetched alone: what is made of
`X[:, :, None] - X.T` takes up to six times as long as of `X[:, :, None] - X.T.copy()`.
The copy costs as much as one of the rows that it is read for. Where rows would be
shorter than what lies together now, libraries go along that, and are quicker without.
"""

from __future__ import annotations

from collections.abc import Callable

from tensorgen.arrays.arrays import Array, array, rewriting
from tensorgen.arrays.code import Code, changed_by
from tensorgen.arrays.gather_once import had_once
from tensorgen.arrays.operations import Copy, Entrywise, Permute
from tensorgen.arrays.speed import Speed
from tensorgen.prices.thresholds import GAIN_OF_A_COPY


def straightened(code: Code, speed: Speed, again: Callable[[str], str]) -> Code:
    """Return code that reads spread matrices along rows, at the sizes of `speed`.

    What is copied repeatedly is copied once, under a name from `again`.
    """
    copies: set[Array] = set()

    def straight(one: Array, found: Array) -> Array:
        if not isinstance(one.op, Entrywise):
            return found
        rows = tuple(_along_rows(arg, one.order, speed) for arg in found.args)
        copies.update(x for x in rows if x not in found.args)
        return found if rows == found.args else array(one.op, *rows)

    found = changed_by(code, rewriting(straight))
    return had_once(found, again, copies.__contains__) if copies else found


def _along_rows(one: Array, order: int, speed: Speed) -> Array:
    """An operand of a result with so many axes, copied if it is turned and spread."""
    if not isinstance(one.op, Permute) or one.order >= order:
        return one
    together = one.dims[one.op.axes.index(one.order - 1)]
    row = one.dims[-1]
    longer = speed.entries([row]) >= GAIN_OF_A_COPY * speed.entries([together])
    return array(Copy(), one) if longer and speed.knows(row, together) else one
