"""Products of a vector's windows with another vector: correlations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tensorgen.arrays.arrays import Array, array
from tensorgen.arrays.operations import Correlate, Index
from tensorgen.arrays.places import Slice
from tensorgen.ir.constraints import Ranges, solved
from tensorgen.ir.dims import ZERO, Dim
from tensorgen.ir.nodes import Affine, Label, affine
from tensorgen.lower.indexing import Indexer
from tensorgen.lower.operands import Operand
from tensorgen.lower.padding import needed
from tensorgen.lower.reads import Read
from tensorgen.lower.solve_constraints import plain_label, single_label
from tensorgen.lower.taps import Tapped


def correlation(
    indexer: Indexer, found: Tapped, reads: Sequence[Read], dims: Sequence[Dim]
) -> Operand | None:
    """The product as a correlation, under the label of its axis; None if it is none.

    `out[p]` sums `x[p + k] * w[k]`, either of which may be turned over.
    """
    if len(reads) != 2 or any(len(read.forms) != 1 for read in reads):
        return None
    if len(found.writes) != 1:
        return None
    if plain_label(found.writes[0]) is None:
        gathered = _gathering(found, reads, dims[0])
        if gathered is None:
            return None
        found = gathered
    out, ranges = plain_label(found.writes[0]), found.ranges
    forms = [form for (form,) in found.reads]
    x, w = (0, 1) if len(forms[0].terms) > 1 else (1, 0)
    inner = single_label(forms[w])
    if out is None or inner is None or {*forms[x].labels} != {out, inner[0]}:
        return None
    a, b = (forms[x].coefficient(label) for label in (out, inner[0]))
    if abs(a) != 1 or abs(b) != 1 or abs(inner[1]) != 1:
        return None
    if any(width != ZERO for width in found.widths[w][0]):
        return None
    own = Indexer(indexer.draft, ranges, indexer.looked)
    kernel = own.read(reads[w].whole, [forms[w]], reads[w].whole.array.dims).array
    before, after = found.widths[x][0]
    whole = _cut(own, reads[x], forms[x], before, after)
    if a < 0:
        whole, before, after = _turned(whole), after, before
    if a * b < 0:
        kernel = _turned(kernel)
    return Operand(array(Correlate(before, after), whole, kernel), (out,))


def _gathering(found: Tapped, reads: Sequence[Read], dim: Dim) -> Tapped | None:
    """Of what is added at `out[i + k]`: what `out[p]` adds up, at `i = p - k`."""
    (write,), ranges = found.writes, found.ranges
    free = [x for x in write.labels if x not in found.taps]
    if len(write.terms) != 2 or len(free) != 1 or abs(write.coefficient(free[0])) != 1:
        return None
    (gone,) = free
    fresh = 1 + max(ranges.intervals)
    by = solved(write - Affine.atom(fresh), gone)
    intervals = {**ranges.intervals, fresh: (ZERO, dim)}
    low, high = intervals.pop(gone)
    new = replace(ranges, intervals=intervals)
    forms, widths = [], []
    for read, (form,), (width,) in zip(reads, found.reads, found.widths, strict=True):
        if gone in form.labels:
            size = read.whole.array.dims[0]
            if form != affine([(gone, 1)]) or (low, high) != (ZERO, size):
                return None
            own = needed(new, by, size)
            if own is None:
                return None
            form, width = by + own[0], own
        forms.append((form,))
        widths.append((width,))
    return replace(
        found,
        reads=tuple(forms),
        widths=tuple(widths),
        writes=(Affine.atom(fresh),),
        ranges=new,
    )


def _cut(indexer: Indexer, x: Read, form: Affine, before: Dim, after: Dim) -> Array:
    """The part of a vector that is read at all, apart from the zeros around it."""
    reach = indexer.ranges.bounds(form)
    assert reach is not None
    (size,) = x.whole.array.dims
    low = ZERO if before != 0 else reach[0]
    high = size if after != 0 else reach[1] + 1 - before
    label: Label = 0
    ranges = Ranges({label: (low, high)}, indexer.ranges.facts)
    part = Indexer(indexer.draft, ranges, indexer.looked)
    return part.read(x.whole, [Affine.atom(label)], [size]).array


def _turned(one: Array) -> Array:
    return array(Index((Slice(step=-1),), one.dims), one)
