"""Entries of a triangle: a selection by an indicator, written as `np.tril`."""

from __future__ import annotations

from typing import TypeGuard

from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Map, Node, Product, constant_value


def is_triangle(node: Node) -> TypeGuard[Map]:
    """Whether a node is `where(indicator, x, 0)`, over two labels or more."""
    if not isinstance(node, Map) or node.function != "where":
        return False
    mask, other = node.args[0].node, constant_value(node.args[2].node)
    if not isinstance(mask, Product) or mask.factors or other != 0:
        return False
    return [c.kind for c in mask.constraints] == ["ge"] and mask.order > 1


def triangle(graph: Graph, node: Map) -> Node:
    """The same as a product with the indicator.

    Others have it as one operand, so that the indicator stays with what it selects.
    """
    (mask, labels), chosen, _ = node.args
    assert isinstance(mask, Product)
    constraints = [c.renamed(labels.__getitem__) for c in mask.constraints]
    return graph.product(
        range(node.order),
        [chosen],
        constraints=constraints,
        sizes=dict(enumerate(node.dims)),
    )
