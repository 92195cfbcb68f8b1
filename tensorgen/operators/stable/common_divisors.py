"""Terms that all divide by the same: it divides their sum.

    a / s - b / s   ->   (a - b) / s

Written in two ways, one quotient is one node before it is differentiated. What has a
name stays beside others, and so does what has fewer axes than the sum.

Ends: each step leaves fewer divisions.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Ref, Term
from tensorgen.operators.scalar import times, total
from tensorgen.operators.stable.match import elementwise_factors, exponent


def divided_once(graph: Graph, parts: Sequence[Term]) -> list[Term] | None:
    """Return the sum of terms over their common divisor as one term, or None."""
    if len(parts) < 2 or len({frozenset(term.labels) for term in parts}) > 1:
        return None
    for by in elementwise_factors(parts[0].ref)[1]:
        if (exponent(by) or 0) < 0 and all(_has(graph, term, by) for term in parts):
            rests = [_without(graph, term, by) for term in parts]
            whole = times(graph, total(graph, rests), by)
            return [Term(Fraction(1), *whole)]
    return None


def _has(graph: Graph, term: Term, by: Ref) -> bool:
    return term.node not in graph.names and by in elementwise_factors(term.ref)[1]


def _without(graph: Graph, term: Term, by: Ref) -> tuple[Fraction, Ref]:
    """A term without one of its factors."""
    scale, factors = elementwise_factors(term.ref)
    factors.remove(by)
    return term.coefficient, times(graph, *factors, coefficient=scale)
