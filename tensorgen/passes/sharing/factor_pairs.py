"""Factor pairs: terms of a sum that the order has left with one operand are one.

`8 * (W.T @ P) - 2 * (V.T @ P)` becomes `(8 * W - 2 * V).T @ P`. Before products are
ordered their factors are small and many, and what moves outside is multiplied last;
an operand of a pair stands for all of its factors.
"""

from __future__ import annotations

from collections.abc import Sequence

from tensorgen.ir.nodes import Node, Product, Sum, use_counts
from tensorgen.ir.rebuild import merged, rebuild, renew
from tensorgen.passes.context import Context
from tensorgen.passes.order.common_parts import factors, masks, whole_rests
from tensorgen.passes.order.factor_sums import Effort, factor_sum
from tensorgen.passes.order.order_contractions import order_contractions
from tensorgen.passes.views import is_elementwise
from tensorgen.prices.limits import FACTORED_TERMS


def factor_pairs(context: Context, roots: Sequence[Node]) -> list[Node]:
    """Return `roots` with operands and masks that terms of a sum share outside of it.

    Fires where the modelled cost falls, in terms that nothing else needs. Nothing is
    multiplied out: a difference stays one, and one of products becomes a product with a
    difference, which loses no more digits. Formulas of single entries form no products
    that were not there: `p * x * q + p * y` is finite for a tiny p and a large x,
    `p * (x * q + y)` need not be. Ends: each step lowers the cost.
    """
    graph, cost, effort = context.graph, context.cost, Effort()
    uses = use_counts(roots)
    private: set[Node] = set()

    def opens(node: Node) -> bool:
        """Whether a term may be looked into; those that factoring makes may."""
        if not isinstance(node, Product) or node in graph.names:
            return False
        return node in private or node not in uses

    def joined(node: Node) -> Node:
        """A sum with the terms of sums that were operands of one product alone."""
        if node in uses or not isinstance(node, Sum):
            return node
        return merged(graph, node, lambda x: x in private and x not in graph.names)

    def visit(old: Node, node: Node) -> Node:
        found = node
        if isinstance(node, Sum) and len(node.terms) <= FACTORED_TERMS:
            entries = all(_is_entrywise(term.node) for term in node.terms)
            kinds = (masks, whole_rests) if entries else (masks, factors)
            factored = factor_sum(graph, node, cost, opens, kinds=kinds, effort=effort)
            if factored is not node:
                whole = rebuild(graph, [factored], joined) if entries else [factored]
                (other,) = order_contractions(graph, whole, cost)
                if context.price([other]) < context.price([node]):
                    found = other
        if uses[old] == 1 and (found is old or found not in uses):
            private.add(found)
        return found

    return renew(graph, roots, visit)


def _is_entrywise(node: Node) -> bool:
    """Whether each entry is made of single entries, as far as one can see."""
    if not isinstance(node, Product):
        return True
    if node.constraints and not node.inner and len(node.factors) == 1:
        (core, _), ties = node.factors[0], node.constraints
        masked = all(c.kind == "ge" and len(c.form.labels) > 1 for c in ties)
        return masked and _is_entrywise(core)
    return is_elementwise(node)
