"""Sums in which a share and what it leaves of a whole stand: what is left has digits.

`1 - sigmoid(t)` is `sigmoid(-t)`, and `1 - (g + (1 - g) * sigmoid(t))`, which is 0
where the share rounds to 1, is `(1 - g) * sigmoid(-t)`. A product `a * f(t)` is
written as `a - a * rest(t)` where `a` then cancels with what it stands beside, so that
fewer terms are left, or where a number less a sum asks for it; hence this ends.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import partial

from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Ref, Sum, Term, constant_value, once
from tensorgen.operators.scalar import times
from tensorgen.operators.stable.match import (
    Weighted,
    coefficients,
    elementwise_factors,
    is_map,
    terms,
)
from tensorgen.operators.stable.rules import fit

ONE = Fraction(1)

MOST = 12
"""Longer sums are left alone."""


def rewritten(graph: Graph, parts: Sequence[Term]) -> list[Term] | None:
    """Return a better list of terms, or None."""
    if not 2 <= len(parts) <= MOST:
        return None
    for k, term in enumerate(parts):
        if not once(term.node, rewritten, partial(_any_shares, graph, term.ref)):
            continue
        others = [(t.coefficient, t.ref) for n, t in enumerate(parts) if n != k]
        inner = terms(term.ref) if isinstance(term.node, Sum) else [(ONE, term.ref)]
        asked = len(inner) > 1 and any(
            term.coefficient * c < 0 and constant_value(x.node) for c, x in others
        )
        for m, (c, ref) in enumerate(inner):
            beside = [(term.coefficient * c, x) for c, x in inner[:m] + inner[m + 1 :]]
            found = _left(graph, term.coefficient * c, ref, [*others, *beside], asked)
            if found is not None:
                return [Term(c, *x) for c, x in found]
    return None


def _left(
    graph: Graph, c: Fraction, ref: Ref, others: list[Weighted], asked: bool
) -> list[Weighted] | None:
    """The terms of `c * ref + others`, where a share in ref lets some cancel."""
    before: dict[Ref, Fraction] | None = None
    for number, weights, rest, is_open in _shares(graph, ref):
        before = coefficients(others) if before is None else before
        after = coefficients(
            [*others, *((c * number * k, x) for k, x in terms(weights))]
        )
        if len(after) < len(before) + (asked and len(after) > 1) and (
            not after or not is_open
        ):
            return [*((k, x) for x, k in after.items()), (c, rest)]
    return None


def _any_shares(graph: Graph, ref: Ref) -> bool:
    """Whether there are such ways for a term of a sum."""
    return any(_shares_any(graph, x) for _, x in terms(ref))


def _shares_any(graph: Graph, ref: Ref) -> bool:
    """Whether there are ways to see a product so, found out once."""
    return once(
        ref.node,
        _shares_any,
        lambda: any(
            fit(graph, "near a number", factor)
            for factor in elementwise_factors(ref)[1]
        ),
    )


def _shares(graph: Graph, ref: Ref) -> Iterator[tuple[Fraction, Ref, Ref, bool]]:
    """Ways to see a product as a number times weights, and what is left.

    An exponential may be far above the number: it needs a rest that has no more terms.
    """
    coefficient, factors = elementwise_factors(ref)
    for k, factor in enumerate(factors):
        found = fit(graph, "near a number", factor)
        if found is not None:
            (_, number), (c, rest) = found.terms(graph)
            is_open = is_map(factor, "exp")
            others = factors[:k] + factors[k + 1 :]
            yield (
                constant_value(number.node) or ONE,
                times(graph, *others, coefficient=coefficient),
                times(graph, *others, rest, coefficient=c * coefficient),
                is_open,
            )
