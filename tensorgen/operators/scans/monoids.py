"""What entries are reduced by, two at a time: over axes, so far, and by key.

A reduction is a row of `calls`, a running one is of `triangles` or a recurrence, and
one by key of `by_key`; all of them start from what no entries are reduced to.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from math import inf
from typing import NamedTuple

from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Constraint, Node, Ref
from tensorgen.operators.scalar import apply, number, times
from tensorgen.operators.table import Partial


class Monoid(NamedTuple):
    """A reduction, the function of two that it repeats, and its value of no entries.

    Where no product does, the call `running` gives the reductions of all so far. By key
    it is a row of its own if it is `keyed`.
    """

    name: str
    step: str
    empty: float
    keyed: bool = True
    running: str = ""

    def neutral(self, graph: Graph) -> Node:
        """What no entries are reduced to."""
        return number(graph, self.empty).node


MONOIDS = {
    row.name: row
    for row in (
        Monoid("max", "maximum", -inf, running="running_max"),
        Monoid("min", "minimum", inf, running="running_min"),
        Monoid("logsumexp", "logaddexp", -inf, False, "running_logsumexp"),
        Monoid("prod", "multiply", 1),
    )
}


# Derivatives


def ties(
    graph: Graph,
    x: Ref,
    top: Ref,
    kept: Sequence[Hashable],
    constraints: Sequence[Constraint] = (),
    sizes: Mapping[Hashable, Dim] | None = None,
) -> tuple[Ref, Node]:
    """Where entries equal the largest or smallest, and how many do: they share it."""
    hit = apply(graph, "equal", x, top)
    return hit, graph.product(kept, [hit], constraints=constraints, sizes=sizes)


def all_but_two(
    graph: Graph,
    x: Node,
    axes: Iterable[int],
    others: Callable[[Node], Node],
    in_front: bool = False,
    constraints: tuple[Constraint, ...] = (),
) -> list[Partial]:
    """The derivative of the product of all but x[i] over axes, without a division.

    By x[j] with j != i it is the product of all but both, for entries may be zero: that
    of the `others` among x with a one in place of x[i]. The axes of j stand behind
    those of x, or `in_front` of them.
    """
    own = tuple(range(x.order))
    twins = {axis: x.order + k for k, axis in enumerate(axes)}
    other = tuple(twins.get(axis, axis) for axis in own)
    same = times(graph, *(_equal(graph, x, *pair) for pair in twins.items()))
    chosen = apply(graph, "where", same, Ref(graph.constant(1), ()), Ref(x, other))
    more = tuple(twins.values())
    every = (*more, *own) if in_front else (*own, *more)
    sizes = dict(enumerate((*x.dims, *(x.dims[axis] for axis in twins))))
    rest = others(graph.product(every, [chosen], sizes=sizes))
    different = apply(graph, "logical_not", same)
    factors = ((rest, every), different)
    return [Partial(x, other, factors=factors, constraints=constraints)]


def _equal(graph: Graph, x: Node, axis: int, twin: int) -> Ref:
    """Whether two places along an axis are one."""
    places = graph.iota(x.dims[axis])
    return apply(graph, "equal", Ref(places, (axis,)), Ref(places, (twin,)))
