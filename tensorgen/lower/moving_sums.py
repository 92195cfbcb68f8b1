"""Sums over windows of one length as moving sums, and what is read of them.

Each term is added, none is taken away again, so that nothing cancels: windows of 1,
2, 4, ... are sums of two shorter ones, and any other is the sum of some of these.
"""

from __future__ import annotations

from collections.abc import Collection

from tensorgen.arrays.operations import MovingSum
from tensorgen.ir.box_sums import BoxSum, box_sum
from tensorgen.ir.constraints import Ranges
from tensorgen.ir.dims import ZERO, Dim
from tensorgen.ir.nodes import Affine, Constraint, Label, affine
from tensorgen.lower.cumulative_sums import inner_sum
from tensorgen.lower.elementwise_products import Factor
from tensorgen.lower.indexing import Indexer
from tensorgen.lower.operands import Operand, as_float, made
from tensorgen.lower.padding import Width, needed


def take_box_sums(
    indexer: Indexer,
    factors: list[Factor],
    masks: list[Constraint],
    keep: Collection[Label],
) -> set[Label]:
    """Replace factors and two masks by their moving sum, as often as there is one.

    Returns the labels that are summed by then.
    """
    gone: set[Label] = set()
    while found := box_sum(masks, [f.operand.labels for f in factors], keep):
        low, high = indexer.ranges.intervals[found.summed]
        width = needed(indexer.ranges, found.start - low, high - low, found.length)
        if width is None:
            break
        masks[:] = [mask for mask in masks if mask not in found.constraints]
        used = {*found.start.labels, *(x for m in masks for x in m.form.labels)}
        terms, sizes, alone = inner_sum(
            indexer, factors, found.inside, {*keep, *used}, found.summed
        )
        gone.update(alone, [found.summed])
        factors.append(Factor(_moving(indexer, found, as_float(terms), sizes, width)))
    return gone


def _moving(
    indexer: Indexer,
    found: BoxSum,
    terms: Operand,
    sizes: dict[Label, Dim],
    width: Width,
) -> Operand:
    """The sums of `terms` along one axis, read where windows start."""
    ranges, axis = indexer.ranges, terms.labels.index(found.summed)
    low, _ = ranges.intervals[found.summed]
    sums = made(MovingSum(found.length, axis, *width), terms.labels, terms)
    whole = {x: (ZERO, sizes[x]) for x in terms.labels if x != found.summed}
    starts = {x: ranges.intervals[x] for x in found.start.labels}
    reader = Indexer(
        indexer.draft, Ranges({**whole, **starts}, ranges.facts), indexer.looked
    )
    forms: list[Affine] = [affine([(x, 1)]) for x in terms.labels]
    forms[axis] = found.start + (width[0] - low)
    return reader.read(sums, forms, sums.array.dims)
