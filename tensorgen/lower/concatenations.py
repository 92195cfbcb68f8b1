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

Scaled = tuple[Fraction, Write]


def concatenated(writes: Sequence[Scaled]) -> Operand | None:
    """The array that writes make up, each a block of it; None if it is no such array.

    The blocks follow on one another along one axis, and leave no place out. Rows that
    are stacked one by one are stored where they belong, which takes less.
    """
    found = _first_chain(writes)
    return found[0] if found is not None and not found[1] else None


def chains(writes: Sequence[Scaled]) -> list[tuple[Fraction, Operand]]:
    """Arrays with their coefficients that writes make up together; none if they do not.

    A difference of an array that is rolled one way and the other is that of two.
    """
    found: list[tuple[Fraction, Operand]] = []
    for scale in dict.fromkeys(scale for scale, _ in writes):
        left = [(Fraction(1), write) for one, write in writes if one == scale]
        while left:
            chain = _first_chain(left)
            if chain is None:
                return []
            whole, left = chain
            found.append((scale, whole))
    return found


def _first_chain(writes: Sequence[Scaled]) -> tuple[Operand, list[Scaled]] | None:
    """The first of writes that make up an array, and those that are left."""
    dims = writes[0][1].dims
    for axis, dim in enumerate(dims):
        blocks = [_block(scale, write, axis) for scale, write in writes]
        place, taken = ZERO, dict[int, Operand]()
        lengths = set[Dim]()
        while place != dim:
            at = (k for k, x in enumerate(blocks) if x and x[0] == place)
            k = next((k for k in at if k not in taken), None)
            if k is None or (block := blocks[k]) is None:
                break
            place, taken[k] = place + block[1], block[2]
            lengths.add(block[1])
        if place != dim or lengths <= {ONE}:
            continue
        axes = tuple(range(len(dims)))
        rest = [x for k, x in enumerate(writes) if k not in taken]
        return made(Concatenate(axis), axes, *taken.values()), rest
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
