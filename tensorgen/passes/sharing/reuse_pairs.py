"""Reuse: three factors are multiplied from the pair that is there already.

`A @ (B * c)` is `(A @ B) * c`, which costs next to nothing where `A @ B` is computed
anyway. The search for the order of one product knows nothing of the others, whose
trees often differ by such a step: one of them scales what both multiply. So do they by
the order of axes: a pair that is the transpose of another one is read from that, unless
it spreads vectors to a matrix, which factoring sees to. A square is a pair too:
`sum(W * R**2)` is the inner product of `W * R`, if that is there, and R. Vectors are
left alone, as where factors are shared: formulas read better whole.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Sequence
from itertools import product
from typing import TypeGuard

from tensorgen.ir.dims import Dim
from tensorgen.ir.nodes import (
    Map,
    Node,
    Product,
    Ref,
    children,
    constant_value,
    entries,
    topological,
    use_counts,
)
from tensorgen.ir.rebuild import carry_names, with_operands
from tensorgen.passes.context import Context
from tensorgen.passes.views import Factor, Name, View


def reuse_pairs(context: Context, roots: Sequence[Node]) -> list[Node]:
    """Return `roots` with products of three that start with a pair another one needs.

    Fires where the modelled cost falls and no more entries are read, at all sizes that
    have no hint; what has a name stays together. A method of a problem reuses what
    methods before it are sure to make, for those after it may never be called. Ends:
    each step lowers the cost, and what it reuses stays as it is; once more over all
    nodes as long as something changes, for what is reused may stand behind its users.
    """
    before: list[Node] = []
    after = list(roots)
    while after != before:
        before, after = after, Reuse(context, after).run()
    return after


class Reuse:
    """One pass over the graph, operands first."""

    def __init__(self, context: Context, roots: Sequence[Node]) -> None:
        """Note which pairs are made, and which of them have one use.

        `seen` are those in their last form, which transposes are read from.
        """
        self.context = context
        self.roots = roots
        self.uses = use_counts(roots)
        self.private: set[Node] = set()
        self.new: dict[Node, Node] = {}
        self.made: dict[Hashable, Product] = {}
        self.seen: dict[Hashable, Product] = {}
        self.reused: set[Node] = set()
        self.certain = dict.fromkeys(context.certain(roots))
        if context.rates is None:
            for node in self.certain:
                self._note(node)

    def _note(self, node: Node) -> None:
        """Let a pair that is made be reused."""
        if _is_pair(node) and (node.order > 1 or node.inner):
            self.made.setdefault(_own_pattern(node), node)

    def _see(self, node: Node) -> None:
        """Let a pair in its last form stand for its transposes."""
        if _is_work(node):
            self.seen.setdefault(_own_pattern(node), node)

    def run(self) -> list[Node]:
        """Return the new roots."""
        graph, new, asked = self.context.graph, self.new, {*self.roots}
        for node in topological(self.roots):
            found = self._visit(with_operands(graph, node, new))
            if not (node in asked or node in graph.names):
                found = self._turned_over(found)
            new[node] = found
            carry_names(graph, node, found)
            fresh = found is node or found not in self.uses
            if self.uses[node] == 1 and fresh:
                self.private.add(found)
            if node in self.certain:
                self._note(found)
                self._see(found)
        return [new[root] for root in self.roots]

    def _turned_over(self, node: Node) -> Node:
        """A pair as the transpose of one that is there; itself if none is.

        What is asked for stays apart, so that no result is another one's memory.
        """
        if not _is_work(node):
            return node
        twin = self.seen.get(_own_pattern(node), node)
        if twin is node or twin.coefficient != node.coefficient:
            return node
        axes = range(node.order)
        names, own = (_pattern(x.factors, axes)[1] for x in (node, twin))
        at = [names[own.index(axis)] for axis in axes]
        return self.context.graph.product(axes, [(twin, at)])

    def _visit(self, node: Node) -> Node:
        """A product as a pair that is made and the rest; itself if that costs more."""
        if not isinstance(node, Product) or node.constraints or node in self.reused:
            return node
        for k, (inner, _) in enumerate(node.factors):
            if not _factors(inner) or inner in self.context.graph.names:
                continue
            for pair, other in self._turned(node, k, inner):
                if self._pays(node, inner, other):
                    self.reused.add(pair)
                    self.private.discard(pair)
                    if inner in self.private and isinstance(inner, Product):
                        self.made.pop(_own_pattern(inner), None)
                    return self._visit(other)
        return node

    def _pays(self, node: Product, inner: Node, other: Node) -> bool:
        """Whether a product is cheaper from another pair than from the inner one."""
        work = self.context.work
        gone = work(node) + (work(inner) if inner in self.private else 0.0)
        read, other_read = (entries(children(one)) for one in (node, other))
        cost = self.context.cost
        return work(other) < gone and cost.never_more(other_read, read)

    def _turned(
        self, node: Product, place: int, inner: Node
    ) -> Iterator[tuple[Node, Node]]:
        """Pairs of a factor inside and one outside that are made, and the whole."""
        axes = range(node.order)
        inside, outside = View(), View()
        for k, (factor, labels) in enumerate(node.factors):
            if k == place and isinstance(inner, Product):
                inside.add(factor, labels, "inner")
            elif k == place:
                for base, axes_of_base in _factors(inner):
                    inside.add(base, [labels[x] for x in axes_of_base])
            else:
                outside.add(factor, labels)
        every: dict[Name, Dim] = dict(enumerate(node.dims))
        every.update(inside.sizes | outside.sizes)
        for first, second in product(outside.factors, inside.factors):
            rest = [f for f in outside.factors if f is not first]
            rest += [f for f in inside.factors if f is not second]
            needed = {*axes, *(x for _, labels in rest for x in labels)}
            pattern, names = _pattern([first, second], needed)
            pair = self.made.get(pattern)
            if pair is None or pair is inner or self.new.get(pair, pair) is not pair:
                continue
            _, own = _pattern(pair.factors, range(pair.order))
            at = tuple(names[own.index(axis)] for axis in range(pair.order))
            scale = node.coefficient * inside.coefficient / pair.coefficient
            sizes = {x: dim for x, dim in every.items() if x in needed}
            whole = View(scale, [(pair, at), *rest], sizes=sizes)
            yield pair, whole.product(self.context.graph, axes)


def _is_pair(node: Node) -> TypeGuard[Product]:
    """Whether a node is a product of two that spreads nothing out."""
    if not isinstance(node, Product) or node.constraints or len(node.factors) != 2:
        return False
    read = {x for _, labels in node.factors for x in labels}
    return read.issuperset(range(node.order))


def _factors(node: Node) -> Sequence[Ref]:
    """The two factors of a pair, or of the square of a matrix; of others none."""
    if _is_pair(node):
        return node.factors
    if isinstance(node, Map) and node.function == "pow" and node.order > 1:
        base, exponent = node.args
        return (base, base) if constant_value(exponent.node) == 2 else ()
    return ()


def _is_work(node: Node) -> TypeGuard[Product]:
    """Whether a node is a pair that sums, or scales what is as large as it is.

    What spreads is as large as nothing that is held, and made anew rather than kept.
    """
    if not _is_pair(node) or node.order < 2:
        return False
    return bool(node.inner) or max(x.node.order for x in node.factors) == node.order


def _own_pattern(node: Product) -> Hashable:
    return _pattern(node.factors, range(node.order))[0]


def _pattern(
    factors: Sequence[Factor], kept: Collection[Name]
) -> tuple[Hashable, list[Name]]:
    """What a product and its transposes have in common, and its labels in order."""
    ordered = sorted(factors, key=lambda factor: factor[0].serial)
    names = list(dict.fromkeys(x for _, labels in ordered for x in labels))
    number = {x: k for k, x in enumerate(names)}
    parts = tuple((node, *(number[x] for x in labels)) for node, labels in ordered)
    return (parts, frozenset(k for x, k in number.items() if x in kept)), names
