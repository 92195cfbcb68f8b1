"""Share: what is made anyway is not made again, however it is grouped or turned.

Forward mode makes the slopes of a layer by an earlier one, reverse mode multiplies by
the same matrices the other way round, and what lies between them belongs to neither.
So a long chain of a derivative often holds a product that another place makes, spread
over what the search for its own order, which knows nothing of others, has put together
in another way. `A @ (B * c)` is `(A @ B) * c`, which costs next to nothing where
`A @ B` is there. A square is two factors: `sum(W * R**2)` is the inner product of
`W * R`, if that is there, and R. Vectors are left alone: formulas read better whole.

Nor is an array made that is another one with its axes permuted: `A[i, j] - v[j]` beside
`A[j, i] - v[i]`, of which derivatives by one variable after the other are full.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from itertools import chain, combinations, islice, product
from math import inf
from typing import NamedTuple, TypeGuard

from tensorgen.ir.nodes import (
    Map,
    Node,
    Product,
    Ref,
    Sum,
    children,
    constant_value,
    entries,
    topological,
    use_counts,
)
from tensorgen.ir.patterns import pattern_of, product_pattern
from tensorgen.ir.rebuild import renew
from tensorgen.ir.views import Name, View
from tensorgen.passes.context import Context
from tensorgen.passes.order.order_contractions import order_product
from tensorgen.prices.limits import SHARED_FACTORS, TRIALS_OF_A_MATCH
from tensorgen.prices.thresholds import SHARE_OF_REUSED


def share_products(context: Context, roots: Sequence[Node]) -> list[Node]:
    """Return `roots` with what is made once where it was made in several ways.

    Fires where the modelled cost falls and, but for products of matrices with matrices,
    where no more is held and read in the end, at all sizes that have no hint. A method
    of a problem reuses what methods before it are sure to make, for those after it may
    never be called. Ends: each step leaves what it reuses as it is; once more over all
    nodes as long as the cost falls, for what is reused may stand behind its users.
    """
    found, least, price = list(roots), inf, context.price(roots)
    while price < least:
        found, least = Sharing(context, found).run(), price
        price = context.price(found)
    return found


class Made(NamedTuple):
    """A product as it is seen n-ary: the nodes that it is made of, itself first.

    `others` are nodes that are seen through as well, and made anyway.
    """

    nodes: Sequence[Node]
    others: Sequence[Node]
    view: View
    counts: Counter[Node]


class Sharing:
    """One pass over the graph, operands first."""

    def __init__(self, context: Context, roots: Sequence[Node]) -> None:
        """Note what is made, and what has one use.

        `made` are products by the latest of their factors, `seen` arrays in their last
        form, which transposes are read from; what is `reused` stays as it is, and what
        is `gone` is made no more.
        """
        self.context = context
        self.roots, self.asked = roots, {*roots}
        self.uses = use_counts(roots)
        self.certain = dict.fromkeys(context.certain(roots))
        self.private = {x for x, n in self.uses.items() if n == 1} - self.asked
        self.new: dict[Node, Node] = {}
        self.made: dict[Node, dict[Node, Made]] = {}
        self.seen: dict[Hashable, Node] = {}
        self.reused: set[Node] = set()
        self.gone: set[Node] = set()
        if context.rates is None:
            for node in self.certain:
                self._note(node)

    def run(self) -> list[Node]:
        """Return the new roots."""
        return renew(self.context.graph, self.roots, self._shared, self.new)

    def _shared(self, old: Node, node: Node) -> Node:
        found = self._visit(node)
        # What is asked for stays apart, so that no result is another one's memory.
        apart = old in self.asked or old in self.context.graph.names
        if not (apart or found in self.reused):
            found = self._turned_over(found)
        if self.uses[old] == 1 and found not in self.uses:
            self.private.add(found)
        if old in self.certain:
            self._note(found)
            if _is_array(found):
                self.seen.setdefault(pattern_of(found).key, found)
        return found

    def _note(self, node: Node) -> None:
        """Let a product that is made be reused, where no mode sets the order."""
        if not self.context.cross_country or not _is_work(node):
            return
        if node.order > 1 or node.inner:
            made = self._opened(node)
            latest = max(made.counts, key=lambda factor: factor.serial)
            self.made.setdefault(latest, {})[node] = made

    def _turned_over(self, node: Node) -> Node:
        """An array as the transpose of one that is there; itself if none is."""
        if not _is_array(node):
            return node
        pattern = pattern_of(node)
        twin = self.seen.get(pattern.key, node)
        if twin is node or not _is_array(twin) or _scale(twin) != _scale(node):
            return node
        at = pattern.axes_of(pattern_of(twin), node.order)
        return self.context.graph.product(range(node.order), [(twin, at)])

    def _visit(self, node: Node) -> Node:
        """A product from the largest one that is a part of it, again and again."""
        if not isinstance(node, Product) or node.constraints or node in self.reused:
            return node
        graph, axes = self.context.graph, range(node.order)
        for own in self._views(node):
            for made in self._parts(own):
                for rest in _without(own.view, made, axes):
                    other = rest.product(graph, axes)
                    other = order_product(graph, other, self.context.cost)
                    fresh = topological([other], {*own.counts, made.nodes[0]})
                    if self._pays(own, fresh, made):
                        self._reuse(own, fresh, made)
                        return self._visit(other)
        return node

    def _views(self, node: Product) -> Iterator[Made]:
        """A product seen n-ary, alone and with a factor open that others need too."""
        if self.made:
            yield self._opened(node)
            for place, (factor, _) in enumerate(node.factors):
                named = factor in self.context.graph.names
                if not (named or self._is_own(factor)) and _inside(factor):
                    yield self._opened(node, place)

    def _is_own(self, node: Node) -> bool:
        return node in self.private and node not in self.context.graph.names

    def _opened(self, node: Product, also: int = -1) -> Made:
        """A product with all open that nobody else uses, and its factor at a place."""
        view = View(node.coefficient, sizes=dict(enumerate(node.sizes)))
        nodes: list[Node] = [node]
        others: list[Node] = []
        waiting: list[tuple[Node, tuple[Name, ...], list[Node], bool]] = []
        for place, ref in reversed([*enumerate(node.factors)]):
            waiting.append((*ref, nodes, place == also))
        while waiting:
            factor, labels, below, opens = waiting.pop()
            inside = _inside(factor) if opens or self._is_own(factor) else ()
            if not inside or len(view.factors) + len(waiting) > SHARED_FACTORS:
                view.factors.append((factor, tuple(labels)))
                continue
            below = others if opens else below
            below.append(factor)
            at: dict[int, Name] = dict(enumerate(labels))
            if isinstance(factor, Product):
                view.coefficient *= factor.coefficient
                for k, dim in enumerate(factor.inner, factor.order):
                    at[k] = ("inside", len(view.sizes))
                    view.sizes[at[k]] = dim
            for ref in reversed(inside):
                own = tuple(at[x] for x in ref.labels)
                waiting.append((ref.node, own, below, False))
        return Made(nodes, others, view, Counter(factor for factor, _ in view.factors))

    def _parts(self, own: Made) -> list[Made]:
        """What others make of some factors of a product; the largest first."""
        found = [
            made
            for factor in own.counts
            for made in self.made.get(factor, {}).values()
            if made.counts <= own.counts and self._stands(made)
            if made.nodes[0] not in (*own.nodes, *own.others)
        ]
        self.context.graph.effort.spend(len(found) // 4)
        return sorted(found, key=lambda made: -made.counts.total())

    def _stands(self, made: Made) -> bool:
        """Whether a product is still made as it was when it was noted."""
        return all(
            self.new.get(node, node) is node and node not in self.gone
            for node in made.nodes
        )

    def _pays(self, own: Made, fresh: Sequence[Node], made: Made) -> bool:
        """Whether a product is cheaper from another one that is made anyway."""
        work, cost = self.context.work, self.context.cost
        self.context.graph.effort.spend(len(fresh))
        if sum(map(work, fresh)) >= SHARE_OF_REUSED * sum(map(work, own.nodes)):
            return False
        if all(_is_of_matrices(one.nodes[0]) for one in (own, made)):
            return True
        before = [*children(own.nodes[0]), *own.nodes[1:], *own.others]
        read = [child for node in fresh[-1:] for child in children(node)]
        after = [*read, *fresh[:-1], made.nodes[0]]
        return cost.never_more(entries(after), entries(before))

    def _reuse(self, own: Made, fresh: Sequence[Node], made: Made) -> None:
        """Keep what is reused as it is, and forget what nobody makes any more."""
        self.reused.update(made.nodes)
        self.private.discard(made.nodes[0])
        kept = {*fresh, *made.nodes}
        for node in own.nodes[1:]:
            if node not in kept:
                self.gone.add(node)
                if _is_array(node):
                    self.seen.pop(pattern_of(node).key, None)
        others = {node for node in fresh if node in self.uses} - {*own.nodes}
        self.private.update(fresh)
        self.private -= others


def _is_work(node: Node) -> TypeGuard[Product]:
    """Whether a node is a product that spreads nothing out."""
    if not isinstance(node, Product) or node.constraints or len(node.factors) < 2:
        return False
    read = {x for _, labels in node.factors for x in labels}
    return read.issuperset(range(node.order))


def _is_array(node: Node) -> TypeGuard[Product | Sum | Map]:
    """Whether a node is worth to be kept for who reads it in another order.

    A product that spreads is as large as nothing that is held, and made anew.
    """
    if node.order < 2 or not isinstance(node, Product):
        return node.order > 1 and isinstance(node, Sum | Map)
    widest = max((ref.node.order for ref in node.factors), default=0)
    return _is_work(node) and (bool(node.inner) or widest == node.order)


def _is_of_matrices(node: Node) -> bool:
    """Whether a node is a product of matrices with matrices."""
    return isinstance(node, Product) and node.order > 1 and bool(node.inner)


def _scale(node: Node) -> object:
    return node.coefficient if isinstance(node, Product) else None


def _inside(node: Node) -> Sequence[Ref]:
    """The factors of a product, or of the square of a matrix; of others none."""
    if isinstance(node, Product) and not node.constraints:
        return node.factors
    if isinstance(node, Map) and node.function == "pow" and node.order > 1:
        base, exponent = node.args
        return (base, base) if constant_value(exponent.node) == 2 else ()
    return ()


def _without(view: View, made: Made, axes: range) -> Iterator[View]:
    """A product with what is made in place of factors of its pattern."""
    places: dict[Node, list[int]] = {}
    for k, (factor, _) in enumerate(view.factors):
        places.setdefault(factor, []).append(k)
    ways = product(*(combinations(places[x], n) for x, n in made.counts.items()))
    order = made.nodes[0].order
    own = product_pattern(made.view.factors, range(order))
    for chosen in islice(ways, TRIALS_OF_A_MATCH):
        taken = {*chain(*chosen)}
        inside = [f for k, f in enumerate(view.factors) if k in taken]
        rest = [f for k, f in enumerate(view.factors) if k not in taken]
        needed = {*axes, *(x for _, labels in rest for x in labels)}
        read = dict.fromkeys(x for _, labels in inside for x in labels)
        found = product_pattern(inside, [x for x in read if x in needed])
        if found.key != own.key:
            continue
        scale = view.coefficient / made.view.coefficient
        sizes = {x: dim for x, dim in view.sizes.items() if x in needed}
        at = found.axes_of(own, order)
        yield View(scale, [(made.nodes[0], at), *rest], sizes=sizes)
