"""Infinite constants: what they make of numbers is known, and what cannot be infinite.

`inf - t` is `inf`, `ndtr(inf)` is 1 and `exp(-inf)` is 0, for all numbers t: an end of
an interval that is open, of which no derivative is to be taken. Where the result would
be no number, as in `inf / inf`, nothing is done.
"""

from __future__ import annotations

from math import inf

from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Ref, Term, constant_value
from tensorgen.operators.elementwise import ELEMENTWISE
from tensorgen.operators.scalar import infinite, infinity
from tensorgen.operators.stable.match import Args, Rule


def at_ends(function: str) -> tuple[Rule, ...]:
    """The rule of a function at both infinities, if they are known."""
    row = ELEMENTWISE[function]

    def rule(graph: Graph, args: Args) -> Ref | None:
        side = infinite(args[0].node)
        value = row.ends[side > 0] if side else None
        if value is None:
            return None
        if abs(value) == inf:
            return infinity(graph, 1 if value > 0 else -1)
        return Ref(graph.constant(int(value)), ())

    return (rule,) if row.ends != (None, None) else ()


def pow(graph: Graph, args: Args) -> Ref | None:
    """A whole power of infinity."""
    side, k = infinite(args[0].node), constant_value(args[1].node)
    if not (side and k) or k.denominator > 1:
        return None
    return (
        infinity(graph, side if k % 2 else 1) if k > 0 else Ref(graph.constant(0), ())
    )


def added(graph: Graph, terms: list[Term]) -> list[Term] | None:
    """Infinity, to which numbers are added."""
    for term in terms:
        side = infinite(term.node)
        if side and (len(terms) > 1 or abs(term.coefficient) != 1):
            return [Term(term.coefficient / abs(term.coefficient), *term.ref)]
    return None
