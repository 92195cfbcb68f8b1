"""What several terms add where an index array says is added up there once."""

from __future__ import annotations

from collections.abc import Sequence

from tensorgen.ir.nodes import Node, Product
from tensorgen.ir.rebuild import rebuild
from tensorgen.passes.context import Context
from tensorgen.passes.order.common_parts import scatters
from tensorgen.passes.order.factor_sums import Effort, factor_sum


def scatter_sums(context: Context, roots: Sequence[Node]) -> list[Node]:
    """Return `roots` with terms of sums that are scattered alike scattered once.

    Fires where the modelled cost falls. Terms of matrices and larger tensors share
    more than what they are scattered by, and stay apart. Ends: a sum has fewer terms.
    """
    graph, cost, effort = context.graph, context.cost, Effort()

    def opens(node: Node) -> bool:
        return isinstance(node, Product)

    def visit(node: Node) -> Node:
        if node.order != 1:
            return node
        return factor_sum(graph, node, cost, opens, kinds=(scatters,), effort=effort)

    return rebuild(graph, roots, visit)
