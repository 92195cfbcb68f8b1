"""Rules of the hypotenuse, of whose sides it does not matter which comes first."""

from __future__ import annotations

from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Map, Ref, constant_value
from tensorgen.operators.scalar import apply, power

Args = tuple[Ref, ...]


def hypot(graph: Graph, args: Args) -> Ref | None:
    """hypot(y, x) = hypot(x, y), so that one statement computes both."""
    return _ordered(graph, "hypot", args)


def rhypot(graph: Graph, args: Args) -> Ref | None:
    """rhypot(y, x) = rhypot(x, y), and 1 / hypot(x, 1) is never divided by 0."""
    if any(constant_value(side.node) for side in args):
        return power(graph, apply(graph, "hypot", *args), -1)
    return _ordered(graph, "rhypot", args)


def inverse(graph: Graph, args: Args) -> Ref | None:
    """inverse(hypot(x, 1)) = 1 / hypot(x, 1)."""
    node = args[0].node
    if not isinstance(node, Map) or node.function != "hypot":
        return None
    positive = any(constant_value(side.node) for side in node.args)
    return power(graph, args[0], -1) if positive else None


def _ordered(graph: Graph, function: str, args: Args) -> Ref | None:
    first, second = args
    if (first.node.serial, first.labels) <= (second.node.serial, second.labels):
        return None
    return apply(graph, function, second, first)
