"""Indicators that others imply: `j <= i` beside `j <= l` and `l <= i`, or `j < i`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import combinations, permutations

from tensorgen.ir.nodes import Affine, Constraint


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


def without_wider(
    constraints: Iterable[Constraint], keep: Callable[[Affine], bool]
) -> list[Constraint]:
    """Return constraints without indicators that one other implies: `0 < i` by `j < i`.

    Ranges `keep` a form nonnegative.
    """
    found = list(constraints)
    for bound, other in permutations([c for c in found if c.kind == "ge"], 2):
        both = bound in found and other in found
        if both and keep(bound.form - other.form):
            found.remove(bound)
    return found
