"""Use named: what the user named is computed, not what it is a multiple or inverse of.

    a = 0.1 * f(x):  0.1 * (1 - m) * f(x) + 0.2 * f(x) * dm = (1 - m) * a + 2 * a * dm
    s = exp(t):      r * exp(-t) = r / s

Numbers of products move outside when these are made, and powers of exponentials into
the exponent, so that nothing is left of a named value but what it is made of.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import (
    Input,
    Map,
    Node,
    Product,
    Sum,
    children,
    constant_value,
    topological,
)
from tensorgen.ir.rebuild import renew
from tensorgen.passes.context import Context


def use_named(context: Context, roots: Sequence[Node]) -> list[Node]:
    """Return `roots` with named values in the place of what they are made of.

    Not where more numbers would be left than there are, nor of what a contraction
    reads, which takes it apart. Ends: each value is tried once.
    """
    graph, current = context.graph, list(roots)
    named = _exponentials(graph)
    for node in topological(roots) if graph.multiples or named else ():
        found = _inverse(graph, node, named) or _multiple(graph, node)
        if found is None or _is_taken_apart(node, current):
            continue
        with graph.without_rewrites():
            other = _with(graph, current, node, found)
        if _numbers(other) <= _numbers(current):
            current = other
    return current


def _with(graph: Graph, roots: Sequence[Node], node: Node, found: Node) -> list[Node]:
    def visit(old: Node, own: Node) -> Node:
        if old is node:
            return found
        changed = own is not old and old not in graph.names
        return _freed(graph, own) if changed and isinstance(own, Sum) else own

    return renew(graph, roots, visit)


def _freed(graph: Graph, node: Sum) -> Node:
    """A sum with a number outside that stands before most of its terms."""
    sizes = Counter(abs(term.coefficient) for term in node.terms)
    if 1 in sizes:
        return node
    common = max(sizes, key=lambda size: (sizes[size], size))
    axes = range(node.order)
    terms = [(x.coefficient / common, x.node, x.labels) for x in node.terms]
    whole = graph.sum(axes, terms, dict(enumerate(node.dims)))
    return graph.scale(whole, common)


def _multiple(graph: Graph, node: Node) -> Node | None:
    """What the user named, times a number, where it is a multiple of a node."""
    if node not in graph.multiples or isinstance(node, Input) or node in graph.names:
        return None
    number, name = graph.multiples[node]
    axes = range(node.order)
    whole = graph.map("multiple", axes, [(graph.scale(node, number), axes)])
    graph.names.setdefault(whole, name)
    return graph.scale(whole, 1 / number)


def _exponentials(graph: Graph) -> dict[Node, tuple[Fraction, Node]]:
    """Named exponentials by their exponents, without the numbers of these."""
    found: dict[Node, tuple[Fraction, Node]] = {}
    for node in graph.names:
        if isinstance(node, Map) and node.function == "exp":
            number, core = _scaled(graph, node.args[0].node)
            found.setdefault(core, (number, node))
    return found


def _inverse(
    graph: Graph, node: Node, named: dict[Node, tuple[Fraction, Node]]
) -> Node | None:
    """One over a named exponential, where a node is that."""
    match node:
        case Map(function="exp", args=((inner, labels),)) if node not in graph.names:
            number, core = _scaled(graph, inner)
            own, base = named.get(core, (Fraction(0), node))
            plain = isinstance(base, Map) and base.args[0].labels == labels
            if own != -number or not plain:
                return None
            axes = range(node.order)
            power = graph.constant(-1)
            with graph.without_rewrites():
                return graph.map("pow", axes, [(base, axes), (power, ())])
    return None


def _scaled(graph: Graph, node: Node) -> tuple[Fraction, Node]:
    """The number of a product, and what is left of it."""
    if isinstance(node, Product) and constant_value(node) is None:
        core = graph.scale(node, 1 / node.coefficient)
        return node.coefficient, core
    return Fraction(1), node


def _is_taken_apart(node: Node, roots: Sequence[Node]) -> bool:
    """Whether a node is a root, or a contraction reads it."""
    users = (x for x in topological(roots) if node in children(x))
    contracted = any(isinstance(x, Product) and _contracts(x) for x in users)
    return node in roots or contracted


def _contracts(node: Product) -> bool:
    """Whether a product adds up more than the one place that a delta says."""
    deltas = sum(one.kind == "eq" for one in node.constraints)
    return len(node.inner) > deltas


def _numbers(roots: Sequence[Node]) -> int:
    """How many numbers stand before factors and terms."""
    found = 0
    for node in topological(roots):
        match node:
            case Product(factors=[_, *_]):
                found += abs(node.coefficient) != 1
            case Sum(terms=terms):
                found += sum(abs(x.coefficient) != 1 for x in terms)
    return found
