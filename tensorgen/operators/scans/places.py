"""Index arrays that are computed: where entries stand in order, and between which.

Places are constant between the points at which entries change their order, so nothing
is differentiated by them. What is read at them is a product with a delta, as it is for
index arrays that are given: so a sorted array has the derivative of a permutation.
"""

from __future__ import annotations

from typing import NamedTuple

from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Node
from tensorgen.operators.table import Operator, no_partials, same_dims, shape_of


class Place(NamedTuple):
    """An index array: what writes it, and a word for names of it.

    It has the shape of the argument `of`, and its entries are below the length of the
    argument `among`, and so many `more`. A text without the first argument looks at
    the length of that alone.
    """

    name: str
    text: str
    word: str
    of: int
    among: int
    more: int = 0

    def row(self) -> Operator:
        """The row of the table of functions."""
        return Operator(
            self.name,
            shape_of(self.of),
            no_partials,
            self.text,
            params=("bound",),
            places=True,
            keyed="{0}" not in self.text,
            word=self.word,
        )


_EVERY = (
    # The number of the last knot that is not above each x, but the last one.
    Place("interval", "_interval({0}, {1})", "left", 0, 1, -1),
    # How many of keys in order are at most each limit, or below it.
    Place("count_within", "_count_within({0}, {1})", "within", 1, 0, 1),
    Place("count_below", "_count_below({0}, {1})", "within", 1, 0, 1),
    # The first of keys in order that is at least a limit, or above it; none is for NaN.
    Place("begin_at", "_begin_at({0}, {1})", "begin", 1, 0, 1),
    Place("begin_above", "_begin_above({0}, {1})", "begin", 1, 0, 1),
    # The first of keys in order that equals each x. Numbers without such a key have a
    # place beyond all, and keys of their own another: what is NaN equals nothing.
    Place("tie_of_key", "_tie({0}, {1})", "tie", 1, 0, 2),
    Place("tie", "_tie({0}, {1}, 1)", "tie", 1, 0, 2),
    # The place of each key of a vector in their order.
    Place("ranks", "np.argsort({1})", "rank", 0, 0),
    # The last of so many first places, or 0 where there is none.
    Place("last_place", "_last_index({1})", "last", 1, 0),
    # The entries in the order of keys, and of places where these are alike.
    Place("joint_order", "_joint_order({1}, {2})", "order", 0, 0),
    # How many (key, place) in order are before each pair, or are this pair too.
    Place("count_joint_before", "_count_joint({1}, {2}, {3}, {4})", "place", 4, 0, 1),
    Place(
        "count_joint_within",
        '_count_joint({1}, {2}, {3}, {4}, "right")',
        "place",
        4,
        0,
        1,
    ),
    # How many keys in order are before each key, or are this key too.
    Place("count_keys_before", "np.searchsorted({1}, {2})", "place", 2, 0, 1),
    Place(
        "count_keys_within", 'np.searchsorted({1}, {2}, side="right")', "place", 2, 0, 1
    ),
)
PLACES = {row.name: row for row in _EVERY}


def place(graph: Graph, name: str, *args: Node) -> Node:
    """Return an index array that is computed."""
    row = PLACES[name]
    bound = args[row.among].dims[0] + row.more
    return graph.call(name, args, args[row.of].dims, bound=bound)


def argsort(graph: Graph, x: Node, axis: int) -> Node:
    """Return the places of the entries along an axis, those of the smallest first."""
    bound = x.dims[axis]
    return graph.call("argsort", [x], x.dims, along=(axis,), bound=bound)


ROWS = (
    # Equals keep their order: the derivative at ties is that of one permutation.
    Operator(
        "argsort",
        same_dims,
        no_partials,
        'np.argsort({0}{axis}, kind="stable")',
        params=("along", "bound"),
        places=True,
        word="order",
    ),
    *(row.row() for row in _EVERY),
)
