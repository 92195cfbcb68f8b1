"""Infinite constants: what they make of numbers is known, and what cannot be infinite.

`inf - t` is `inf`, `ndtr(inf)` is 1 and `exp(-inf)` is 0, for all numbers t: an end of
an interval that is open, of which no derivative is to be taken. Where the result would
be no number, as in `inf / inf`, nothing is done.
"""

from __future__ import annotations

from math import inf

from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Ref, Term, constant_value
from tensorgen.operators.conditions.bounds import may_be_infinite
from tensorgen.operators.elementwise import ELEMENTWISE
from tensorgen.operators.matrices.definite import Sign, sign
from tensorgen.operators.scalar import apply, infinite, infinity, times, total
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


def beyond(side: int) -> Rule:
    """Of what is added, or of which the larger or the smaller is taken, infinity.

    `side` says which of both infinities counts; the other one counts for nothing.
    """

    def rule(graph: Graph, args: Args) -> Ref | None:
        for one, other in (args, args[::-1]):
            if found := infinite(one.node):
                return infinity(graph, found) if found == side else other
        return None

    return rule


def beside_positive(graph: Graph, pair: Args) -> list[Ref] | None:
    """A positive number times infinity."""
    one, other = pair
    if infinite(one.node) == 1 and sign(other.node) == Sign.POSITIVE:
        return [one]
    return None


def added(graph: Graph, terms: list[Term]) -> list[Term] | None:
    """Infinity, to which numbers are added."""
    for term in terms:
        side = infinite(term.node)
        if side and (len(terms) > 1 or abs(term.coefficient) != 1):
            return [Term(term.coefficient / abs(term.coefficient), *term.ref)]
    return None


def gap(data: bool) -> Rule:
    """The rule of x - y, if not both can be infinite; that of `data` may be or not."""

    def rule(graph: Graph, args: Args) -> Ref | None:
        x, y = args
        if all(may_be_infinite(one.node) for one in args) and (
            data or any(may_be_infinite(one.node, data=False) for one in args)
        ):
            return None
        return total(graph, [(1, x), (-1, y)])

    return rule


def finite(graph: Graph, args: Args) -> Ref | None:
    """x, if it cannot be infinite."""
    return None if may_be_infinite(args[0].node) else args[0]


def moment(function: str) -> Rule:
    """The rule of x * f(x), for a function f that vanishes where x is infinite."""

    def rule(graph: Graph, args: Args) -> Ref | None:
        (x,) = args
        if not may_be_infinite(x.node):
            return None
        return times(graph, apply(graph, "finite", x), apply(graph, function, x))

    return rule
