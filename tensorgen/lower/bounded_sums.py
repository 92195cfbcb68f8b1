"""Triangular sums as `np.cumsum`, box sums as moving sums, and what is read of them.

A moving sum adds each term, and takes none away again, so that nothing cancels: windows
of 1, 2, 4, ... are sums of two shorter ones, and any other is the sum of some of these.
"""

from __future__ import annotations

from collections.abc import Collection
from fractions import Fraction
from typing import NamedTuple

from tensorgen.arrays.arrays import array
from tensorgen.arrays.operations import Accumulate, Index, MovingSum, Pad
from tensorgen.arrays.places import WHOLE, Slice
from tensorgen.ir.bounded_sums import BoundedSum, box_sum, running_sum
from tensorgen.ir.constraints import Ranges
from tensorgen.ir.dims import ZERO, Dim
from tensorgen.ir.nodes import Affine, Constraint, Label, affine
from tensorgen.lower.contract import contract
from tensorgen.lower.elementwise_products import Factor
from tensorgen.lower.indexing import Indexer
from tensorgen.lower.operands import Operand, as_float, made
from tensorgen.lower.padding import Width, needed


class Walked(NamedTuple):
    """Sums along an axis, and from which of them on the first is read.

    Where reading `clips`, the sum beyond the last term stays what it is.
    """

    sums: Operand
    offset: Dim
    clips: bool


def take_bounded_sums(
    indexer: Indexer,
    factors: list[Factor],
    masks: list[Constraint],
    keep: Collection[Label],
) -> set[Label]:
    """Replace factors and masks by what sums them along a label, as often as one does.

    Returns the labels that are summed by then.
    """
    gone: set[Label] = set()
    for find in (box_sum, running_sum):
        while found := find(masks, [f.operand.labels for f in factors], keep):
            width = _width(indexer.ranges, found)
            if width is None:
                break
            masks[:] = [mask for mask in masks if mask not in found.constraints]
            used = {
                *found.start.labels,
                *keep,
                *(x for m in masks for x in m.form.labels),
            }
            terms, alone = _inner_sum(indexer, factors, found, used)
            gone.update(alone, [found.summed])
            walk = _cumulative if found.length is None else _moving
            walked = walk(indexer.ranges, found, as_float(terms), width)
            factors.append(Factor(_read(indexer, found, walked)))
    return gone


def _inner_sum(
    indexer: Indexer, factors: list[Factor], found: BoundedSum, used: Collection[Label]
) -> tuple[Operand, list[Label]]:
    """Take the factors that are summed out, and return their product.

    Labels that are neither `used` nor in other factors are summed before, and returned.
    """
    inside = [factors[k] for k in found.inside]
    factors[:] = [f for k, f in enumerate(factors) if k not in found.inside]
    elsewhere = {found.summed, *used, *(x for f in factors for x in f.operand.labels)}
    labels = dict.fromkeys(x for f in inside for x in f.operand.labels)
    alone = [x for x in labels if x not in elsewhere]
    intervals = indexer.ranges.intervals
    sizes = {x: intervals[x][1] - intervals[x][0] for x in alone}
    kept = [x for x in labels if x not in alone]
    return contract(inside, Fraction(1), kept, sizes), alone


def _width(ranges: Ranges, found: BoundedSum) -> Width | None:
    """The zeros before and behind what is summed; None where sizes do not say."""
    low, high = ranges.intervals[found.summed]
    if found.length is not None:
        return needed(ranges, found.start - low, high - low, found.length)
    (limit,) = found.start.labels
    first, end = ranges.intervals[limit]
    offset, length = found.start.const - low, high - low
    missing = -(first + offset) if found.is_prefix else end + offset - length
    count = ZERO
    # Where there are limits, there is as much to add up: of no limits nothing is read.
    some = ranges.holds(length - 1) or (length - (end - first)).is_nonnegative()
    if not (ranges.holds(-missing) and some):
        # Entries with no terms at all, or nothing to add up.
        known = ranges.holds(missing) and ranges.holds(length + missing - 1)
        count = missing if known else Dim.of(1)
    return (count, ZERO) if found.is_prefix else (ZERO, count)


def _moving(ranges: Ranges, found: BoundedSum, terms: Operand, width: Width) -> Walked:
    assert found.length is not None
    low, _ = ranges.intervals[found.summed]
    axis = terms.labels.index(found.summed)
    sums = made(MovingSum(found.length, axis, *width), terms.labels, terms)
    return Walked(sums, width[0] - low, clips=False)


def _cumulative(
    ranges: Ranges, found: BoundedSum, terms: Operand, width: Width
) -> Walked:
    low, _ = ranges.intervals[found.summed]
    axis = terms.labels.index(found.summed)
    turn = Index((*[WHOLE] * axis, Slice(step=-1)), terms.array.dims)
    one = terms.array if found.is_prefix else array(turn, terms.array)
    one = array(Accumulate(axis), one)
    sums = Operand(one if found.is_prefix else array(turn, one), terms.labels)
    if width != (ZERO, ZERO):
        none = (ZERO, ZERO)
        pad = Pad(tuple(width if x == found.summed else none for x in terms.labels))
        sums = made(pad, terms.labels, sums)
    return Walked(sums, width[0] - low, clips=True)


def _read(indexer: Indexer, found: BoundedSum, walked: Walked) -> Operand:
    """What sums are where windows start, or limits are."""
    (sums, offset, clips), ranges = walked, indexer.ranges
    dims = sums.array.dims
    intervals = {x: (ZERO, dim) for x, dim in zip(sums.labels, dims, strict=True)}
    del intervals[found.summed]
    intervals |= {x: ranges.intervals[x] for x in found.start.labels}
    reader = Indexer(indexer.draft, Ranges(intervals, ranges.facts), indexer.looked)
    forms: list[Affine] = [
        found.start + offset if x == found.summed else affine([(x, 1)])
        for x in sums.labels
    ]
    return reader.read(sums, forms, dims, clips=clips)
