"""Infinite constants: what they make of numbers is known.

`inf - t` is `inf`, `ndtr(inf)` is 1 and `exp(-inf)` is 0, for all numbers t: an end of
an interval that is open, of which no derivative is to be taken. Where the result would
be no number, as in `inf / inf`, nothing is done.
"""

from __future__ import annotations

from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Ref, Term
from tensorgen.operators.elementwise import ELEMENTWISE
from tensorgen.operators.scalar import infinite, number
from tensorgen.operators.stable.match import Args, Rule


def at_ends(function: str) -> Rule:
    """The rule of a function at both infinities, where its row says what it is."""

    def rule(graph: Graph, args: Args) -> Ref | None:
        side = infinite(args[0].node)
        value = ELEMENTWISE[function].ends[side > 0] if side else None
        return None if value is None else number(graph, value)

    return rule


def added(graph: Graph, terms: list[Term]) -> list[Term] | None:
    """Infinity, to which numbers are added."""
    for term in terms:
        side = infinite(term.node)
        if side and (len(terms) > 1 or abs(term.coefficient) != 1):
            return [Term(term.coefficient / abs(term.coefficient), *term.ref)]
    return None
