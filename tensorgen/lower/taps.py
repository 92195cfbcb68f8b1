"""Products over windows: which labels are taps, that is, fixed one value at a time.

In `sum_k w[k] x[i + k]` every tap k reads a slice of x. Taps are the shorter of the
labels that meet in one position; with them fixed all arrays are read and written in
slices. Reads beyond the ends of an array, which indicators exclude, read zeros.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf

from tensorgen.ir.constraints import Ranges, normal, within
from tensorgen.ir.dims import ZERO, Dim
from tensorgen.ir.nodes import Affine, Constraint, Label, Lookup, Product
from tensorgen.lower.padding import Width, needed
from tensorgen.lower.solve_constraints import Solution, plain_label


@dataclass(frozen=True)
class Tapped:
    """A product whose arrays, with all `taps` fixed, are read and written in slices.

    `widths` are the zeros around each axis of each factor; forms count from the first
    of them.
    """

    taps: tuple[Label, ...]
    reads: tuple[tuple[Affine, ...], ...]
    widths: tuple[tuple[Width, ...], ...]
    writes: tuple[Affine, ...]
    ranges: Ranges

    @property
    def gone(self) -> tuple[Label, ...]:
        """The labels that are summed in no axis of the result."""
        kept = {x for form in self.writes for x in form.labels}
        return tuple(x for x in self.ranges.intervals if x not in kept)

    @property
    def is_padded(self) -> bool:
        """Whether there are zeros around any factor."""
        return any(x != ZERO for own in self.widths for width in own for x in width)

    def extent(self, label: Label) -> Dim:
        """How many values a label has."""
        low, high = self.ranges.intervals[label]
        return high - low


def tapped(
    node: Product, solution: Solution, hints: Mapping[str, int]
) -> Tapped | None:
    """The taps of a product that sums over windows; None for all others."""
    forms = [form for forms in (*solution.reads, solution.writes) for form in forms]
    if any(isinstance(atom, Lookup) for form in forms for atom, _ in form.terms):
        return None
    inside = zip(solution.writes, node.dims, strict=True)
    if not all(solution.ranges.contain(form, (ZERO, dim)) for form, dim in inside):
        return None
    found = _padded(node, solution)
    if found is None:
        return None
    overlap = any(len(form.terms) > 1 for form in found.writes)
    taps = _chosen(found, hints)
    if not (taps and (overlap or found.gone)):
        return None
    return replace(found, taps=taps)


def _padded(node: Product, solution: Solution) -> Tapped | None:
    """The product with zeros in the place of indicators that keep to arrays."""
    ranges, used = solution.ranges, list[Constraint]()
    masks = [normal(mask) for mask in solution.masks]
    reads: list[tuple[Affine, ...]] = []
    widths: list[tuple[Width, ...]] = []
    for ref, forms in zip(node.factors, solution.reads, strict=True):
        own: list[Width] = []
        for form, dim in zip(forms, ref.node.dims, strict=True):
            width = (ZERO, ZERO)
            if not ranges.contain(form, (ZERO, dim)):
                found = needed(ranges, form, dim)
                bounds = [normal(c) for c in within(form, (ZERO, dim))]
                if found is None or any(
                    x != ZERO and bound not in masks
                    for x, bound in zip(found, bounds, strict=True)
                ):
                    return None
                width = found
                used += bounds
            own.append(width)
        pairs = zip(forms, own, strict=True)
        reads.append(tuple(form + before for form, (before, _) in pairs))
        widths.append(tuple(own))
    if any(mask not in used for mask in masks):
        return None
    return Tapped((), tuple(reads), tuple(widths), tuple(solution.writes), ranges)


def _chosen(found: Tapped, hints: Mapping[str, int]) -> tuple[Label, ...]:
    """The labels that are shorter than others in one position; () if none will do."""
    kept = {plain_label(form) for form in found.writes}

    def length(label: Label) -> tuple[float, int, bool]:
        size = found.extent(label)
        known = hints.keys() >= {*size.symbols}
        number = float(size.value(hints)) if known else inf
        return number, len(size.terms), label in kept

    taps: dict[Label, None] = {}
    arrays = (*found.reads, found.writes)
    for forms in arrays:
        for form in forms:
            free = sorted((x for x in form.labels if x not in taps), key=length)
            taps.update(dict.fromkeys(free[:-1]))
    return tuple(taps) if all(_sliced(forms, [*taps]) for forms in arrays) else ()


def _sliced(forms: Sequence[Affine], taps: Sequence[Label]) -> bool:
    """Whether an array is read in slices once taps are fixed."""
    free = [x for form in forms for x in form.labels if x not in taps]
    return len(free) == len({*free})
