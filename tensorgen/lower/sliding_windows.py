"""Reads at sums of two labels, `x[i + j]`, as sliding windows: views, not copies."""

from __future__ import annotations

from collections.abc import Sequence

from tensorgen.arrays.arrays import array
from tensorgen.arrays.operations import Index, Windows
from tensorgen.arrays.places import Slice
from tensorgen.ir.constraints import Ranges
from tensorgen.ir.dims import ZERO, Dim
from tensorgen.ir.nodes import Affine, Label, Lookup, affine
from tensorgen.lower.operands import Operand
from tensorgen.lower.solve_constraints import is_basic

Axis = tuple[Label, Label]
"""The label that numbers the windows of an axis, and that of the place in one."""


def window_axes(
    ranges: Ranges, forms: Sequence[Affine], dims: Sequence[Dim]
) -> dict[int, Axis] | None:
    """The axes that are read through windows, if all others are slices."""
    found: dict[int, Axis] = {}
    for a, (form, dim) in enumerate(zip(forms, dims, strict=True)):
        if is_basic(list(forms), a):
            continue
        others = {x for b, f in enumerate(forms) if b != a for x in f.labels}
        axis = _axis(ranges, form)
        inside = ranges.contain(form, (ZERO, dim))
        if axis is None or not inside or others & {*axis}:
            return None
        found[a] = axis
    return found or None


def _axis(ranges: Ranges, form: Affine) -> Axis | None:
    """Which of two labels numbers windows; at least one window must there be."""
    if len(form.terms) != 2:
        return None
    (u, c), (v, d) = form.terms
    if isinstance(u, Lookup) or isinstance(v, Lookup):
        return None
    for number, place, step in ((u, v, d), (v, u, c)):
        low, high = ranges.intervals[number]
        if abs(step) == 1 and ranges.holds(high - low - 1):
            return number, place
    return None


def cuts(
    ranges: Ranges, forms: Sequence[Affine], axes: dict[int, Axis]
) -> tuple[list[Affine], Ranges]:
    """What is read at all, as slices under labels of their own, and these' ranges."""
    intervals = dict(ranges.intervals)
    found = list(forms)
    for a in axes:
        reach = ranges.bounds(forms[a])
        assert reach is not None
        intervals[_own(a)] = (ZERO, reach[1] - reach[0] + 1)
        found[a] = affine([(_own(a), 1)], reach[0])
    return found, Ranges(intervals, ranges.facts)


def windows(
    ranges: Ranges, whole: Operand, forms: Sequence[Affine], axes: dict[int, Axis]
) -> Operand:
    """The view with an axis for each window's number, and at the end for its places.

    `whole` has been cut to what is read; a label with a negative
    coefficient runs backwards.
    """
    lengths = [ranges.intervals[place] for _, place in axes.values()]
    shape = tuple(high - low for low, high in lengths)
    at = tuple(whole.labels.index(_own(a)) for a in axes)
    view = array(Windows(shape, at), whole.array)
    steps = dict.fromkeys(whole.labels, 1)
    for a, (number, _) in axes.items():
        steps[_own(a)] = forms[a].coefficient(number)
    steps |= {place: forms[a].coefficient(place) for a, (_, place) in axes.items()}
    numbers = {_own(a): number for a, (number, _) in axes.items()}
    if any(step != 1 for step in steps.values()):
        parts = tuple(Slice(step=step) for step in steps.values())
        ends = {x: ranges.intervals[number] for x, number in numbers.items()}
        dims = tuple(
            ends[x][1] - ends[x][0] if x in ends else dim
            for x, dim in zip(steps, view.dims, strict=True)
        )
        view = array(Index(parts, dims), view)
    return Operand(view, tuple(numbers.get(x, x) for x in steps))


def _own(axis: int) -> Label:
    """The label of an axis that is cut to what windows read of it."""
    return -1 - axis
