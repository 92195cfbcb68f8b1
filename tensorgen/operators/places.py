"""Index arrays that are computed: where entries stand in order, and between which.

Places are constant between the points at which entries change their order, so nothing
is differentiated by them. What is read at them is a product with a delta, as it is for
index arrays that are given: so a sorted array has the derivative of a permutation.
"""

from __future__ import annotations

from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Call, Node
from tensorgen.operators.table import Operator, Partial, same_dims


def argsort(graph: Graph, x: Node, axis: int) -> Node:
    """Return the places of the entries along an axis, those of the smallest first."""
    bound = x.dims[axis]
    return graph.call("argsort", [x], x.dims, along=(axis,), bound=bound)


def interval(graph: Graph, x: Node, knots: Node) -> Node:
    """Return the number of the last knot that is not above each x, but the last one."""
    bound = knots.dims[0] - 1
    return graph.call("interval", [x, knots], x.dims, bound=bound)


def _no_partials(graph: Graph, node: Call) -> list[Partial]:
    return []


ROWS = (
    # Equals keep their order: the derivative at ties is that of one permutation.
    Operator(
        "argsort",
        same_dims,
        _no_partials,
        'np.argsort({0}{axis}, kind="stable")',
        params=("along", "bound"),
        places=True,
        word="order",
    ),
    Operator(
        "interval",
        same_dims,
        _no_partials,
        "_interval({0}, {1})",
        params=("bound",),
        places=True,
        word="left",
    ),
)
