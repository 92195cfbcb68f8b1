"""Factor pairs: terms of a sum that the order has left with one operand are one.

`8 * (W.T @ P) - 2 * (V.T @ P)` becomes `(8 * W - 2 * V).T @ P`. Before products are
ordered their factors are small and many, and what moves outside is multiplied last;
an operand of a pair stands for all of its factors.
"""

from __future__ import annotations

from collections.abc import Sequence

from tensorgen.ir.nodes import Node, Product, Sum, Term, topological, use_counts
from tensorgen.ir.rebuild import carry_names, with_operands
from tensorgen.passes.context import Context
from tensorgen.passes.order.factor_sums import Effort, factor_sum
from tensorgen.passes.order.order_contractions import order_contractions
from tensorgen.passes.views import is_elementwise
from tensorgen.prices.limits import FACTORED_TERMS


def factor_pairs(context: Context, roots: Sequence[Node]) -> list[Node]:
    """Return `roots` with operands that terms of a sum share outside of it.

    Fires where the modelled cost falls, in terms that nothing else needs. Nothing is
    multiplied out: a difference stays one, and one of products becomes a product with a
    difference, which loses no more digits. Formulas of single entries stay as they are:
    `p * x * q + p * y` is finite for a tiny p and a large x, `p * (x * q + y)` need not
    be. Ends: each step lowers the cost.
    """
    graph, cost, effort = context.graph, context.cost, Effort()
    uses = use_counts(roots)
    private: set[Node] = set()

    def opens(node: Node) -> bool:
        """Whether a term may be looked into; those that factoring makes may."""
        if not isinstance(node, Product) or node in graph.names:
            return False
        return node in private or node not in uses

    new: dict[Node, Node] = {}
    for node in topological(roots):
        found = with_operands(graph, node, new)
        if isinstance(found, Sum) and _may_factor(found):
            factored = factor_sum(graph, found, cost, opens, effort=effort)
            if factored is not found:
                (other,) = order_contractions(graph, [factored], cost)
                if context.price([other]) < context.price([found]):
                    found = other
        new[node] = found
        carry_names(graph, node, found)
        if uses[node] == 1 and (found is node or found not in uses):
            private.add(found)
    return [new[root] for root in roots]


def _may_factor(node: Sum) -> bool:
    few = len(node.terms) <= FACTORED_TERMS
    return few and not all(map(_is_entrywise, node.terms))


def _is_entrywise(term: Term) -> bool:
    """Whether each entry of a term is made of single entries, as far as one can see."""
    node = term.node
    return not isinstance(node, Product) or is_elementwise(node)
