"""Share: factors that together are another product, which is made, are that product.

Forward mode makes the slopes of a layer by an earlier one, reverse mode multiplies by
the same matrices the other way round, and what lies between them belongs to neither.
So a long chain of a derivative often holds a product that another place makes, spread
over what the search for its own order would put together in another way.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tensorgen.ir.nodes import Node, Product, topological, use_counts
from tensorgen.ir.rebuild import rebuild
from tensorgen.passes.context import Context
from tensorgen.passes.order.order_contractions import order_contractions
from tensorgen.passes.views import Factor, Name, View
from tensorgen.prices.limits import SHARED_FACTORS, STEPS_OF_A_MATCH


def share_products(context: Context, roots: Sequence[Node]) -> list[Node]:
    """Return `roots` with products of which another one is a part that is made anyway.

    Fires where the modelled cost falls. Ends: each step leaves fewer factors over all
    products, as these are seen with all that only they use in place of it.
    """
    return Sharing(context, roots).run()


class Made(NamedTuple):
    """A product that is made: the node, and what it multiplies."""

    node: Product
    view: View
    counts: Counter[Node]


class Sharing:
    """One pass over the graph, operands first."""

    def __init__(self, context: Context, roots: Sequence[Node]) -> None:
        """Note what has one use; what is made is noted as it is reached."""
        self.context = context
        self.roots = roots
        self.uses = use_counts(roots)
        self.certain = dict.fromkeys(context.certain(roots))
        self.made: list[Made] = []
        self.private: set[Node] = set()

    def run(self) -> list[Node]:
        """Return the new roots."""
        graph = self.context.graph
        order = topological(self.roots)
        if not any(map(self._contracts, order)):
            return list(self.roots)
        old = iter(order)

        def visit(node: Node) -> Node:
            before = next(old)
            found = self._visit(node) if self._contracts(node) else node
            if self.uses[before] == 1 and before not in graph.names:
                self.private.add(found)
            elif self._contracts(found) and before in self.certain:
                assert isinstance(found, Product)
                if found.coefficient != 1:  # which moves out of what multiplies it
                    return found
                view = self._opened(found)
                self.made.append(Made(found, view, _counts(view)))
            return found

        return rebuild(graph, self.roots, visit)

    def _contracts(self, node: Node) -> bool:
        """Whether a node is a matrix, or larger, that sums over what it multiplies."""
        return (
            isinstance(node, Product)
            and node.order > 1
            and bool(node.inner)
            and not node.constraints
            and len(node.factors) > 1
        )

    def _opened(self, node: Product) -> View:
        """A product with all that nobody else uses opened, whatever it is made of."""
        view = View(node.coefficient, sizes=dict(enumerate(node.sizes)))
        view.factors += [(n, tuple(labels)) for n, labels in node.factors]
        place = 0
        while place < len(view.factors) <= SHARED_FACTORS:
            factor, labels = view.factors[place]
            if (
                isinstance(factor, Product)
                and factor in self.private
                and factor.factors
                and not factor.constraints
            ):
                del view.factors[place]
                view.add(factor, labels, ("inside", len(view.sizes)))
            else:
                place += 1
        return view

    def _visit(self, node: Node) -> Node:
        """A product from the first one that is a part of it, again and again."""
        assert isinstance(node, Product)
        graph = self.context.graph
        view = self._opened(node)
        counts, axes = _counts(view), range(node.order)
        graph.effort.spend(len(self.made) // 4)
        for made in reversed(self.made):
            if made.counts <= counts and len(made.view.factors) < len(view.factors):
                for rest in _without(view, made, axes):
                    other = rest.product(graph, axes)
                    if self._pays(node, other, made.node):
                        return self._visit(other) if self._contracts(other) else other
                    break
        return node

    def _pays(self, node: Node, other: Node, made: Node) -> bool:
        """Whether a product is cheaper from one that is made anyway."""
        graph, cost = self.context.graph, self.context.cost
        first, second, free = order_contractions(graph, [node, other, made], cost)
        known = {*topological([free])}
        graph.effort.spend(len(known) // 8)
        prices = (
            sum(self.context.work(x) for x in topological([one]) if x not in known)
            for one in (second, first)
        )
        return next(prices) < next(prices)


def _counts(view: View) -> Counter[Node]:
    return Counter(factor for factor, _ in view.factors)


def _without(view: View, made: Made, axes: range) -> Iterator[View]:
    """A product with what is made in place of factors that multiply to it.

    Labels that what is made has summed stand nowhere else.
    """
    kept = range(made.node.order)
    for chosen, names in _matches(view.factors, made.view.factors):
        at = [names[axis] for axis in kept]
        inside = {names[x] for x in names if x not in kept}
        rest = [f for k, f in enumerate(view.factors) if k not in chosen]
        outside = {*axes, *(x for _, labels in rest for x in labels)}
        if inside & outside:
            continue
        scale = view.coefficient / made.view.coefficient  # of what is inside
        sizes = {x: dim for x, dim in view.sizes.items() if x not in inside}
        yield View(scale, [(made.node, tuple(at)), *rest], sizes=sizes)


def _matches(
    factors: Sequence[Factor], wanted: Sequence[Factor]
) -> Iterator[tuple[set[int], dict[Name, Name]]]:
    """The places of factors that are the wanted ones, and what their labels are called.

    Labels that differ are called differently. What hangs together comes one after the
    other, so that few factors fit.
    """
    places: dict[Node, list[int]] = {}
    for k, (node, _) in enumerate(factors):
        places.setdefault(node, []).append(k)
    order = _connected(wanted, places)
    steps = 0

    def match(
        k: int, used: tuple[int, ...], names: dict[Name, Name]
    ) -> Iterator[tuple[set[int], dict[Name, Name]]]:
        nonlocal steps
        if k == len(order):
            yield {*used}, names
            return
        node, labels = order[k]
        for place in places[node]:
            steps += 1
            if steps > STEPS_OF_A_MATCH:
                return
            own = dict(zip(labels, factors[place][1], strict=True))
            fits = all(names.get(x, y) == y for x, y in own.items())
            merged = names | own
            distinct = len({*merged.values()}) == len(merged)
            again = [own[x] for x in labels] == list(factors[place][1])
            if place not in used and fits and again and distinct:
                yield from match(k + 1, (*used, place), merged)

    return match(0, (), {})


def _connected(wanted: Sequence[Factor], places: dict[Node, list[int]]) -> list[Factor]:
    """Factors in an order in which each shares most labels with those before it."""
    left, known = list(wanted), set[Name]()
    order: list[Factor] = []
    while left:
        best = max(
            left, key=lambda f: (len(known.intersection(f[1])), -len(places[f[0]]))
        )
        left.remove(best)
        order.append(best)
        known.update(best[1])
    return order
