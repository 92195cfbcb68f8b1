"""Rules by which coefficients follow from others where the tangent says it longer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Protocol

from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Call, Map, Node, Ref, Sum, is_zero
from tensorgen.operators.scalar import power
from tensorgen.operators.table import Coefficient

At = tuple[Node, int]
"""A coefficient: of which node, and of which order."""


class Known(Protocol):
    """The series of nodes, as rules see them."""

    graph: Graph
    order: int

    def varies(self, node: Node) -> bool:
        """Whether a node has coefficients above the first."""

    def known(self, node: Node, j: int) -> Node:
        """Return a coefficient that has been found."""


class Rule(Protocol):
    """How the coefficients of one node from 1 on follow from others."""

    def needs(self, j: int) -> list[At]:
        """Return the coefficients that the one of order `j` is made of."""

    def at(self, j: int) -> Node:
        """Return the coefficient of order `j`."""


def summed(
    graph: Graph, dims: Sequence[Dim], terms: Iterable[tuple[int | Fraction, Node]]
) -> Node:
    """Return the sum of multiples of nodes of one shape."""
    axes = range(len(dims))
    return graph.sum(axes, [(c, x, axes) for c, x in terms], dict(enumerate(dims)))


def divided(graph: Graph, node: Node, number: int) -> Node:
    """Return a node over a number; of a sum, the terms are divided."""
    if not isinstance(node, Sum):
        return graph.scale(node, Fraction(1, number))
    terms = [(t.coefficient / number, t.node, t.labels) for t in node.terms]
    return graph.sum(range(node.order), terms)


class Power:
    """y = u**r, of which u * y' = r * u' * y."""

    def __init__(self, series: Known, node: Map, base: Ref, exponent: Fraction):
        self.series = series
        self.node = node
        self.base = base
        self.exponent = exponent

    def needs(self, j: int) -> list[At]:
        """Return those of the base, and the lower ones."""
        powers = [(self.node, i) for i in range(j)]
        return [*((self.base.node, i) for i in range(j + 1)), *powers]

    def at(self, j: int) -> Node:
        """Return the sum over lower orders, divided by the base."""
        graph, node, (base, labels) = self.series.graph, self.node, self.base
        axes, sizes = tuple(range(node.order)), dict(enumerate(node.dims))
        terms = []
        for i in range(1, j + 1):
            u, y = self.series.known(base, i), self.series.known(node, j - i)
            weight = (self.exponent * i - (j - i)) / j
            if weight and not (is_zero(u) or is_zero(y)):
                term = graph.product(axes, [(u, labels), (y, axes)], sizes=sizes)
                terms.append((weight, term))
        total = summed(graph, node.dims, terms)
        inverse = power(graph, Ref(self.series.known(base, 0), labels), -1)
        return graph.product(axes, [(total, axes), inverse], sizes=sizes)


class ByRow:
    """A function of matrices, whose row of the table has a rule for coefficients."""

    def __init__(self, series: Known, node: Call, row: Coefficient) -> None:
        self.series = series
        self.node = node
        self.row = row

    def needs(self, j: int) -> list[At]:
        """Return those of the argument, and the lower ones."""
        (x,) = self.node.args
        return [*((x, i) for i in range(j + 1)), *((self.node, i) for i in range(j))]

    def at(self, j: int) -> Node:
        """Return what the row makes of these."""
        (x,), known = self.node.args, self.series.known
        lower = [known(self.node, i) for i in range(j)]
        return self.row(self.series.graph, [known(x, i) for i in range(j + 1)], lower)
