"""Running and box sums: products in which indicators bound a summed label by others.

In `sum_j [j <= i] x[j] y[i]` each entry has all terms of the one before it, so that
all are known after one walk along `j`. In `sum_j [i - 3 <= j] [j <= i + 3] x[j]` as
many terms are summed wherever the window starts, and those of neighbouring windows are
the same but for their ends.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import combinations
from typing import NamedTuple

from tensorgen.ir.constraints import solved
from tensorgen.ir.dims import Dim
from tensorgen.ir.nodes import Affine, Constraint, Label, affine

Factors = Sequence[Collection[Label]]


class BoundedSum(NamedTuple):
    """The indicator `summed <= start`, or `>=`, or those of `length` places from there.

    The factors at the positions `inside` are those that are summed.
    """

    constraints: tuple[Constraint, ...]
    summed: Label
    start: Affine
    inside: tuple[int, ...]
    length: Dim | None = None

    @property
    def is_prefix(self) -> bool:
        """Whether the sum runs up to the start, not down to it."""
        return self.constraints[0].form.coefficient(self.summed) < 0


def running_sum(
    constraints: Sequence[Constraint], factors: Factors, keep: Collection[Label]
) -> BoundedSum | None:
    """A running sum in a product of factors with these labels, of which `keep` stay."""
    for c in constraints:
        for summed, limit in c.compared("ge"):
            if isinstance(summed, int) and isinstance(limit, int):
                start = solved(c.form, summed)
                inside = _inside((c,), summed, start, constraints, factors, keep)
                if inside:
                    return BoundedSum((c,), summed, start, inside)
    return None


def box_sum(
    constraints: Sequence[Constraint], factors: Factors, keep: Collection[Label]
) -> BoundedSum | None:
    """A box sum in a product of factors with these labels, of which `keep` stay."""
    for pair in combinations(constraints, 2):
        if any(c.kind != "ge" or len(c.form.terms) < 2 for c in pair):
            continue
        one, other = (c.form for c in pair)
        both = affine([*one.terms, *other.terms], one.const + other.const)
        for atom, c in () if both.terms else one.terms:
            if isinstance(atom, int) and abs(c) == 1:
                start = solved(one if c > 0 else other, atom)
                inside = _inside(pair, atom, start, constraints, factors, keep)
                if inside:
                    return BoundedSum(pair, atom, start, inside, both.const + 1)
    return None


def _inside(
    own: Collection[Constraint],
    summed: Label,
    start: Affine,
    constraints: Sequence[Constraint],
    factors: Factors,
    keep: Collection[Label],
) -> tuple[int, ...]:
    """The factors with a summed label that nothing else ties to where it starts.

    Neither does a factor with both nor another constraint.
    """
    others = (c for c in constraints if c not in own)
    if summed in {*keep, *start.labels} or any(summed in c.form.labels for c in others):
        return ()
    inside = tuple(k for k, labels in enumerate(factors) if summed in labels)
    apart = all({*start.labels}.isdisjoint(factors[k]) for k in inside)
    return inside if apart else ()
