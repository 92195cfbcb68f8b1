"""Triangular sums as `np.cumsum`, and what is read of it."""

from __future__ import annotations

from collections.abc import Collection
from fractions import Fraction

from tensorgen.arrays.arrays import array
from tensorgen.arrays.operations import (
    Accumulate,
    Index,
    Pad,
)
from tensorgen.arrays.places import (
    WHOLE,
    Slice,
)
from tensorgen.ir.constraints import Ranges
from tensorgen.ir.dims import ZERO, Dim
from tensorgen.ir.nodes import Affine, Constraint, Label, affine
from tensorgen.ir.running_sums import RunningSum, running_sum
from tensorgen.lower.contract import contract
from tensorgen.lower.elementwise_products import Factor
from tensorgen.lower.indexing import Indexer
from tensorgen.lower.operands import Operand, as_float, made


def take_running_sums(
    indexer: Indexer,
    factors: list[Factor],
    masks: list[Constraint],
    keep: Collection[Label],
) -> set[Label]:
    """Replace factors and a mask by their running sum, as often as there is one.

    Returns the labels that are summed by then.
    """
    gone: set[Label] = set()
    while found := running_sum(masks, [f.operand.labels for f in factors], keep):
        masks.remove(found.constraint)
        used = {*keep, *(x for mask in masks for x in mask.form.labels)}
        terms, sizes, alone = inner_sum(
            indexer, factors, found.inside, used, found.summed
        )
        gone.update(alone, [found.summed])
        factors.append(Factor(_running(indexer, found, terms, sizes)))
    return gone


def inner_sum(
    indexer: Indexer,
    factors: list[Factor],
    places: Collection[int],
    used: Collection[Label],
    along: Label,
) -> tuple[Operand, dict[Label, Dim], list[Label]]:
    """Take the factors at `places` out, for sums along a label of their product.

    Labels that are neither `used` nor in other factors are summed before. Returns the
    product, the sizes of its labels, and which labels are gone.
    """
    inside = [factors[k] for k in places]
    factors[:] = [f for k, f in enumerate(factors) if k not in places]
    elsewhere = {along, *used, *(x for f in factors for x in f.operand.labels)}
    labels = dict.fromkeys(x for f in inside for x in f.operand.labels)
    alone = [x for x in labels if x not in elsewhere]
    intervals = indexer.ranges.intervals
    sizes = {x: intervals[x][1] - intervals[x][0] for x in labels}
    kept = [x for x in labels if x not in alone]
    terms = contract(inside, Fraction(1), kept, {x: sizes[x] for x in alone})
    return terms, sizes, alone


def _running(
    indexer: Indexer, found: RunningSum, terms: Operand, sizes: dict[Label, Dim]
) -> Operand:
    """The sums of `terms` along one axis, read where the limit ranges."""
    ranges = indexer.ranges
    terms = as_float(terms)
    axis = terms.labels.index(found.summed)
    sums = _accumulated(terms, axis, reverse=not found.is_prefix)
    start, _ = ranges.intervals[found.summed]
    # The last term of entry i is at `i + const - start`, the first if reversed.
    offset = found.constraint.form.const * (1 if found.is_prefix else -1) - start
    low, high = ranges.intervals[found.limit]
    length = sizes[found.summed]
    missing = -(low + offset) if found.is_prefix else high + offset - length
    if not (ranges.holds(-missing) and ranges.holds(length - 1)):
        # Entries with no terms at all, or nothing to add up.
        known = ranges.holds(missing) and ranges.holds(length + missing - 1)
        count = missing if known else Dim.of(1)
        width = (count, ZERO) if found.is_prefix else (ZERO, count)
        axes = range(len(terms.labels))
        pad = Pad(tuple(width if a == axis else (ZERO, ZERO) for a in axes))
        sums = made(pad, terms.labels, sums)
        length += count
        offset += count if found.is_prefix else ZERO
    whole = {x: (ZERO, sizes[x]) for x in terms.labels if x != found.summed}
    reader = Indexer(
        indexer.draft,
        Ranges({**whole, found.limit: (low, high)}, ranges.facts),
        indexer.looked,
    )
    forms: list[Affine] = [affine([(x, 1)]) for x in terms.labels]
    forms[axis] = affine([(found.limit, 1)], offset)
    dims = [sizes[x] for x in terms.labels]
    dims[axis] = length
    # Beyond the last term the sum stays what it is.
    return reader.read(sums, forms, dims, clips=True)


def _accumulated(terms: Operand, axis: int, reverse: bool) -> Operand:
    turn = Index((*[WHOLE] * axis, Slice(step=-1)), terms.array.dims)
    found = array(turn, terms.array) if reverse else terms.array
    found = array(Accumulate(axis), found)
    return Operand(array(turn, found) if reverse else found, terms.labels)
