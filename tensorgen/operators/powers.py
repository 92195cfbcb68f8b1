"""Derivatives of powers, written out where nothing needs to be kept away from 0.

`power_slope(x, y)` is `y * x**(y - 1)`, which is 0 where y is: there it must not look
at x, for 0 times an infinite `0**-1` is no number. An exponent that is known needs no
such care.
"""

from __future__ import annotations

from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Map, Ref, Size, constant_value
from tensorgen.operators.scalar import apply, evaluate

Args = tuple[Ref, ...]


def slope(graph: Graph, args: Args) -> Ref | None:
    """power_slope(x, y) = y * x**(y - 1), for a y that is known and not 0."""
    exponent = args[1].node
    value = constant_value(exponent)
    if value == 0:
        return Ref(graph.constant(0), ())
    sure = isinstance(exponent, Size) and exponent.value.is_positive()
    return evaluate(graph, "y * x**(y - 1)", args) if value or sure else None


def curve(graph: Graph, args: Args) -> Ref | None:
    """power_curve(x, y) = y * (y - 1) * x**(y - 2), for a y that is known."""
    value = constant_value(args[1].node)
    if value is None:
        return None
    if value in (0, 1):
        return Ref(graph.constant(0), ())
    return evaluate(graph, "y * (y - 1) * x**(y - 2)", args)


def squared_log(graph: Graph, pair: Args) -> list[Ref] | None:
    """xlogy(a, x) * log(x) = xlogy(xlogy(a, x), x), which is 0 where a is."""
    product, log = pair
    if not isinstance(product.node, Map) or product.node.function != "xlogy":
        return None
    if not isinstance(log.node, Map) or log.node.function != "log":
        return None
    inner, (base,) = product.node.args[1], log.node.args
    places = tuple(product.labels[axis] for axis in inner.labels)
    same = tuple(log.labels[axis] for axis in base.labels)
    if (inner.node, places) != (base.node, same):
        return None
    return [apply(graph, "xlogy", product, Ref(base.node, same))]
