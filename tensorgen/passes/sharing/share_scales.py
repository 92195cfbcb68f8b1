"""Share: a derivative that several products read is one array, scaled once.

    sum_t m[t, a] * r[t, b] / n, sum_b r[t, b] * O[a, b] / n
        ->   sum_t m[t, a] * d[t, b], sum_b d[t, b] * O[a, b], where d = r / n

Products are flat, so that each has the scale of all that it is made of and puts it
where least is multiplied. An expert scales what several products read, which is the
derivative by a value that has a name: `d_out = 2 * residual / n`. Numbers stand outside
of all nodes; lowering moves them (`lower/rescale.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from math import inf

from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Input, Node, Product, Ref, topological
from tensorgen.ir.rebuild import rebuild, with_factors
from tensorgen.passes.context import Context
from tensorgen.passes.cost import CostModel

Scaled = tuple[Node, tuple[Node, ...]]
"""An array, and the numbers by which it is multiplied."""
READ_OFTEN = 16
"""Each entry is read so many times at least, where it is scaled beside that."""


def share_scales(context: Context, roots: Sequence[Node]) -> list[Node]:
    """Return `roots` with derivatives that several products scale scaled once.

    Ends: what is scaled once is one factor, and numbers that scale get fewer.
    """
    graph = context.graph
    if not context.cross_country:  # a mode keeps what it made
        return list(roots)
    users: dict[Scaled, dict[Node, None]] = {}
    for node in topological(roots):
        if isinstance(node, Product):
            for scaled in _scaled(graph, node, context.cost):
                users.setdefault(scaled, {})[node] = None
    several = {scaled for scaled, using in users.items() if len(using) > 1}
    if not several:
        return list(roots)

    def visit(node: Node) -> Node:
        if not isinstance(node, Product):
            return node
        own = _scaled(graph, node, context.cost)
        return next((_scaled_once(graph, node, x) for x in own if x in several), node)

    return rebuild(graph, roots, visit)


def _scaled(graph: Graph, node: Product, cost: CostModel) -> Iterator[Scaled]:
    """Yield the derivatives that a product reads often and scales, and by what."""
    numbers = tuple(ref.node for ref in node.factors if not ref.node.order)
    if not numbers:
        return
    for place, ref in enumerate(node.factors):
        alone = [x.node for x in node.factors].count(ref.node) == 1
        if not ref.node.order or not alone or isinstance(ref.node, Input):
            continue
        if _times_read(node, place, cost) < READ_OFTEN:
            continue
        derivative = _times(graph, ref.node, numbers)
        called = {
            derivative,
            graph.scale(derivative, node.coefficient),
            _times(graph, ref.node, numbers, node.coefficient),
        }
        told = {**graph.suggestions, **graph.derived}
        if called & told.keys():
            yield ref.node, numbers


def _times(
    graph: Graph,
    node: Node,
    numbers: Sequence[Node],
    coefficient: Fraction = Fraction(1),
) -> Node:
    axes = tuple(range(node.order))
    factors = [(node, axes), *((x, ()) for x in numbers)]
    return graph.product(axes, factors, coefficient=coefficient)


def _times_read(node: Product, place: int, cost: CostModel) -> float:
    """How many times each entry of a factor is read: once for all of a matrix."""
    own = {*node.factors[place].labels}
    beside = [
        {*ref.labels} - own
        for k, ref in enumerate(node.factors)
        if k != place and not own.isdisjoint(ref.labels)
    ]
    if not own.intersection(range(node.order, node.order + len(node.inner))):
        return 0
    sizes = [cost.size([node.sizes[x]]) for labels in beside for x in labels]
    return min(sizes, default=inf if not beside else 0)


def _scaled_once(graph: Graph, node: Product, scaled: Scaled) -> Node:
    """A product that reads what is scaled already."""
    of, numbers = scaled
    rest = [ref for ref in node.factors if ref.node.order and ref.node is not of]
    labels = next(ref.labels for ref in node.factors if ref.node is of)
    shared = Ref(_times(graph, of, numbers), labels)
    return with_factors(graph, node, [*rest, shared])
