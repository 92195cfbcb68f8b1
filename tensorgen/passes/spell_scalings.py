"""Spell out: a contraction sees what its factors scale, where it alone needs them."""

from __future__ import annotations

from tensorgen.ir.nodes import Call, Node, Product
from tensorgen.ir.rebuild import with_operands
from tensorgen.operators.calls import OPERATORS, expansion
from tensorgen.passes.rounds import Round


def spell_scalings(known: Round, node: Node) -> Node:
    """Return `sum_k unit(A)[i, k] * b[k]` as `A @ b` over norms, without a scaled A."""
    if not (isinstance(node, Product) and node.inner):
        return node
    graph = known.context.graph
    new = {factor: factor for factor, _ in node.factors}
    for factor in new:
        if factor in known.private and _scales(factor):
            new[factor] = expansion(graph, factor) or factor
            known.private.add(new[factor])
    return with_operands(graph, node, new)


def _scales(node: Node) -> bool:
    return isinstance(node, Call) and OPERATORS[node.operator].scales
