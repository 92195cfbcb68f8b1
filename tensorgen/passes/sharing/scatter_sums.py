"""What several terms add where index arrays and deltas say is added up there once."""

from __future__ import annotations

from collections.abc import Sequence

from tensorgen.ir.nodes import Node, Product, Sum, topological, use_counts
from tensorgen.ir.rebuild import renew
from tensorgen.passes.context import Context
from tensorgen.passes.order.common_parts import patterns, scatters
from tensorgen.passes.order.factor_sums import Effort, factor_sum


def scatter_sums(context: Context, roots: Sequence[Node]) -> list[Node]:
    """Return `roots` with terms of sums that are scattered alike scattered once.

    Fires where the modelled cost falls. Terms of matrices and larger tensors must have
    all deltas in common, and no other use: then their entries are one sum. Ends: a sum
    has fewer terms.
    """
    graph, cost = context.graph, context.cost
    effort, within = Effort(), Effort()
    uses = use_counts(roots)
    there: set[Node] = {node for node in uses if isinstance(node, Sum)}

    def opens(node: Node) -> bool:
        return isinstance(node, Product)

    def alone(node: Node) -> bool:
        return isinstance(node, Product) and uses[node] < 2

    def entries(node: Node) -> Node:
        found = factor_sum(graph, node, cost, alone, there=there, effort=within)
        there.update(x for x in topological([found]) if isinstance(x, Sum))
        return found

    def visit(old: Node, node: Node) -> Node:
        if node.order == 1:
            kinds = (scatters,)
            return factor_sum(graph, node, cost, opens, kinds=kinds, effort=effort)
        return factor_sum(
            graph,
            node,
            cost,
            alone,
            kinds=(patterns,),
            there=there,
            inside=entries,
            effort=effort,
        )

    return renew(graph, roots, visit)
