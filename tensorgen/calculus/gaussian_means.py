"""Means of polynomials in what is normally distributed.

For x normal about m with covariance S, and L = 1/2 sum_ij S_ij d_i d_j,

    E p(x) = exp(L) p (m) = p(m) + (L p)(m) + (L L p)(m) / 2 + ...

which ends for a polynomial, since each L takes two from its degree. (Stein's lemma,
E (x - m)_i g(x) = sum_j S_ij E d_j g(x), gives it order by order, and so does Isserlis'
theorem, whose pairings are the contractions with S.)
"""

from __future__ import annotations

from fractions import Fraction

from tensorgen.calculus.derive import jacobian
from tensorgen.calculus.forward import tangent_of
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import (
    Call,
    Map,
    Node,
    Product,
    Sum,
    children,
    constant_value,
    is_zero,
    topological,
)
from tensorgen.ir.rebuild import rebuild
from tensorgen.operators.conditions.bounds import is_polynomial
from tensorgen.operators.defined_calls import is_defined, written_out

HIGHEST = 16
"""The highest degree of a polynomial that a mean is taken of."""


class NoPolynomial(Exception):
    """What depends on the variable in another way; `node` is where that begins."""

    def __init__(self, node: Node, degree: int | None = None) -> None:
        super().__init__()
        self.node = node
        self.degree = degree


def gaussian_mean(graph: Graph, node: Node, x: Node, covariance: Node) -> Node:
    """Return the mean of a node, a polynomial in x, which is normal about its value.

    A `covariance` has the dims of x twice; one that has them once is of independent
    entries, their variances. Raises `NoPolynomial`.
    """
    node = _written_out(graph, node)
    degree = _Degrees(graph, x).degree(node)
    if degree > HIGHEST:
        raise NoPolynomial(node, degree)
    # It may depend on x, and is no part of the polynomial.
    spread = graph.fresh(covariance.dims, (), None)
    terms, term = [node], node
    for k in range(1, degree // 2 + 1):
        term = graph.scale(_spread(graph, term, x, spread), Fraction(1, 2 * k))
        if is_zero(term):
            break
        terms.append(term)
    axes = range(node.order)
    whole = graph.sum(axes, [(1, one, axes) for one in terms])
    known: dict[Node, Node] = {spread: covariance}
    return rebuild(graph, [whole], lambda node: node, known, anew=False)[0]


def _written_out(graph: Graph, node: Node) -> Node:
    """A node without calls of definitions, which may be polynomials in x."""
    while any(map(is_defined, topological([node]))):
        (node,) = rebuild(
            graph, [node], lambda x: written_out(graph, x) if is_defined(x) else x
        )
    return node


def _spread(graph: Graph, node: Node, x: Node, covariance: Node) -> Node:
    """The second derivative of a node, contracted with a covariance."""
    (first,) = jacobian(graph, node, [x], "forward" if node.order else "reverse")
    (second,) = jacobian(graph, first, [x], "forward")
    axes, rows = range(node.order), range(node.order, node.order + x.order)
    columns = range(rows.stop, rows.stop + x.order)
    if covariance.order == x.order:
        columns = rows
    by = (*rows, *columns)[: covariance.order]
    pair = [(second, (*axes, *rows, *columns)), (covariance, by)]
    return graph.product(axes, pair)


class _Degrees:
    """Of which degree nodes are at most as polynomials in x."""

    def __init__(self, graph: Graph, x: Node) -> None:
        self.graph = graph
        self.x = x
        self.known = {x: 1}

    def degree(self, node: Node) -> int:
        """Return a bound of the degree; raises `NoPolynomial`."""
        for one in topological([node], self.known):
            self.known[one] = self._degree(one)
        return self.known[node]

    def _degree(self, node: Node) -> int:
        below = [self.known[child] for child in children(node)]
        if not any(below):
            return 0
        match node:
            case Product():
                return sum(below)
            case Sum():
                return max(below)
            case Map() if is_polynomial(node):
                exponent = constant_value(node.args[1].node)
                assert exponent is not None
                return below[0] * int(exponent)
            case Map(function="where") if not below[0]:
                return max(below)
            case Map() | Call() if self._is_linear(node):
                return max(below)
        raise NoPolynomial(node)

    def _is_linear(self, node: Map | Call) -> bool:
        """Whether a tangent reads tangents, and nothing else that depends on x."""
        varying = [x for x in dict.fromkeys(children(node)) if self.known[x]]
        dots = {x: self.graph.fresh(x.dims, (), None) for x in varying}
        tangent = tangent_of(self.graph, node, dots, (), {})
        if tangent is None or is_zero(tangent):
            return False
        read = {*topological([tangent])}
        return read.isdisjoint([*varying, node]) and read >= {*dots.values()}
