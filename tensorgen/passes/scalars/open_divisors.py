"""Open what has a name and divides by numbers, where it is multiplied or divides.

    x / (r / n)                     ->   n * x / r, a mean r / n
    sum_i z[i] / s, z[i] = c[i] / s   ->   (sum_i c[i]) / s**2

Rules leave both whole, which reads better. What follows is more, or less, than what
follows of their factors: powers meet those of others, and numbers leave sums. Values
stay as they are written, whose powers may leave the range.

Ends: no such factor is left.
"""

from __future__ import annotations

from collections.abc import Sequence

from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Map, Node, Product, Ref, Size, topological
from tensorgen.ir.rebuild import rebuild, with_factors
from tensorgen.ir.views import opened
from tensorgen.operators.stable.match import as_power
from tensorgen.operators.stable.powers import over_factors
from tensorgen.passes.context import Context


def open_divisors(context: Context, roots: Sequence[Node]) -> list[Node]:
    """Return `roots` in which such products stand for what they are made of."""
    graph = context.graph
    stated = {*topological([root for root in roots if root in graph.names])}

    def visit(node: Node) -> Node:
        if node in stated:
            return node
        if isinstance(node, Map) and node.args[0].node in graph.names:
            found = over_factors(graph, node)
            return node if found is None else found.node
        if isinstance(node, Product):
            node = _with_squares_open(graph, node)
            places = range(len(node.factors))
            own = [k for k in places if _is_by_number(graph, node.factors[k].node)]
            return opened(graph, node, own) if own else node
        return node

    return rebuild(graph, roots, visit)


def _with_squares_open(graph: Graph, node: Product) -> Product:
    """A product with `z * z` for the square of such an array, which sums as one."""
    factors: list[Ref] = []
    for factor in node.factors:
        base, e = as_power(factor)
        is_square = e == 2 and _is_by_number(graph, base.node)
        factors += [base, base] if is_square else [factor]
    with graph.without_rewrites():
        found = with_factors(graph, node, factors)
    return found if isinstance(found, Product) else node


def _is_by_number(graph: Graph, node: Node) -> bool:
    """Whether a node is a named array over numbers, some of which are no sizes."""
    if not isinstance(node, Product) or not node.order or node not in graph.names:
        return False
    if node.inner or node.constraints:
        return False
    below = [base for base, e in map(as_power, node.factors) if e < 0]
    return not any(x.labels for x in below) and any(map(_is_no_size, below))


def _is_no_size(ref: Ref) -> bool:
    return not isinstance(ref.node, Size)
