"""Guards: what a condition leaves out is kept away from functions that break there.

A sum with a condition multiplies by zeros and ones, and zero times infinity is no
number: `D[i, j]**-6` on a diagonal that the range leaves out, or the derivative of a
distance of a point from itself. So the argument of a function that is infinite
somewhere becomes a harmless number wherever the condition fails, before the function
is applied; then its value and all its derivatives are finite there, and the mask
removes them.
"""

from __future__ import annotations

from collections.abc import Sequence

from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Map, Node, Product, Ref, Sum, constant_value
from tensorgen.operators.elementwise import ELEMENTWISE
from tensorgen.operators.scalar import apply

ONE_AT_ONE = ("cbrt", "pow", "root", "rroot", "sqrt")
"""Functions that are 1 at 1."""

Where = tuple[int | None, ...]
"""For each axis of a node the axis of the mask that it is, if any."""


def guarded(graph: Graph, node: Node, mask: Node, where: Sequence[int | None]) -> Node:
    """Return a node that agrees where `mask` holds, and stays finite elsewhere.

    `where` says which axes of the node are the mask's. Only what has all of these is
    looked into: a value that the mask tells apart. Infinite inputs are left to the
    mask, which selects.
    """
    return _Guard(graph, mask).visit(node, tuple(where))


class _Guard:
    def __init__(self, graph: Graph, mask: Node) -> None:
        self.graph = graph
        self.mask = mask
        self.done: dict[tuple[Node, Where], Node] = {}

    def visit(self, node: Node, where: Where) -> Node:
        covered = {axis for axis in where if axis is not None}
        if len(covered) < self.mask.order:
            return node
        key = (node, where)
        if key not in self.done:
            self.done[key] = self._rebuilt(node, where)
        return self.done[key]

    def _rebuilt(self, node: Node, where: Where) -> Node:
        axes = range(node.order)
        match node:
            case Map():
                args = [self._argument(node, k, where) for k in range(len(node.args))]
                return self.graph.map(
                    node.function, axes, args, dict(enumerate(node.dims))
                )
            case Sum():
                terms = [
                    (t.coefficient, self._inner(t.node, t.labels, where), t.labels)
                    for t in node.terms
                ]
                return self.graph.sum(axes, terms, dict(enumerate(node.dims)))
            case Product() if not node.constraints:
                factors = [
                    (self._inner(ref.node, ref.labels, where), ref.labels)
                    for ref in node.factors
                ]
                return self.graph.product(
                    axes,
                    factors,
                    coefficient=node.coefficient,
                    sizes=dict(enumerate(node.sizes)),
                )
            case _:
                return node

    def _inner(self, node: Node, labels: Sequence[int], where: Where) -> Node:
        return self.visit(
            node, tuple(where[x] if x < len(where) else None for x in labels)
        )

    def _argument(self, node: Map, place: int, where: Where) -> Ref:
        arg = node.args[place]
        inner = Ref(self._inner(arg.node, arg.labels, where), arg.labels)
        safe = ELEMENTWISE[node.function].safe
        at = {axis: k for k, axis in enumerate(where) if axis is not None}
        covered = {where[x] for x in arg.labels} >= set(at)
        if safe is None or place != safe[0] or not covered or _is_polynomial(node):
            return inner
        if (
            safe[1] == 1
            and isinstance(inner.node, Map)
            and inner.node is not arg.node
            and inner.node.function in ONE_AT_ONE
        ):
            return inner  # it was guarded with 1 itself, and is 1 where that stands
        mask = Ref(self.mask, tuple(at[a] for a in range(self.mask.order)))
        number = Ref(self.graph.constant(safe[1]), ())
        return apply(self.graph, "where", mask, inner, number)


def _is_polynomial(node: Map) -> bool:
    """Whether a power has a whole exponent that is not negative."""
    if node.function != "pow":
        return False
    exponent = constant_value(node.args[1].node)
    return exponent is not None and exponent.denominator == 1 and exponent >= 0
