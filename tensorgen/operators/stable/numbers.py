"""Rules of single points and of conditions, and `x * log(x)`."""

from __future__ import annotations

from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Ref, constant_value
from tensorgen.operators.scalar import apply
from tensorgen.operators.stable.differences import same
from tensorgen.operators.stable.match import Args, Rule, arguments, is_map


def at(point: int, value: int) -> Rule:
    """The rule f(point) = value."""

    def rule(graph: Graph, args: Args) -> Ref | None:
        if constant_value(args[0].node) == point:
            return Ref(graph.constant(value), ())
        return None

    return rule


def opposite(graph: Graph, args: Args) -> Ref | None:
    """The opposite of an equation; that of an order would differ where NaN stands."""
    (x,) = args
    if is_map(x, "logical_not"):
        return arguments(x)[0]
    for function, other in (("equal", "not_equal"), ("not_equal", "equal")):
        if is_map(x, function):
            return apply(graph, other, *arguments(x))
    return None


def xlogx(graph: Graph, pair: Args) -> list[Ref] | None:
    """x * log(x), which is 0 at 0."""
    x, log = pair
    if is_map(log, "log") and same(graph, x, arguments(log)[0]):
        return [apply(graph, "xlogx", x)]
    return None
