"""Turn signs: a difference that nobody reads but for its negative is the other one.

    sigmoid(-(a - b)) = sigmoid(b - a),    c - 2 * (a - b)**2 stays as it is

Who reads it in a product with a negative coefficient, or subtracts it, has a sign less;
squares and even functions see no difference.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tensorgen.ir.nodes import (
    Map,
    Node,
    Product,
    Sum,
    children,
    constant_value,
    topological,
)
from tensorgen.ir.rebuild import rebuild
from tensorgen.operators.elementwise import ELEMENTWISE
from tensorgen.passes.context import Context


def turn_signs(context: Context, roots: Sequence[Node]) -> list[Node]:
    """Return `roots` where differences are read with a minus less.

    What has a name says what it is, and stays. Ends: each sum is looked at once.
    """
    graph = context.graph
    signs: dict[Node, set[int]] = {}
    for node in topological(roots):
        for operand, sign in _readings(node):
            if isinstance(operand, Sum):
                signs.setdefault(operand, set()).add(sign)
    kept = {*roots, *graph.names, *graph.suggestions}
    chosen = {
        node
        for node, wanted in signs.items()
        if -1 in wanted and 1 not in wanted and node not in kept
        if isinstance(node, Sum) and any(x.coefficient < 0 for x in node.terms)
    }
    if not chosen:
        return list(roots)

    def turned(node: Node) -> Node:
        if node not in chosen or not isinstance(node, Sum):
            return node
        axes, sizes = range(node.order), dict(enumerate(node.dims))
        terms = [(-x.coefficient, x.node, x.labels) for x in node.terms]
        other = graph.sum(axes, terms, sizes)
        return graph.product(axes, [(other, axes)], coefficient=-1)

    return rebuild(graph, roots, turned)


def _readings(node: Node) -> Iterator[tuple[Node, int]]:
    """What a node reads, and whether a sign of it counts: 1, -1, or 0 if none does."""
    match node:
        case Product(factors=factors, coefficient=coefficient):
            nodes = [ref.node for ref in factors]
            sign = 1 if coefficient > 0 else -1
            yield from ((x, sign * (nodes.count(x) % 2)) for x in nodes)
        case Sum(terms=terms):
            yield from ((x.node, 1 if x.coefficient > 0 else -1) for x in terms)
        case Map(function="pow", args=(base, exponent)):
            power = constant_value(exponent.node)
            yield base.node, 0 if power is not None and power % 2 == 0 else 1
            yield exponent.node, 1
        case Map(function=function, args=args):
            sign = 0 if ELEMENTWISE[function].has("even") else 1
            yield from ((ref.node, sign) for ref in args)
        case _:
            yield from ((operand, 1) for operand in children(node))
