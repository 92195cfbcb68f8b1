"""Series of products, and of products with inverses, which are solutions."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations
from typing import Any

from tensorgen.calculus.series_rules import At, Known, summed
from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Call, Constraint, Node, Product, Ref, children, is_zero

Varies = Callable[[Node], bool]


@dataclass(frozen=True)
class Parts:
    """What a product is made of; it may be no node itself."""

    dims: tuple[Dim, ...]
    factors: tuple[Ref, ...]
    coefficient: Fraction = Fraction(1)
    constraints: tuple[Constraint, ...] = ()
    sizes: Mapping[int, Dim] | None = None

    @staticmethod
    def of(node: Product) -> Parts:
        """Return the parts of a node."""
        sizes = dict(enumerate(node.sizes))
        return Parts(node.dims, node.factors, node.coefficient, node.constraints, sizes)

    def read(self, rest: Sequence[Ref]) -> set[int]:
        """The labels that the result, constraints and some factors have."""
        tied = [x for c in self.constraints for x in c.form.labels]
        return {*range(len(self.dims)), *tied, *(x for r in rest for x in r.labels)}

    def build(self, graph: Graph, factors: Sequence[Ref]) -> Node:
        """Return the product of other factors by the same labels."""
        known = {**dict(enumerate(self.dims)), **(self.sizes or {})}
        used = self.read(factors)
        return graph.product(
            range(len(self.dims)),
            factors,
            coefficient=self.coefficient,
            constraints=self.constraints,
            sizes={x: known[x] for x in sorted(used) if x in known},
        )


def by_pairs(graph: Graph, parts: Parts, varies: Varies) -> Parts:
    """Return a product with two factors that vary at most, others multiplied before.

    Two at a time, those whose product is the smallest: so an order takes a sum for each
    pair, where all factors at once would take one over all ways to share the order.
    """
    factors = list(parts.factors)
    while True:
        moving = [k for k, ref in enumerate(factors) if varies(ref.node)]
        if len(moving) <= 2:
            return replace(parts, factors=tuple(factors))
        best: tuple[list[int], list[Ref], list[Ref]] | None = None
        for pair in combinations(moving, 2):
            both = [factors[k] for k in pair]
            rest = [ref for k, ref in enumerate(factors) if k not in pair]
            read = parts.read(rest)
            labels = dict.fromkeys(x for ref in both for x in ref.labels)
            kept = [x for x in labels if x in read]
            if best is None or len(kept) < len(best[0]):
                best = kept, both, rest
        assert best is not None
        kept, both, rest = best
        factors = [*rest, Ref(graph.product(kept, both), tuple(kept))]


class Convolution:
    """A product of which one or two factors vary: a sum over pairs of orders."""

    def __init__(self, series: Known, parts: Parts) -> None:
        self.series = series
        self.parts = parts
        found = [k for k, ref in enumerate(parts.factors) if series.varies(ref.node)]
        self.varying = found[0], found[-1]

    def needs(self, j: int) -> list[At]:
        """Return all coefficients of both up to the order."""
        first, second = (self.parts.factors[k].node for k in self.varying)
        orders = range(j + 1) if self.varying[0] != self.varying[1] else [j]
        return [*((first, i) for i in orders), *((second, i) for i in orders)]

    def at(self, j: int) -> Node:
        """Return the sum of products whose orders add up to `j`."""
        first, second = self.varying
        known, factors = self.series.known, list(self.parts.factors)
        terms = []
        for i in range(j + 1) if first != second else [j]:
            for k, order in ((second, j - i), (first, i)):
                own = self.parts.factors[k]
                factors[k] = Ref(known(own.node, order), own.labels)
            if not any(is_zero(factors[k].node) for k in self.varying):
                terms.append((1, self.parts.build(self.series.graph, factors)))
        return summed(self.series.graph, self.parts.dims, terms)


@dataclass(frozen=True)
class Solved:
    """The factors of a product that are solved for: `inverse` along its label `side`.

    What stands `behind` it is the right side. The result has the labels `out`.
    """

    inverse: Ref
    side: int
    kept: int
    behind: tuple[Ref, ...]
    rest: tuple[Ref, ...]
    out: tuple[int, ...]


def solved(parts: Parts, varies: Varies) -> Solved | None:
    """Return what is solved for in a product, if an inverse is multiplied so."""
    for k, inverse in enumerate(parts.factors):
        matrix, labels = inverse
        is_inverse = isinstance(matrix, Call) and matrix.operator == "inv"
        if not (is_inverse and varies(matrix)):
            continue
        *batch, row, column = labels
        others = [ref for n, ref in enumerate(parts.factors) if n != k]
        for side, kept in ((column, row), (row, column)):
            behind = tuple(ref for ref in others if side in ref.labels)
            rest = tuple(ref for ref in others if side not in ref.labels)
            seen, read = {x for ref in behind for x in ref.labels}, parts.read(rest)
            if not behind or kept in seen or side in read:
                continue
            out = tuple(sorted({*batch, kept, *(seen & read)}))
            if len(out) <= matrix.order or not rest:
                return Solved(inverse, side, kept, behind, rest, out)
    return None


def with_solutions(graph: Graph, parts: Parts, varies: Varies) -> Parts:
    """Return a product with solutions for factors, in place of inverses."""
    while (found := solved(parts, varies)) is not None:
        joined = graph.product(found.out, [found.inverse, *found.behind])
        parts = replace(parts, factors=(*found.rest, Ref(joined, found.out)))
    return parts


class Solution:
    """P = inv(A) @ R, or inv(A).T @ R, of which A_0 P_j = R_j - sum_i A_i P_(j - i).

    The series of the inverse itself is never made.
    """

    def __init__(self, series: Known, node: Product, own: Solved) -> None:
        """Multiply what is the right side, by the labels of the product."""
        self.series = series
        self.node = node
        self.own = own
        (self.matrix,) = children(own.inverse.node)
        # The right side has the other side of the matrix in place of one of its own.
        axes = range(node.order)
        self.labels = tuple(own.side if a == own.kept else a for a in axes)
        self.sizes: dict[Any, Dim] = dict(zip(self.labels, node.dims, strict=True))
        self.right = series.graph.product(
            self.labels, own.behind, coefficient=node.coefficient, sizes=self.sizes
        )

    @staticmethod
    def of(series: Known, node: Product) -> Solution | None:
        """Return the rule of a product that is such a one as a whole."""
        own = solved(Parts.of(node), series.varies)
        if own is None or own.rest or node.constraints:
            return None
        return Solution(series, node, own) if len(own.out) == node.order else None

    def needs(self, j: int) -> list[At]:
        """Return those of the matrix and the right side, and the lower ones."""
        lower = [(self.node, i) for i in range(j)]
        first = (self.own.inverse.node, 0), (self.right, j)
        return [*first, *((self.matrix, i) for i in range(1, j + 1)), *lower]

    def at(self, j: int) -> Node:
        """Return what is left of the right side, solved with the matrix."""
        graph, known, (inverse, labels) = (
            self.series.graph,
            self.series.known,
            self.own.inverse,
        )
        out = self.labels
        right = known(self.right, j)
        terms: list[tuple[int, Node, Sequence[Hashable]]] = []
        if not is_zero(right):
            terms.append((1, right, out))
        # A is the inverse of its inverse: its rows have the label of columns.
        *batch, _, column = labels
        sides = (
            (self.own.side, "m") if self.own.side == column else ("m", self.own.side)
        )
        moved = tuple("m" if x == self.own.side else x for x in out)
        for i in range(1, j + 1):
            pair = known(self.matrix, i), known(self.node, j - i)
            if not any(map(is_zero, pair)):
                factors = zip(pair, ((*batch, *sides), moved), strict=True)
                terms.append((-1, graph.product(out, factors, sizes=self.sizes), out))
        total = graph.sum(out, terms, self.sizes)
        axes = range(self.node.order)
        return graph.product(axes, [(known(inverse, 0), labels), (total, out)])
