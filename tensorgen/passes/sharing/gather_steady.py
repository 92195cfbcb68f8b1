"""Gather: what changes less often than the rest of a product or sum comes first.

`X.T @ (X @ d)` becomes `(X.T @ X) @ d` where X never changes, `y**2 * s * (X @ d)`
becomes `(y**2 * s) * (X @ d)` where only d does: what is gathered is computed once.

Products alone are regrouped, never distributed over sums: `X.T @ (X @ w - y)` stays,
though `(X.T @ X) @ w - X.T @ y` costs less, because that is a difference of large
numbers near a minimum and loses as many digits again as `X` has lost already.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

from tensorgen.ir.nodes import Node, Product, Sum, entries
from tensorgen.ir.patterns import pattern_of
from tensorgen.ir.rebuild import rebuild
from tensorgen.passes.context import Context
from tensorgen.passes.order.order_contractions import Contraction, best_price
from tensorgen.passes.order.search_trees import EXACT
from tensorgen.passes.rates import Rate, Rates
from tensorgen.passes.views import is_sparse
from tensorgen.prices.limits import STEADY_FACTORS
from tensorgen.prices.thresholds import CALLS_OF_A_PROBLEM


def gather_steady(context: Context, roots: Sequence[Node]) -> list[Node]:
    """Return `roots` with steady factors and terms as operands of their own.

    Fires where the modelled cost of a call falls, with a share of what is computed
    once, and where that holds no more numbers than it is made of, at all sizes that
    have no hint. Of what is steady only while a point stays, elementwise products alone
    are gathered: what is computed at a point may serve one direction only. Ends: a
    product or sum that is gathered has fewer operands.
    """
    if context.rates is None:
        return list(roots)
    return rebuild(context.graph, roots, Gathering(context, context.rates, roots).visit)


class Gathering:
    """What is known while nodes are gathered."""

    def __init__(self, context: Context, rates: Rates, roots: Sequence[Node]) -> None:
        """Note the products that are computed once, whatever is asked for."""
        self.graph = context.graph
        self.cost = context.cost
        self.rates = rates
        self.known = {
            pattern_of(node).key
            for node in context.certain(roots)
            if isinstance(node, Product) and rates.of(node) == Rate.DATA
        }

    def visit(self, node: Node) -> Node:
        """Return a node over new operands with its steady ones gathered."""
        for rate in (Rate.DATA, Rate.POINT):
            while isinstance(node, Product) and (better := self._better(node, rate)):
                node = better
            if isinstance(node, Sum):
                node = self._sum(node, rate)
        return node

    # Products

    def _better(self, node: Product, rate: Rate) -> Node | None:
        """A product with its best group of factors up to a rate as one, if any pays."""
        steady = [
            k for k, (f, _) in enumerate(node.factors) if self.rates.of(f) <= rate
        ]
        small = len(node.factors) <= EXACT and 2 <= len(steady) <= STEADY_FACTORS
        if node.constraints or not small or self.rates.of(node) <= rate:
            return None
        whole = Contraction(self.graph, node, self.cost)
        best: tuple[float, Node] | None = None
        limit = whole.plan().cost
        for chosen in self._groups(node, steady, rate):
            group, labels = whole.intermediate(sum(1 << k for k in chosen))
            if not isinstance(group, Product):
                continue
            rest = [f for k, f in enumerate(node.factors) if k not in chosen]
            if pattern_of(group).key not in self.known and not self._fits(group):
                continue
            reduced = self.graph.product(
                range(node.order),
                [(group, labels), *rest],
                coefficient=node.coefficient,
                sizes=dict(enumerate(node.dims)),
            )
            price = self._once(group) + best_price(self.graph, reduced, self.cost)
            if price < (limit if best is None else best[0]):
                best = price, reduced
        return best[1] if best else None

    def _groups(
        self, node: Product, steady: Sequence[int], rate: Rate
    ) -> Iterator[tuple[int, ...]]:
        """The groups of factors that may be multiplied first."""
        for count in range(2, len(steady) + 1):
            for chosen in combinations(steady, count):
                labels = [frozenset(node.factors[k].labels) for k in chosen]
                if labels.count(labels[0]) == count:
                    yield chosen
                elif rate == Rate.DATA:
                    rest = [f for k, f in enumerate(node.factors) if k not in chosen]
                    kept = {*range(node.order), *(x for f in rest for x in f.labels)}
                    # To scale an array saves little and holds another one.
                    if not frozenset().union(*labels) <= kept:
                        yield chosen

    def _fits(self, group: Product) -> bool:
        """Whether a group holds no more than its factors; no product of numbers."""
        factors = dict.fromkeys(ref.node for ref in group.factors)
        arrays = any(factor.order for factor in factors)
        return arrays and self.cost.never_more(entries([group]), entries(factors))

    def _once(self, group: Product) -> float:
        """The share of a call in what is computed once."""
        if pattern_of(group).key in self.known:
            return 0.0
        return best_price(self.graph, group, self.cost) / CALLS_OF_A_PROBLEM

    # Sums

    def _sum(self, node: Sum, rate: Rate) -> Node:
        """Add up the terms up to a rate first, where they do not broadcast."""
        if self.rates.of(node) <= rate:
            return node
        axes = tuple(range(node.order))
        steady = [
            term
            for term in node.terms
            if self.rates.of(term.node) <= rate
            and sorted(term.labels) == list(axes)
            and not is_sparse(term.node)
        ]
        if len(steady) < 2 or not axes:
            return node
        inner = self.graph.sum(axes, steady)
        rest = [term for term in node.terms if term not in steady]
        return self.graph.sum(axes, [(1, inner, axes), *rest])
