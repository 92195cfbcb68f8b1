"""Separate: connected factors of a product are one factor, where that is lighter.

`A[i, k] * B[k, j] * x[l]` becomes `C[i, j] * x[l]`, which is light to look through
though the contraction inside stays shared. Summed labels connect.
"""

from __future__ import annotations

from tensorgen.ir.graph import Graph
from tensorgen.ir.groups import connected
from tensorgen.ir.nodes import Node, Product, once
from tensorgen.ir.views import View
from tensorgen.passes.rounds import Round
from tensorgen.passes.views import grows


def separate_products(known: Round, node: Node) -> Node:
    """Return a product that is larger than what it is made of, or would be, apart.

    `inv[i, k] * a[k] * inv[j, l] * b[l]` is as large as what it is made of, but it
    is an outer product of two vectors.
    """
    graph = known.context.graph
    apart = once(node, _separated, lambda: _separated(graph, node))
    cost = known.context.cost
    return apart if grows(node, cost) or grows(apart, cost) else node


def _separated(graph: Graph, node: Node) -> Node:
    """A product with each connected group of factors as one factor."""
    if not isinstance(node, Product) or node.constraints:
        return node
    summed = [{x for x in ref.labels if x >= node.order} for ref in node.factors]
    groups = connected(summed)
    if len(groups) < 2 or not node.inner:
        return node
    view = View(node.coefficient)
    view.sizes.update(enumerate(node.dims))
    for labels, places in groups:
        refs = [node.factors[k] for k in places]
        if not labels:
            view.factors += refs
            continue
        kept = sorted({x for _, xs in refs for x in xs if x < node.order})
        view.factors.append((graph.product(kept, refs), tuple(kept)))
    return view.product(graph, range(node.order))
