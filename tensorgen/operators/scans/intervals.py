"""Sums of what stands between two places in an order, for many pairs of places.

`sum(z[j], j, t[j] >= a[i], t[j] <= b[i])` adds up an interval of the keys in their
order; and of `sum(z[j], j, g[j] == g[i], t[j] <= t[i])` each key g has an interval,
where entries are sorted by both. Intervals are sums of runs of 1, 2, 4, ... entries,
so terms are added, never taken away. Until code is made they are products with
indicators: so nothing here is ever differentiated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Node
from tensorgen.operators.table import Operator, given_shape, no_partials


def sums_between(graph: Graph, z: Node, low: Node, high: Node) -> Node:
    """Return the sums of z from each place up to another, along the first axis."""
    args = [z, low, high]
    return graph.call("sums_between", args, _interval_dims(args, {}))


def spread_between(graph: Graph, w: Node, low: Node, high: Node, size: Dim) -> Node:
    """Return for each place the sum of all w whose interval it is in."""
    shape = (size, *w.dims[1:])
    return graph.call("spread_between", [w, low, high], shape, shape=shape)


def _interval_dims(
    args: Sequence[Node], params: Mapping[str, object]
) -> tuple[Dim, ...]:
    return (*args[1].dims, *args[0].dims[1:])


ROWS = (
    Operator(
        "sums_between",
        _interval_dims,
        no_partials,
        "_sums_between({0}, {1}, {2})",
        keyed=True,
        internal=True,
    ),
    Operator(
        "spread_between",
        given_shape,
        no_partials,
        "_spread_between({0}, {1}, {2}, {shape})",
        params=("shape",),
        keyed=True,
        internal=True,
    ),
)
