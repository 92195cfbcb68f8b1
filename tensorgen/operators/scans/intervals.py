"""Sums of what stands between two places in an order, for many pairs of places.

`sum(z[j], j, t[j] >= a[i], t[j] <= b[i])` adds up an interval of the keys in their
order; and of `sum(z[j], j, g[j] == g[i], t[j] <= t[i])` each key g has an interval,
where entries are sorted by both. Intervals are sums of runs of 1, 2, 4, ... entries,
so terms are added, never taken away. All of it is constant for derivatives but what is
added up, and that is a product with indicators until code is made.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Call, Node
from tensorgen.operators.table import Operator, Partial

Params = Mapping[str, object]


def joint_order(graph: Graph, keys: Node, places: Node) -> Node:
    """Return the entries in the order of keys, and of places where these are alike."""
    bound = keys.dims[0]
    return graph.call("joint_order", [keys, keys, places], keys.dims, bound=bound)


def count_joint(
    graph: Graph, ordered: Sequence[Node], limits: Sequence[Node], within: bool
) -> Node:
    """Return how many of (key, place) in order are before each pair, or within it."""
    keys, places = ordered
    operator = "count_joint_within" if within else "count_joint_before"
    args = [keys, keys, places, *limits]
    return graph.call(operator, args, limits[0].dims, bound=keys.dims[0] + 1)


def count_keys(graph: Graph, ordered: Node, keys: Node, within: bool) -> Node:
    """Return how many keys in order are before each key, or are this key too."""
    operator = "count_keys_within" if within else "count_keys_before"
    bound = ordered.dims[0] + 1
    return graph.call(operator, [ordered, ordered, keys], keys.dims, bound=bound)


def sums_between(graph: Graph, z: Node, low: Node, high: Node) -> Node:
    """Return the sums of z from each place up to another, along the first axis."""
    return graph.call("sums_between", [z, low, high], (*low.dims, *z.dims[1:]))


def spread_between(graph: Graph, w: Node, low: Node, high: Node, size: Dim) -> Node:
    """Return for each place the sum of all w whose interval it is in."""
    shape = (size, *w.dims[1:])
    return graph.call("spread_between", [w, low, high], shape, shape=shape)


def _interval_dims(args: Sequence[Node], params: Params) -> tuple[Dim, ...]:
    return (*args[1].dims, *args[0].dims[1:])


def _shape(args: Sequence[Node], params: Params) -> tuple[Dim, ...]:
    return cast(tuple[Dim, ...], params["shape"])


def _limit_dims(args: Sequence[Node], params: Params) -> tuple[Dim, ...]:
    return args[-1].dims


def _key_dims(args: Sequence[Node], params: Params) -> tuple[Dim, ...]:
    return args[0].dims


def _no_partials(graph: Graph, node: Call) -> list[Partial]:
    # They are made when all is differentiated.
    return []


ROWS = (
    Operator(
        "joint_order",
        _key_dims,
        _no_partials,
        "_joint_order({1}, {2})",
        params=("bound",),
        places=True,
        keyed=True,
        word="order",
    ),
    *(
        Operator(
            name,
            _limit_dims,
            _no_partials,
            text,
            params=("bound",),
            places=True,
            keyed=True,
            word="place",
        )
        for name, text in (
            ("count_joint_before", "_count_joint({1}, {2}, {3}, {4})"),
            ("count_joint_within", '_count_joint({1}, {2}, {3}, {4}, "right")'),
            ("count_keys_before", "np.searchsorted({1}, {2})"),
            ("count_keys_within", 'np.searchsorted({1}, {2}, side="right")'),
        )
    ),
    Operator(
        "sums_between",
        _interval_dims,
        _no_partials,
        "_sums_between({0}, {1}, {2})",
        keyed=True,
        internal=True,
    ),
    Operator(
        "spread_between",
        _shape,
        _no_partials,
        "_spread_between({0}, {1}, {2}, {shape})",
        params=("shape",),
        keyed=True,
        internal=True,
    ),
)
