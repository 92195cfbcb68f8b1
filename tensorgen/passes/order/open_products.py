"""Open: a product of products is one n-ary product, whose order is free."""

from __future__ import annotations

from tensorgen.ir.nodes import Node, Product
from tensorgen.ir.views import opened
from tensorgen.passes.rounds import Round
from tensorgen.prices.limits import OPENED_FACTORS


def open_products(known: Round, node: Node) -> Node:
    """Return a product with factors inlined that nobody else needs as they are."""
    if not isinstance(node, Product):
        return node
    count = len(node.factors)
    chosen = []
    for k, (factor, _) in enumerate(node.factors):
        if known.opens_in(node, factor) and isinstance(factor, Product):
            count += len(factor.factors) - 1
            if count > OPENED_FACTORS:
                break
            chosen.append(k)
    return opened(known.context.graph, node, chosen) if chosen else node
