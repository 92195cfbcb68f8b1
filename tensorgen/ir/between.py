"""Indicators that others imply: `j <= i` beside `j <= l` and `l <= i`."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations

from tensorgen.ir.nodes import Constraint


def without_sums(constraints: Iterable[Constraint]) -> list[Constraint]:
    """Return constraints without indicators that two others add up to.

    Sums over ranges in ranges are nested then: each is tied to the next limit alone.
    """
    found = list(constraints)
    bounds = [c for c in found if c.kind == "ge"]
    for bound in bounds if len(bounds) > 2 else ():
        others = [c for c in found if c.kind == "ge" and c is not bound]
        for one, other in combinations(others, 2):
            left = bound.form - one.form - other.form
            if not left.terms and left.const.is_nonnegative():
                found.remove(bound)
                break
    return found
