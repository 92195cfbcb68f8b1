"""Names of derivatives, for what has become of them.

    d_pooled = u * y, d_attention = H @ d_pooled   ->   (H @ u) * y is d_attention too

The order of a product is searched for anew, so that the node which the calculus made,
and called after what it is a derivative of, is in no plan. What has its value is: the
same factors, however they are grouped.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from fractions import Fraction

from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Map, Node, Product, Sum, children, once, topological
from tensorgen.ir.patterns import pattern_of
from tensorgen.ir.rebuild import merged, with_operands
from tensorgen.operators.words import fits, negated
from tensorgen.passes.context import Context
from tensorgen.passes.views import opened
from tensorgen.prices.limits import OPENED_FACTORS


def recall_names(context: Context, roots: Sequence[Node]) -> Sequence[Node]:
    """Call nodes below `roots` what nodes of equal values are called; return `roots`.

    Their negatives are called so.

    Ends: nothing is made but names.
    """
    graph = context.graph
    called = {**graph.derived, **graph.suggestions}
    for node in topological([x for x in called if _number not in x.known]):
        _number(node)  # operands first: no call goes deep
    alike: dict[int, list[Node]] = {}
    for node in called:
        if isinstance(node, Product | Sum):
            alike.setdefault(_number(node), []).append(node)
    for node in topological(roots) if alike else ():
        others = alike.get(_number(node), ())
        if others and node not in graph.names and node not in called:
            key, scale = _key(graph, node)
            for other in others:
                same, own = _key(graph, other)
                word = called[other] if scale == own else negated(called[other])
                if key == same and abs(scale) == abs(own) and fits(word):
                    graph.derived.setdefault(node, word)
                    break
    return roots


def _number(node: Node) -> int:
    """A number that nodes share which only labels and the order of operands tell apart.

    Multiples have the same one, too.
    """
    return once(node, _number, lambda: _counted(node))


def _counted(node: Node) -> int:
    match node:
        case Product(factors=factors, constraints=constraints):
            return len(constraints) + sum(_number(ref.node) for ref in factors)
        case Sum(terms=terms):
            return sum(_of_term(x.node, x.coefficient) for x in terms)
        case Map(function=function, args=args):
            return hash((function, *(_number(ref.node) for ref in args)))
        case _:
            return hash(("leaf", node.serial))


def _of_term(node: Node, times: Fraction) -> int:
    if isinstance(node, Sum):
        return sum(_of_term(x.node, times * x.coefficient) for x in node.terms)
    if isinstance(node, Product):
        times *= node.coefficient
    return hash((times, _number(node)))


def _key(graph: Graph, node: Node) -> tuple[Hashable, Fraction]:
    """What multiples of a node have in common, in any order of axes, and its own."""
    return once(node, _key, lambda: _of_flat(_flat(graph, node)))


def _of_flat(flat: Node) -> tuple[Hashable, Fraction]:
    if not isinstance(flat, Product | Sum):
        return flat, Fraction(1)
    scale = flat.coefficient if isinstance(flat, Product) else Fraction(1)
    return pattern_of(flat).key, scale or Fraction(1)


def _flat(graph: Graph, root: Node) -> Node:
    """A node with products of products as one, and sums of sums."""
    with graph.without_rewrites():
        for node in topological([root]):
            if _flat not in node.known:
                new = {x: x.known[_flat] for x in children(node)}
                node.known[_flat] = _opened(graph, with_operands(graph, node, new))
    found: Node = root.known[_flat]
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
