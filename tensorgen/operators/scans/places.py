"""Index arrays that are computed: where entries stand in order, and between which.

Places are constant between the points at which entries change their order, so nothing
is differentiated by them. What is read at them is a product with a delta, as it is for
index arrays that are given: so a sorted array has the derivative of a permutation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Call, Node
from tensorgen.operators.table import Operator, Partial, same_dims

Params = Mapping[str, object]


def argsort(graph: Graph, x: Node, axis: int) -> Node:
    """Return the places of the entries along an axis, those of the smallest first."""
    bound = x.dims[axis]
    return graph.call("argsort", [x], x.dims, along=(axis,), bound=bound)


def interval(graph: Graph, x: Node, knots: Node) -> Node:
    """Return the number of the last knot that is not above each x, but the last one."""
    bound = knots.dims[0] - 1
    return graph.call("interval", [x, knots], x.dims, bound=bound)


def count(graph: Graph, keys: Node, limits: Node, strict: bool) -> Node:
    """Return how many of keys in order are at most each limit, or below it."""
    operator = "count_below" if strict else "count_within"
    bound = keys.dims[0] + 1
    return graph.call(operator, [keys, limits], limits.dims, bound=bound)


def begin(graph: Graph, keys: Node, limits: Node, strict: bool) -> Node:
    """Return the place of the first of keys in order that is at least a limit.

    Or above it. Nothing is at least what is NaN.
    """
    operator = "begin_above" if strict else "begin_at"
    bound = keys.dims[0] + 1
    return graph.call(operator, [keys, limits], limits.dims, bound=bound)


def ranks(graph: Graph, keys: Node, order: Node) -> Node:
    """Return the place of each key of a vector in their order."""
    return graph.call("ranks", [keys, order], keys.dims, bound=keys.dims[0])


def tie(graph: Graph, keys: Node, x: Node, own: bool) -> Node:
    """Return the place of the first of keys in order that equals each x.

    Numbers without such a key have a place beyond all, and keys of their own another:
    what is NaN equals nothing.
    """
    operator = "tie_of_key" if own else "tie"
    return graph.call(operator, [keys, x], x.dims, bound=keys.dims[0] + 2)


def before(graph: Graph, keys: Node, number: Node) -> Node:
    """Return the last of so many first places, or 0 where there is none."""
    bound = keys.dims[0]
    return graph.call("last_place", [keys, number], number.dims, bound=bound)


def _limit_dims(args: Sequence[Node], params: Params) -> tuple[Dim, ...]:
    return args[1].dims


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
    *(
        Operator(
            name,
            _limit_dims,
            _no_partials,
            f"_{name}({{0}}, {{1}})",
            params=("bound",),
            places=True,
            word=word,
        )
        for name, word in (
            ("count_within", "within"),
            ("count_below", "within"),
            ("begin_at", "begin"),
            ("begin_above", "begin"),
        )
    ),
    *(
        Operator(
            name,
            _limit_dims,
            _no_partials,
            f"_tie({{0}}, {{1}}{beyond})",
            params=("bound",),
            places=True,
            word="tie",
        )
        for name, beyond in (("tie_of_key", ""), ("tie", ", 1"))
    ),
    Operator(
        "ranks",
        same_dims,
        _no_partials,
        "np.argsort({1})",
        params=("bound",),
        places=True,
        keyed=True,
        word="rank",
    ),
    Operator(
        "last_place",
        _limit_dims,
        _no_partials,
        "_last_index({1})",
        params=("bound",),
        places=True,
        keyed=True,
        word="last",
    ),
)
