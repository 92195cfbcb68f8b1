"""Spell out: a contraction sees what its factors scale, where it alone needs them."""

from __future__ import annotations

from tensorgen.ir.nodes import Call, Node, Product, Sum
from tensorgen.ir.rebuild import with_operands
from tensorgen.operators.calls import OPERATORS, expansion
from tensorgen.passes.rounds import Round
from tensorgen.passes.views import grows


def spell_scalings(known: Round, node: Node) -> Node:
    """Return `sum_k unit(A)[i, k] * b[k]` as `A @ b` over norms, without a scaled A."""
    if not (isinstance(node, Product) and node.inner):
        return node
    graph = known.context.graph
    new = {factor: factor for factor, _ in node.factors}
    for factor in new:
        table = factor.order > node.order and _is_table(known, factor)
        if _scales(factor) and (factor in known.private or table):
            new[factor] = expansion(graph, factor) or factor
            known.private.add(new[factor])
    return with_operands(graph, node, new)


def _is_table(known: Round, node: Node) -> bool:
    """Whether what is scaled is larger than what it is made of."""
    return isinstance(node, Call) and _grows(known, node.args[0])


def _grows(known: Round, node: Node) -> bool:
    if isinstance(node, Product) and not node.inner:
        return any(_grows(known, ref.node) for ref in node.factors)
    return isinstance(node, Sum) and grows(node, known.context.cost)


def _scales(node: Node) -> bool:
    return isinstance(node, Call) and OPERATORS[node.operator].scales
