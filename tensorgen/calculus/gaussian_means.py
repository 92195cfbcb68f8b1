"""Means of polynomials in what is normally distributed.

For x normal about m with covariance S, and L = 1/2 sum_ij S_ij d_i d_j,

    E p(x) = exp(L) p (m) = p(m) + (L p)(m) + (L L p)(m) / 2 + ...

which ends for a polynomial, since each L takes two from its degree. (Stein's lemma,
E (x - m)_i g(x) = sum_j S_ij E d_j g(x), gives it order by order, and so does the
theorem of Isserlis, whose pairings are the contractions with S.) Of two factors with
the means P and Q that is

    E p q = P Q + <dP, S dQ> + <ddP, S S ddQ> / 2 + ...

where derivatives are by m: so a variance, of which P and Q are 0, is a sum of terms of
which none cancels.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from math import factorial

from tensorgen.calculus.derive import Direction, jacobian
from tensorgen.calculus.forward import tangent_of
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import (
    Call,
    Label,
    Map,
    Node,
    Product,
    Ref,
    Sum,
    children,
    constant_value,
    is_zero,
    topological,
)
from tensorgen.ir.rebuild import rebuild, sizes_of, with_operands
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
    degrees = _Degrees(graph, x)
    degree = degrees.degree(node)
    if degree > HIGHEST:
        raise NoPolynomial(node, degree)
    # It may depend on x, and is no part of the polynomial.
    spread = graph.fresh(covariance.dims, (), None)
    found = _Means(graph, x, spread, degrees.known).mean(node)
    known: dict[Node, Node] = {spread: covariance}
    return rebuild(graph, [found], lambda node: node, known, anew=False)[0]


def _written_out(graph: Graph, node: Node) -> Node:
    """A node without calls of definitions, which may be polynomials in x."""
    while any(map(is_defined, topological([node]))):
        (node,) = rebuild(
            graph, [node], lambda x: written_out(graph, x) if is_defined(x) else x
        )
    return node


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


class _Means:
    """The means of nodes, polynomials in x of known degrees."""

    def __init__(
        self, graph: Graph, x: Node, covariance: Node, degrees: Mapping[Node, int]
    ) -> None:
        self.graph = graph
        self.x = x
        self.covariance = covariance
        self.degrees = degrees
        self.known: dict[Node, Node] = {}

    def mean(self, node: Node) -> Node:
        """Return the mean of a node."""
        for one in topological([node]):
            self.known[one] = self._mean(one)
        return self.known[node]

    def _mean(self, node: Node) -> Node:
        if self.degrees[node] <= 1:
            return node
        below = [self.degrees[child] for child in children(node) if self.degrees[child]]
        match node:
            case Product() if len(below) > 1:
                if max(below) == 1:
                    return self._by_degree(node)
                fixed = [ref for ref in node.factors if not self.degrees[ref.node]]
                varying = [ref for ref in node.factors if self.degrees[ref.node]]
                return self._of_product(node, varying, fixed)
            case Map() if is_polynomial(node):
                if below == [1]:
                    return self._by_degree(node)
                count = self.degrees[node] // below[0]
                return self._of_product(node, [node.args[0]] * count, [])
        # Linear in what varies.
        return with_operands(self.graph, node, self.known)

    def _by_degree(self, node: Node) -> Node:
        """The mean by second derivatives, each of the one before."""
        terms, term, axes = [node], node, tuple(range(node.order))
        rows, columns = self._pair(0)
        for k in range(1, self.degrees[node] // 2 + 1):
            second = self._derivative(self._derivative(term))
            pair = [(second, (*axes, *rows, *columns)), self._covariance(0)]
            term = self.graph.product(axes, pair, coefficient=Fraction(1, 2 * k))
            if is_zero(term):
                break
            terms.append(term)
        return self.graph.sum(axes, [(1, one, axes) for one in terms])

    def _of_product(
        self, node: Product | Map, varying: Sequence[Ref], fixed: Sequence[Ref]
    ) -> Node:
        """The mean of a product, or of a power, factor by factor."""
        means = [Ref(self.known[ref.node], ref.labels) for ref in varying]
        degrees = [self.degrees[ref.node] for ref in varying]
        found = means[0]
        for k, one in enumerate(means[1:-1], 1):
            out = tuple(dict.fromkeys((*found.labels, *one.labels)))
            lower = min(sum(degrees[:k]), degrees[k])
            terms = [
                (c, self.graph.product(out, refs), out)
                for c, refs in self._paired(found, one, lower)
            ]
            found = Ref(self.graph.sum(out, terms), out)
        axes = tuple(range(node.order))
        constraints = node.constraints if isinstance(node, Product) else ()
        scale = node.coefficient if isinstance(node, Product) else Fraction(1)
        lower = min(sum(degrees[:-1]), degrees[-1])
        terms = []
        for c, refs in self._paired(found, means[-1], lower):
            whole = self.graph.product(
                axes,
                [*fixed, *refs],
                coefficient=scale,
                constraints=constraints,
                sizes=sizes_of(node),
            )
            terms.append((c, whole, axes))
        return self.graph.sum(axes, terms)

    def _paired(
        self, one: Ref, other: Ref, degree: int
    ) -> Iterator[tuple[Fraction, list[Ref]]]:
        """Yield the terms of the mean of a product: coefficients, and factors."""
        first, second, spread = one, other, list[Ref]()
        for k in range(degree + 1):
            yield Fraction(1, factorial(k)), [first, second, *spread]
            rows, columns = self._pair(k)
            first = Ref(self._derivative(first.node), (*first.labels, *rows))
            second = Ref(self._derivative(second.node), (*second.labels, *columns))
            if is_zero(first.node) or is_zero(second.node):
                return
            spread.append(self._covariance(k))

    def _pair(self, k: int) -> tuple[tuple[Label, ...], tuple[Label, ...]]:
        """Labels of the axes that a covariance pairs, of independent entries one.

        Labels from 0 on are those of the product that it is in.
        """
        rows = [
            -1 - 2 * axis for axis in range(k * self.x.order, (k + 1) * self.x.order)
        ]
        columns = [row - 1 for row in rows]
        alone = self.covariance.order == self.x.order
        return (*rows,), (*(rows if alone else columns),)

    def _covariance(self, k: int) -> Ref:
        labels = [label for side in self._pair(k) for label in side]
        return Ref(self.covariance, (*labels[: self.covariance.order],))

    def _derivative(self, node: Node) -> Node:
        way: Direction = "forward" if node.order else "reverse"
        return jacobian(self.graph, node, [self.x], way)[0]
