"""Flatten, distribute, factor: the shape in which the best order can be found.

Derivatives come as products of products along every chain. Viewed as one n-ary
product, their contraction order decides the mode of each chain (cross-country).
"""

from __future__ import annotations

from collections.abc import Sequence

from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Call, Node, Product, Sum, children, topological
from tensorgen.operators.calls import OPERATORS, expansion
from tensorgen.passes.cost import CostModel
from tensorgen.passes.factor_sums import Effort, factor_sum, pays
from tensorgen.passes.rebuild import carry_names, with_operands
from tensorgen.passes.views import (
    LIMIT,
    View,
    grows,
    is_sparse,
    opened,
    renamed,
    separated,
)

ROUNDS = 3
"""Passes over the graph; a later one sees what an earlier one has uncovered."""

TERMS = 64
"""The most terms that distributing may give."""

FAR = 0.5
"""A product moves into a difference where at most this share of the cost is left."""

MOST_TERMS = 2000
"""After so many over a whole graph nothing is distributed any more."""


def flatten_products(
    graph: Graph, roots: Sequence[Node], cost: CostModel
) -> list[Node]:
    """Return `roots` with chains of products flattened and sums rearranged."""
    current, effort = list(roots), Effort()
    for _ in range(ROUNDS):
        before, current = current, Flattening(graph, current, cost, effort).run()
        if before == current:
            break
    return current


