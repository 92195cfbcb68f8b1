"""Comparisons of positions along axes: the deltas and indicators that these are."""

from __future__ import annotations

from typing import TypeGuard

from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import (
    Affine,
    Constraint,
    Iota,
    Map,
    Node,
    Product,
    Ref,
    Size,
    Sum,
    affine,
    constant_value,
)


def of_positions(graph: Graph, node: Node) -> Node:
    """Return a comparison as an indicator, if it is one of positions alone.

    So `where(arange(n)[:, None] >= arange(n), ...)` says what `i >= j` does. Positions
    are affine in those along axes: `2*arange(n) + 1`. Any other node is returned as it
    is.
    """
    if not isinstance(node, Map) or len(node.args) != 2:
        return node
    first, second = (_position(ref) for ref in node.args)
    if first is None or second is None or not (first - second).terms:
        return node
    match node.function:
        case "less":
            holds = Constraint("ge", second - first - 1)
        case "less_equal":
            holds = Constraint("ge", second - first)
        case "greater":
            holds = Constraint("ge", first - second - 1)
        case "greater_equal":
            holds = Constraint("ge", first - second)
        case "equal":
            holds = Constraint("eq", first - second)
        case _:
            return node
    sizes = dict(enumerate(node.dims))
    return graph.product(range(node.order), [], constraints=[holds], sizes=sizes)


def is_indicator(node: Node) -> TypeGuard[Product]:
    """Whether a node is 1 where places are as constraints say, and 0 elsewhere."""
    return (
        isinstance(node, Product)
        and bool(node.constraints)
        and not (node.factors or node.inner)
        and node.coefficient == 1
    )


def _position(ref: Ref) -> Affine | None:
    """What an array is as an affine form of its labels, if it is one."""
    match ref.node:
        case Iota():
            return affine([(ref.labels[0], 1)])
        case Size(value=value):
            return affine([], value)
        case Sum(terms=terms):
            parts = [(term.coefficient, term.ref.under(ref)) for term in terms]
        case Product(factors=[factor], inner=(), constraints=()):
            parts = [(ref.node.coefficient, factor.under(ref))]
        case _:
            number = constant_value(ref.node)
            if number is None or number.denominator != 1:
                return None
            return affine([], int(number))
    found = affine([])
    for coefficient, part in parts:
        own = _position(part)
        if own is None or coefficient.denominator != 1:
            return None
        found += own.scaled(int(coefficient))
    return found
