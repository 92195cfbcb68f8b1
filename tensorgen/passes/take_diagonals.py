"""Take diagonals first: of what a sum, a product or a map is made of.

The diagonal of `A @ B` is `sum_k A[i, k] B[k, i]`, that of `f(A)` is f of the
diagonal: nothing off the diagonal is computed.
"""

from __future__ import annotations

from collections.abc import Sequence

from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Label, Map, Node, Product, Ref, Sum, use_counts
from tensorgen.ir.rebuild import rebuild, with_factors
from tensorgen.passes.context import Context
from tensorgen.passes.limits import DIAGONAL_ROUNDS
from tensorgen.passes.views import View


def take_diagonals(context: Context, roots: Sequence[Node]) -> list[Node]:
    """Return `roots` with diagonals moved towards the inputs.

    Fires on nodes that have no other use, named or not: an array that is needed as a
    whole holds its diagonal. Ends: each round moves a diagonal to operands.
    """
    current = list(roots)
    for _ in range(DIAGONAL_ROUNDS):
        before, current = current, _round(context.graph, current)
        if before == current:
            break
    return current


def _round(graph: Graph, roots: Sequence[Node]) -> list[Node]:
    once = {node for node, count in use_counts(roots).items() if count == 1}
    return rebuild(graph, roots, lambda node: _moved(graph, node, once))


def _moved(graph: Graph, node: Node, once: set[Node]) -> Node:
    """A product with the diagonals among its factors taken one step earlier."""
    if not isinstance(node, Product):
        return node
    refs = [_diagonal(graph, ref) if ref.node in once else ref for ref in node.factors]
    return with_factors(graph, node, refs)


def _diagonal(graph: Graph, ref: Ref) -> Ref:
    """A use as that of a node of its own, whose axes all have labels of their own."""
    node, labels = ref
    kept = tuple(dict.fromkeys(labels))
    if len(kept) == len(labels):
        return ref
    dims = dict(zip(labels, node.dims, strict=True))

    def part(inner: Node, axes: Sequence[Label]) -> tuple[Node, Sequence[Label]]:
        at = [labels[a] for a in axes]
        own = list(dict.fromkeys(at))
        return graph.product(own, [(inner, at)]), own

    match node:
        case Sum(terms=terms):
            parts = [(t.coefficient, *part(t.node, t.labels)) for t in terms]
            return Ref(graph.sum(kept, parts, dims), kept)
        case Map(args=args):
            refs = [part(arg, axes) for arg, axes in args]
            return Ref(graph.map(node.function, kept, refs, dims), kept)
        case Product() if node.factors:
            view = View()
            view.add(node, labels, "inner")
            return Ref(view.product(graph, kept), kept)
    return ref
