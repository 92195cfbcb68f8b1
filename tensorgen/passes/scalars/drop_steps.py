"""Terms that are 0 on both sides of a step.

    step(b - a) * (a - minimum(a, b)) = 0

for where a is below b, the minimum is a. The derivative of a function of a clipped
argument leaves such terms: they meet where the clip ends. No pattern: the minimum may
stand anywhere in what vanishes, as a polynomial.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Node, Product, Ref, Sum
from tensorgen.ir.rebuild import rebuild
from tensorgen.operators.scalar import operands, total
from tensorgen.operators.stable.match import arguments, elementwise_factors, is_map
from tensorgen.passes.context import Context
from tensorgen.passes.scalars.polynomials import replaced, vanishes

DEPTH_OF_STEPS = 6
"""How many operands within operands are looked at."""


def drop_steps(context: Context, roots: Sequence[Node]) -> list[Node]:
    """Return `roots` without products of steps and what vanishes where they do not.

    Ends: products only go.
    """
    graph = context.graph

    def visit(node: Node) -> Node:
        if not isinstance(node, Product):
            return node
        factors = [x for ref in node.factors for x in elementwise_factors(ref)[1]]
        heights = [arguments(x)[0] for x in factors if is_map(x, "step")]
        sums = [x for x in factors if heights and isinstance(x.node, Sum)]
        if not any(vanishes(_above(graph, x, heights)) for x in sums):
            return node
        sizes = dict(enumerate(node.dims))
        return graph.product(range(node.order), [], coefficient=0, sizes=sizes)

    return rebuild(graph, roots, visit)


def _above(graph: Graph, value: Ref, heights: Sequence[Ref]) -> Ref:
    """A value where none of these is negative."""
    for one in _ends(value):
        for a, b in (arguments(one), arguments(one)[::-1]):
            least, most = (a, b) if is_map(one, "minimum") else (b, a)
            gap = total(graph, [(1, most), (-1, least)])
            if any(vanishes(total(graph, [(1, gap), (-1, h)])) for h in heights):
                found = replaced(graph, value, {one: a}, one)
                return value if found is None else _above(graph, found, heights)
    return value


def _ends(value: Ref) -> Iterator[Ref]:
    """The minima and maxima near the top of a value."""
    level = [value]
    for _ in range(DEPTH_OF_STEPS):
        yield from (x for x in level if is_map(x, "minimum") or is_map(x, "maximum"))
        below = (part for x in level for part in operands(x) or ())
        level = [*dict.fromkeys(below)]
