"""Fuse: an elementwise product used in one elementwise product joins it."""

from __future__ import annotations

from collections.abc import Sequence

from tensorgen.ir.nodes import Node, Product, Ref, use_counts
from tensorgen.ir.rebuild import rebuild
from tensorgen.ir.views import opened
from tensorgen.passes.context import Context
from tensorgen.passes.views import is_elementwise


def fuse_elementwise(context: Context, roots: Sequence[Node]) -> list[Node]:
    """Return `roots` with nested products of arrays of one shape as n-ary ones.

    Only products without sums and deltas, of factors that have all labels, so that no
    more is computed than before; a value with several uses or a name stays apart.
    Ends: each fusion removes a node.
    """
    graph = context.graph
    uses = use_counts(roots)

    def fused(node: Node) -> Node:
        if not isinstance(node, Product) or not is_elementwise(node):
            return node
        chosen = [k for k, ref in enumerate(node.factors) if joins(node, ref)]
        return opened(graph, node, chosen) if chosen else node

    def joins(node: Product, ref: Ref) -> bool:
        inner = ref.node
        return (
            isinstance(inner, Product)
            and uses[inner] <= 1
            and inner not in graph.names
            and is_elementwise(inner)
            and set(ref.labels) == set(range(node.order))
        )

    return rebuild(graph, roots, fused)
