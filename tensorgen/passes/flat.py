"""What a node is with products of products opened, and sums of sums.

Nodes of one flat pattern have equal values, however their factors are grouped: up to
the order of axes, and to a number.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import (
    Map,
    Node,
    Product,
    Sum,
    Term,
    children,
    once,
    topological,
    unknown,
)
from tensorgen.ir.patterns import Pattern, pattern_of
from tensorgen.ir.rebuild import merged, with_operands
from tensorgen.ir.views import opened
from tensorgen.prices.limits import OPENED_FACTORS


def alike(nodes: Sequence[Node]) -> dict[int, list[Node]]:
    """Return products and sums that may be of one flat pattern, by a number."""
    for node in topological([x for x in nodes if flat_number not in x.known]):
        flat_number(node)  # operands first: no call goes deep
    found: dict[int, list[Node]] = {}
    for node in nodes:
        if isinstance(node, Product | Sum):
            found.setdefault(flat_number(node), []).append(node)
    return found


def flat_number(node: Node) -> int:
    """A number that nodes share which only labels and the order of operands tell apart.

    Multiples have the same one, too.
    """
    return once(node, flat_number, lambda: _counted(node))


def _counted(node: Node) -> int:
    match node:
        case Product(factors=factors, constraints=constraints):
            return len(constraints) + sum(flat_number(ref.node) for ref in factors)
        case Sum(terms=terms):
            parts = [*_coefficients(terms, Fraction(1))]
            times = _times(parts)
            return sum(hash((own / times, number)) for number, own in parts)
        case Map(function=function, args=args):
            return hash((function, *(flat_number(ref.node) for ref in args)))
        case _:
            return hash(("leaf", node.serial))


def _coefficients(
    terms: Sequence[Term], times: Fraction
) -> Iterator[tuple[int, Fraction]]:
    """What a sum has its terms times, those of sums within by their numbers."""
    for term in terms:
        own, node = times * term.coefficient, term.node
        if isinstance(node, Sum):
            yield from _coefficients(node.terms, own)
        else:
            own *= node.coefficient if isinstance(node, Product) else 1
            yield flat_number(node), own


def _times(terms: Sequence[tuple[int, Fraction]]) -> Fraction:
    """How many times a sum has one whose largest coefficient is 1, whatever its order.

    Where coefficients cancel, the sign is that of the first by the numbers of terms.
    """
    whole = sum(times for _, times in terms)
    if not whole:
        number = min(number for number, _ in terms)
        whole = sum(times for own, times in terms if own == number)
    largest = max(abs(times) for _, times in terms)
    return largest * (-1 if whole < 0 else 1) if largest else Fraction(1)


def flat_pattern(graph: Graph, node: Node) -> tuple[Pattern | Node, Fraction]:
    """Return what multiples of a node have in common, and how many times it has that.

    The node itself is returned where it is no product or sum when opened.
    """
    return once(node, flat_pattern, lambda: _of_flat(graph, flat(graph, node)))


def _of_flat(graph: Graph, node: Node) -> tuple[Pattern | Node, Fraction]:
    if isinstance(node, Product):
        return pattern_of(node), node.coefficient or Fraction(1)
    if isinstance(node, Sum):
        times = _times([*_coefficients(node.terms, Fraction(1))])
        terms = [(c / times, x, labels) for c, x, labels in node.terms]
        with graph.without_rewrites():
            axes, sizes = range(node.order), dict(enumerate(node.dims))
            found = graph.sum(axes, terms, sizes)
        assert isinstance(found, Product | Sum)
        return pattern_of(found), times
    return node, Fraction(1)


def flat(graph: Graph, root: Node) -> Node:
    """A node with products of products as one, and sums of sums."""
    with graph.without_rewrites():
        for node in unknown(flat, root):
            new = {x: x.known[flat] for x in children(node)}
            node.known[flat] = _opened(graph, with_operands(graph, node, new))
    found: Node = root.known[flat]
    return found


def _opened(graph: Graph, node: Node) -> Node:
    if isinstance(node, Sum):
        return merged(graph, node, lambda inner: True)
    if not isinstance(node, Product):
        return node
    count, chosen = len(node.factors), list[int]()
    for k, (factor, _) in enumerate(node.factors):
        if isinstance(factor, Product) and factor.factors:
            count += len(factor.factors) - 1
            if count > OPENED_FACTORS:
                return node
            chosen.append(k)
    return opened(graph, node, chosen) if chosen else node