class Flattening:
    """One round, operands first."""

    def __init__(
        self, graph: Graph, roots: Sequence[Node], cost: CostModel, effort: Effort
    ) -> None:
        """Count the uses of every node below `roots`."""
        self.graph = graph
        self.roots = roots
        self.cost = cost
        self.effort = effort
        self.order = topological(roots)
        self.uses: dict[Node, int] = dict.fromkeys(roots, 1)
        for node in self.order:
            for child in children(node):
                self.uses[child] = self.uses.get(child, 0) + 1
        self.new: dict[Node, Node] = {}
        self.private: set[Node] = set()

    def run(self) -> list[Node]:
        """Return the new roots."""
        for node in self.order:
            self.new[node] = self.visit(node)
            carry_names(self.graph, node, self.new[node])
            if node not in self.graph.names and self.uses[node] == 1:
                self.private.add(self.new[node])
        return [self.new[root] for root in self.roots]

    def visit(self, node: Node) -> Node:
        """Return a node over new operands, rearranged."""
        fresh = with_operands(self.graph, node, self.new)
        match fresh:
            case Product() if fresh.inner:
                spelled = self.spelled_out(fresh)
                return (
                    self.product(spelled) if isinstance(spelled, Product) else spelled
                )
            case Product():
                return self.product(fresh)
            case Sum():
                return self.sum(fresh)
            case _:
                return fresh

    def spelled_out(self, node: Product) -> Node:
        """A contraction over what its factors scale, where it alone needs them.

        `sum_k unit(A)[i, k] * b[k]` is `A @ b` over norms, without a scaled A.
        """
        new = {factor: factor for factor, _ in node.factors}
        for factor in new:
            if factor in self.private and _scales(factor):
                new[factor] = expansion(self.graph, factor) or factor
                self.private.add(new[factor])
        return with_operands(self.graph, node, new)

    def opens(self, node: Node) -> bool:
        """Whether a product may be looked into where it is used.

        One that is used once may, and one that is larger than its factors: what it
        is made of is worth more than sharing it. So may a mere scaling.
        """
        if not isinstance(node, Product) or node in self.graph.names:
            return False
        if node in self.private or grows(node, self.cost):
            return True
        if node.inner or node.constraints:
            return False
        return any(set(ref.labels) != set(range(node.order)) for ref in node.factors)

    def product(self, node: Product) -> Node:
        """Open factors, then distribute over a sparse sum."""
        count = len(node.factors)
        chosen = []
        for k, (factor, _) in enumerate(node.factors):
            if self.opens(factor) and isinstance(factor, Product):
                count += len(factor.factors) - 1
                if count > LIMIT:
                    break
                chosen.append(k)
        flat = opened(self.graph, node, chosen) if chosen else node
        if not isinstance(flat, Product):
            return flat
        sums = [
            (k, factor)
            for k, (factor, _) in enumerate(flat.factors)
            if isinstance(factor, Sum)
        ]
        sums.sort(key=lambda place: not is_sparse(place[1]))
        for k, factor in sums:
            if self.distributes(flat, factor):
                return self.distributed(flat, k, factor)
        for k, factor in sums:
            if self.may_distribute(flat, factor):
                apart = self.distributed(flat, k, factor)
                if pays(self.graph, flat, apart, self.cost, FAR):
                    return apart
        apart = separated(self.graph, flat)
        # `inv[i, k] * a[k] * inv[j, l] * b[l]` is as large as what it is made of, but
        # it is an outer product of two vectors.
        light = grows(flat, self.cost) or grows(apart, self.cost)
        return apart if light else flat

    def distributes(self, node: Product, factor: Sum) -> bool:
        """Whether a product moves into a sum: one of deltas, or of broadcasts.

        Must not fire on sums of plain arrays, which are cheaper added first, nor on
        a difference of arguments, which has more digits than that of their products.
        """
        if len(factor.terms) > TERMS or factor in self.graph.names:
            return False
        if self.effort.terms > MOST_TERMS:
            return False
        if is_sparse(factor):
            return len(node.factors) > 1 or bool(node.inner)
        grown = bool(node.inner) and grows(factor, self.cost)
        return grown and not _compares(factor)

    def may_distribute(self, node: Product, factor: Sum) -> bool:
        """Whether a product moves into a difference, if that is far cheaper.

        `(x[i] - x[j]) * (y[i] - y[j])` keeps its digits where all x are large and
        alike; `x[i] * y[i] - x[i] * y[j] - ...` never does. A single difference loses
        no more than its arguments have lost.
        """
        if not (node.inner and grows(factor, self.cost)):
            return False
        found = [f for f, _ in node.factors if isinstance(f, Sum) and _compares(f)]
        return found == [factor]

    def distributed(self, node: Product, place: int, factor: Sum) -> Node:
        """Return the sum of the product with each term in the factor's place."""
        labels = node.factors[place].labels
        self.effort.terms += len(factor.terms)
        terms = []
        axes = range(node.order)
        for term in factor.terms:
            view = View(node.coefficient * term.coefficient)
            view.sizes.update(enumerate(node.sizes))
            for k, (other, xs) in enumerate(node.factors):
                if k != place:
                    view.add(other, xs)
            view.constraints += renamed(node, lambda label: label)
            inside = [labels[a] for a in term.labels]
            view.add(term.node, inside, "term" if self.opens(term.node) else None)
            product = view.product(self.graph, axes)
            if isinstance(product, Product):
                product = self.product(product)
            self.private.add(product)
            terms.append((1, product, axes))
        whole = self.graph.sum(axes, terms, dict(enumerate(node.dims)))
        return self.sum(whole) if isinstance(whole, Sum) else whole

    def sum(self, node: Sum) -> Node:
        """Merge sums that are used here alone, then factor."""
        axes = range(node.order)
        terms = []
        for term in node.terms:
            inner = term.node
            if isinstance(inner, Sum) and inner in self.private:
                terms += [
                    (
                        term.coefficient * t.coefficient,
                        t.node,
                        [term.labels[a] for a in t.labels],
                    )
                    for t in inner.terms
                ]
            else:
                terms.append((term.coefficient, inner, list(term.labels)))
        flat = self.graph.sum(axes, terms, dict(enumerate(node.dims)))
        factored = factor_sum(
            self.graph, flat, self.cost, self.opens_term, effort=self.effort
        )
        if isinstance(factored, Product):
            return separated(self.graph, factored)
        return factored

    def opens_term(self, node: Node) -> bool:
        """Whether a sum may look into a term; one with a delta on one factor too."""
        if not isinstance(node, Product) or len(node.factors) != 1 or node.inner:
            return self.opens(node)
        (core, _), *_ = node.factors
        return not isinstance(core, Product) or self.opens(core)


def _compares(node: Sum) -> bool:
    """Whether a sum is a difference of arrays that broadcast."""
    return any(t.node.order < node.order for t in node.terms) and (
        len({term.coefficient > 0 for term in node.terms}) == 2 and not is_sparse(node)
    )


def _scales(node: Node) -> bool:
    return isinstance(node, Call) and OPERATORS[node.operator].scales
