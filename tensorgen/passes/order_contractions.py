"""Order: every product becomes a tree of products of two factors.

`search_trees` finds the order. A label
that stands in three factors is summed as soon as no other factor, constraint or
output needs it. An intermediate that occurs twice up to the names of its labels is
counted, and computed, once.

A delta through an index array, `i == row[e]`, is ordered like a factor, so that the
search knows what `U[row]` costs before the rest is multiplied, and what adding up by
rows first saves.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from itertools import combinations
from math import inf, prod

from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Constraint, Label, Node, Product, Ref, triples
from tensorgen.passes.cost import CostModel, Plan, Tree
from tensorgen.passes.pairs import link_label, pair, tied
from tensorgen.passes.rebuild import rebuild
from tensorgen.passes.search_trees import EXACT, best_tree
from tensorgen.passes.spans import Span, span


def order_contractions(
    graph: Graph, roots: Sequence[Node], cost: CostModel
) -> list[Node]:
    """Return `roots` with every product of several factors as a tree of pairs.

    Elementwise products (nothing summed, all factors as large as the result) stay
    n-ary. Ends: each product is replaced by smaller ones, which are not revisited.
    """
    return rebuild(graph, roots, lambda node: _ordered(graph, node, cost), cost.ordered)


def _ordered(graph: Graph, node: Node, cost: CostModel) -> Node:
    if not isinstance(node, Product) or len(node.factors) < 2:
        return node
    if len(node.factors) == 2 and not _needs_presum(node):
        return node
    full = set(range(node.order))
    if not node.inner and all(set(f.labels) == full for f in node.factors):
        return node
    return Contraction(graph, node, cost).build()


def _needs_presum(node: Product) -> bool:
    """Whether a summed label stands in one factor alone, beside another factor."""
    return bool(node.inner)


class Contraction:
    """One product on its way to a tree; factors, and links after them, are bits."""

    def __init__(
        self,
        graph: Graph,
        node: Product,
        cost: CostModel,
        factors: Sequence[Ref] | None = None,
        constraints: Sequence[Constraint] | None = None,
    ) -> None:
        """Take the factors and constraints of `node`, or others in their place."""
        self.graph = graph
        self.node = node
        self.cost = cost
        self.factors = list(node.factors if factors is None else factors)
        if constraints is None:
            constraints = tied(node.constraints, node.order)
        self.pending = list(constraints)
        self._plan: Plan | None = None
        self._labels: dict[int, frozenset[Label]] = {0: frozenset()}
        self._kept: dict[int, frozenset[Label]] = {}
        self.sizes = dict(enumerate(node.sizes))
        self.numbers = {x: cost.size([dim]) for x, dim in self.sizes.items()}
        self.out = frozenset(range(node.order))
        linked = [c for c in self.pending if link_label(c) is not None]
        start = len(self.factors)
        self.links = {1 << (start + k): c for k, c in enumerate(linked)}
        self.loose = [c for c in self.pending if c not in linked]
        self.atoms = [frozenset(c.form.labels) for c in self.loose]
        self._own = {
            1 << k: frozenset(labels)
            for k, labels in enumerate(
                [
                    *(ref.labels for ref in self.factors),
                    *(c.form.labels for c in linked),
                ]
            )
        }
        # Within one factor a constraint is never news to several.
        self.between = [
            (constraint, labels)
            for constraint, labels in zip(self.loose, self.atoms, strict=True)
            if not any(labels <= own for own in self._own.values())
        ]
        self.full = (1 << (start + len(linked))) - 1
        self.read = (1 << start) - 1

    # What a subset of the factors keeps

    def labels(self, mask: int) -> frozenset[Label]:
        """All labels of the factors in `mask`."""
        found = self._labels.get(mask)
        if found is None:
            found = self._own[mask] if mask in self._own else self._union(mask)
            self._labels[mask] = found
        return found

    def _union(self, mask: int) -> frozenset[Label]:
        """The labels of several factors, from what is known of all but one of them."""
        rest = mask & (mask - 1)
        if rest in self._labels:
            return self._own[mask ^ rest] | self._labels[rest]
        return frozenset().union(*(xs for bit, xs in self._own.items() if bit & mask))

    def kept(self, mask: int) -> frozenset[Label]:
        """The labels of a subset that others still need."""
        found = self._kept.get(mask)
        if found is None:
            found = self._kept[mask] = self._needed(mask)
        return found

    def _needed(self, mask: int) -> frozenset[Label]:
        inside = self.labels(mask)
        outside = self.labels(self.full & ~mask)
        needed = self.out | outside
        for labels in self.atoms:
            if not labels <= inside:
                needed |= labels
        return inside & needed

    def size(self, labels: frozenset[Label]) -> float:
        """The number of entries of an array with these labels."""
        return prod(self.numbers[label] for label in labels)

    def spent(self, whole: int, *parts: int) -> float:
        """The cost of the subset `whole`, given those of `parts` that make it up."""
        out = self.kept(whole)
        read = [part for part in parts if part & self.read]
        if not read:
            return 0.0  # links together, to be applied at once
        inside = list(map(self.kept if len(parts) > 1 else self.labels, read))
        every = inside[0].union(*inside[1:])
        terms = Span(self.size(every))
        if self.pending and (now := self._new_constraints(whole, parts)):
            if whole != self.full and self._spreads(now, every, out):
                return inf
            mentioned = {x for c in now for x in c.form.labels}
            every |= mentioned & (self.out | out)
            terms = span(every, inside, now, out | self.out, self.numbers)
        return self.cost.merge(self.size(out), terms, len(every) > len(out), len(read))

    def _spreads(
        self, now: Sequence[Constraint], read: frozenset[Label], out: frozenset[Label]
    ) -> bool:
        """Whether entries are written far apart: into a matrix that is mostly zeros."""
        written = [c for c in now if (x := link_label(c)) in out and x not in read]
        # Where an axis that an index array is read by stays, so do a delta's zeros.
        stays = any({*c.form.labels} - {link_label(c)} & out for c in written)
        return len(written) > 1 or stays

    def _new_constraints(self, whole: int, parts: Sequence[int]) -> list[Constraint]:
        """What can be applied to a subset, but not to one of its parts."""
        inside = self.labels(whole)
        if whole == self.full:
            inside |= self.out
        within = [self.labels(part) for part in parts if part != whole]
        every = zip(self.loose, self.atoms, strict=True)
        return [
            constraint
            for constraint, labels in (self.between if within else every)
            if labels <= inside and not any(labels <= part for part in within)
        ] + [
            link
            for bit, link in self.links.items()
            if bit & whole and not any(bit & part for part in parts if part & self.read)
        ]

    # The search

    def plan(self) -> Plan:
        """Return the best tree over all factors, found once."""
        if self._plan is None:
            labels = tuple(ref.labels for ref in self.factors)
            key = (self.node.order, labels, tuple(self.numbers.items()), *self.pending)
            found = self.cost.trees.get(key)
            self._plan = self.cost.trees[key] = found or best_tree(self)
        return self._plan

    # Sharing

    def shared(self) -> Contraction | None:
        """The same product with a repeated sub-product as one node, if that pays."""
        alone = self.plan().cost
        best: tuple[float, Contraction] | None = None
        for first, second in self._repeats():
            once = self._plan_of(first)
            reduced = self._replaced(first, second)
            if reduced is None:
                continue
            cost = once + reduced.plan().cost
            if cost < alone and (best is None or cost < best[0]):
                best = cost, reduced
        return best[1] if best else None

    def _repeats(self) -> Iterator[tuple[int, int]]:
        """Disjoint subsets of several factors that are equal up to renaming."""
        nodes = [ref.node for ref in self.factors]
        twins = [k for k, node in enumerate(nodes) if nodes.count(node) > 1]
        if len(twins) < 4 or len(nodes) > EXACT:
            return
        seen: dict[Node, int] = {}
        for size in range(2, len(twins) // 2 + 1):
            for chosen in combinations(twins, size):
                # With more than half of a node's uses there is no second subset.
                used = [nodes[k] for k in chosen]
                if any(2 * used.count(node) > nodes.count(node) for node in used):
                    continue
                mask = sum(1 << k for k in chosen)
                if len(self.closed(mask)) == len(self.labels(mask)):
                    continue
                node, _ = self.intermediate(mask)
                if node in seen and not seen[node] & mask:
                    yield seen[node], mask
                seen.setdefault(node, mask)

    def _plan_of(self, mask: int) -> float:
        node, _ = self.intermediate(mask)
        if isinstance(node, Product) and len(node.factors) > 1:
            return Contraction(self.graph, node, self.cost).plan().cost
        return 0.0

    def _replaced(self, first: int, second: int) -> Contraction | None:
        both = first | second
        refs = [self.intermediate(mask) for mask in (first, second)]
        rest = [f for k, f in enumerate(self.factors) if not both >> k & 1]
        applied = self.applied(first) + self.applied(second)
        left = [c for c in self.pending if c not in applied]
        return Contraction(self.graph, self.node, self.cost, [*rest, *refs], left)

    # Building

    def applied(self, mask: int) -> list[Constraint]:
        """The constraints whose labels all stand in a subset."""
        inside = self.labels(mask)
        return [c for c in self.pending if set(c.form.labels) <= inside]

    def joined(self, mask: int, links: int) -> int:
        """Those of some links whose labels all stand in a subset."""
        inside = self.labels(mask)
        if mask | links == self.full:
            inside |= self.out
        return sum(
            link
            for link, c in self.links.items()
            if link & links and set(c.form.labels) <= inside
        )

    def intermediate(self, mask: int) -> Ref:
        """A subset as one node, with its labels in a canonical order."""
        chosen = [f for k, f in enumerate(self.factors) if mask >> k & 1]
        kept = self.closed(mask)
        return pair(self.graph, chosen, self.applied(mask), kept, self.sizes)

    def closed(self, mask: int) -> frozenset[Label]:
        """What a subset of the factors keeps, the links within it applied."""
        inside = self.labels(mask)
        own = (x for x, c in self.links.items() if set(c.form.labels) <= inside)
        return self.kept(mask | sum(own))

    def build(self) -> Node:
        """Return the product as a tree of pairs."""
        better = self.shared()
        if better is not None:
            # What is shared is a product that nobody has ordered yet.
            better.factors = [
                Ref(_ordered(self.graph, ref.node, self.cost), ref.labels)
                for ref in better.factors
            ]
            return better.build()
        pending = list(self.pending)
        sizes = self.sizes

        def grow(tree: Tree) -> tuple[int, list[Ref]]:
            if isinstance(tree, int):
                mask = 1 << tree
                if mask in self.links:
                    return mask, []
                parts = [self.factors[tree]]
            else:
                found = [grow(part) for part in tree]
                mask = reduce(int.__or__, (own for own, _ in found))
                parts = [ref for _, refs in found for ref in refs]
                if not parts:
                    return mask, []
            inside = self.labels(mask)
            links = [c for link, c in self.links.items() if link & mask]
            now = [
                c
                for c in pending
                if set(c.form.labels) <= inside and (c in self.loose or c in links)
            ]
            kept = self.kept(mask)
            whole = len(parts) == 1 and len(kept) == len(set(parts[0].labels))
            if whole and not now:
                return mask, parts
            for c in now:
                pending.remove(c)
            return mask, [pair(self.graph, parts, now, kept, sizes)]

        tree = self.plan().tree
        assert not isinstance(tree, int)
        parts = [ref for part in tree for ref in grow(part)[1]]
        return self.graph.product(
            range(self.node.order),
            parts,
            coefficient=self.node.coefficient,
            constraints=triples(pending),
            sizes={
                x: self.sizes[x]
                for x in dict.fromkeys(
                    [
                        *range(self.node.order),
                        *(x for c in pending for x in c.form.labels),
                    ]
                )
            },
        )
