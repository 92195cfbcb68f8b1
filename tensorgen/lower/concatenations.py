"""Entries side by side along one axis: a concatenation, not writes to zeros."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from tensorgen.arrays.operations import Concatenate, Expand
from tensorgen.ir.dims import ONE, ZERO, Dim
from tensorgen.lower.axes import ordered
from tensorgen.lower.elementwise_products import Factor, multiply
from tensorgen.lower.operands import Operand, as_float, made
from tensorgen.lower.results import full
from tensorgen.lower.scatter import Write
from tensorgen.lower.solve_constraints import plain_label, single_label


def concatenated(writes: Sequence[tuple[Fraction, Write]]) -> Operand | None:
    """The array that writes make up, each a block of it; None if it is no such array.

    The blocks follow on one another along one axis, and leave no place out. Rows that
    are stacked one by one are stored where they belong, which takes less.
    """
    dims = writes[0][1].dims
    for axis, dim in enumerate(dims):
        found = [_block(scale, write, axis) for scale, write in writes]
        blocks = {block[0]: block for block in found if block is not None}
        if len(blocks) < len(writes) or all(x == ONE for _, x, _ in blocks.values()):
            continue
        place, parts = ZERO, list[Operand]()
        while place in blocks:
            _, length, part = blocks.pop(place)
            parts.append(part)
            place += length
        if place == dim and not blocks:
            return made(Concatenate(axis), tuple(range(len(dims))), *parts)
    return None


def _block(scale: Fraction, write: Write, axis: int) -> tuple[Dim, Dim, Operand] | None:
    """Where a write begins along an axis, how far it goes, and what it writes there.

    None where it is no block of consecutive places that is whole along other axes.
    """
    names: dict[int, int] = {}
    start, dims = ZERO, list(write.dims)
    intervals = write.indexer.ranges.intervals
    for k, form in enumerate(write.forms):
        low, high = ZERO, ONE
        label = plain_label(form)
        if k == axis:
            one = single_label(form)
            start = form.const
            label = one[0] if one is not None and one[1] == 1 else None
            if label is None and form.terms:
                return None
        if label is not None:
            low, high = intervals[label]
            if label in names or (low != ZERO and label in write.core.labels):
                return None
            names[label] = k
        if k == axis:
            start, dims[k] = start + low, high - low
        elif label is None or (low, high) != (ZERO, dims[k]):
            return None
    core = multiply([Factor(as_float(write.core))], scale)
    if not names.keys() >= {*core.labels}:
        return None
    return start, dims[axis], _spread(core.renamed(names.__getitem__), tuple(dims))


def _spread(core: Operand, dims: tuple[Dim, ...]) -> Operand:
    """An array with all axes, those of length 1 that it lacks as new ones."""
    axes = range(len(dims))
    missing = [k for k in axes if k not in core.labels]
    if core.labels and missing and all(dims[k] == 1 for k in missing):
        own = ordered(core, [k for k in axes if k in core.labels])
        return made(Expand(tuple(k in own.labels for k in axes)), tuple(axes), own)
    return full(core, dims)
