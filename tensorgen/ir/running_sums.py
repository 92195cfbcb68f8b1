"""Running sums: products in which an indicator bounds a summed label by another.

In `sum_j [j <= i] x[j] y[i]` each entry has all terms of the one before it, so that
all are known after one walk along `j`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from tensorgen.ir.nodes import Constraint, Label


class RunningSum(NamedTuple):
    """The indicator `summed <= limit + const`, or `>=`, of which one label is summed.

    The factors at the positions `inside` are those that are summed.
    """

    constraint: Constraint
    summed: Label
    limit: Label
    inside: tuple[int, ...]

    @property
    def is_prefix(self) -> bool:
        """Whether the sum runs up to the limit, not down to it."""
        return self.constraint.form.coefficient(self.limit) > 0


def running_sum(
    constraints: Sequence[Constraint],
    factors: Sequence[Collection[Label]],
    keep: Collection[Label],
) -> RunningSum | None:
    """A running sum in a product of factors with these labels, of which `keep` stay.

    The summed label stands in nothing else that ties it to its limit: neither in a
    factor with both nor in another constraint.
    """
    for constraint in constraints:
        terms = constraint.form.terms
        if constraint.kind != "ge" or sorted(c for _, c in terms) != [-1, 1]:
            continue
        for (summed, _), (limit, _) in (terms, terms[::-1]):
            if not (isinstance(summed, int) and isinstance(limit, int)):
                continue
            others = (c for c in constraints if c is not constraint)
            if summed in keep or any(summed in c.form.labels for c in others):
                continue
            inside = tuple(k for k, labels in enumerate(factors) if summed in labels)
            if inside and not any(limit in factors[k] for k in inside):
                return RunningSum(constraint, summed, limit, inside)
    return None
