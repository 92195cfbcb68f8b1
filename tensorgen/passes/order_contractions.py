"""Order: every product becomes a tree of products of two factors.

The order is exact (dynamic programming over subsets of factors) up to `EXACT`
factors, after the cheapest pairs have been merged in products with more. A label
that stands in three factors is summed as soon as no other factor, constraint or
output needs it. An intermediate that occurs twice up to the names of its labels is
counted, and computed, once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from itertools import combinations
from math import inf, prod

from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Constraint, Label, Lookup, Node, Product, Ref, affine
from tensorgen.passes.cost import CostModel, Plan, Tree
from tensorgen.passes.rebuild import rebuild
from tensorgen.passes.spans import Span, span

EXACT = 8
"""Products with at most this many factors are ordered exactly."""


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
    """One product on its way to a tree; factors are bits of a mask."""

    def __init__(self, graph: Graph, node: Product, cost: CostModel) -> None:
        """Take the factors and constraints of `node`."""
        self.graph = graph
        self.node = node
        self.cost = cost
        self.pending = _tied(node.constraints, node.order)
        self._plan: Plan | None = None
        self._labels: dict[int, frozenset[Label]] = {0: frozenset()}
        self._kept: dict[int, frozenset[Label]] = {}
        self.sizes = dict(enumerate(node.sizes))
        self.numbers = {x: cost.size([dim]) for x, dim in self.sizes.items()}
        self.factors = list(node.factors)
        self.out = frozenset(range(node.order))
        self.atoms = [frozenset(c.form.labels) for c in self.pending]

    # What a subset of the factors keeps

    def labels(self, mask: int) -> frozenset[Label]:
        """All labels of the factors in `mask`."""
        found = self._labels.get(mask)
        if found is None:
            low = mask & -mask
            own = frozenset(self.factors[low.bit_length() - 1].labels)
            found = own | self.labels(mask ^ low) if mask ^ low else own
            self._labels[mask] = found
        return found

    def kept(self, mask: int) -> frozenset[Label]:
        """The labels of a subset that others still need."""
        found = self._kept.get(mask)
        if found is None:
            found = self._kept[mask] = self._needed(mask)
        return found

    def _needed(self, mask: int) -> frozenset[Label]:
        inside = self.labels(mask)
        outside = self.labels(((1 << len(self.factors)) - 1) & ~mask)
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
        inside = list(map(self.kept if len(parts) > 1 else self.labels, parts))
        every = inside[0].union(*inside[1:])
        terms = Span(self.size(every))
        if self.atoms and (now := self._new_constraints(whole, parts)):
            every |= self.out.intersection(x for c in now for x in c.form.labels)
            terms = span(every, inside, now, out | self.out, self.numbers)
        return self.cost.merge(self.size(out), terms, len(every) > len(out), len(parts))

    def _new_constraints(self, whole: int, parts: Sequence[int]) -> list[Constraint]:
        """What can be applied to a subset, but not to one of its parts."""
        inside = self.labels(whole)
        if whole == (1 << len(self.factors)) - 1:
            inside |= self.out
        within = [self.labels(part) for part in parts if part != whole]
        return [
            constraint
            for constraint, labels in zip(self.pending, self.atoms, strict=True)
            if labels <= inside and not any(labels <= part for part in within)
        ]

    # The search

    def plan(self) -> Plan:
        """Return the best tree over all factors, found once."""
        if self._plan is None:
            labels = tuple(ref.labels for ref in self.factors)
            key = (self.node.order, labels, tuple(self.numbers.items()), *self.pending)
            found = self.cost.trees.get(key)
            self._plan = self.cost.trees[key] = found or self._search()
        return self._plan

    def _search(self) -> Plan:
        leaves: list[tuple[int, Tree]] = [(1 << k, k) for k in range(len(self.factors))]
        spent = 0.0
        while len(leaves) > EXACT:
            spent += self._merge_cheapest(leaves)
        best = self._exact(leaves)
        return Plan(best.cost + spent, best.tree)

    def _merge_cheapest(self, leaves: list[tuple[int, Tree]]) -> float:
        def price(pair: tuple[int, int]) -> tuple[float, int, int]:
            a, b = leaves[pair[0]][0], leaves[pair[1]][0]
            grown = self.size(self.kept(a | b))
            shrunk = sum(self.size(self.kept(x)) for x in (a, b))
            return (self._merge(a, b) + grown - shrunk, *pair)

        i, j = min(combinations(range(len(leaves)), 2), key=price)
        (a, left), (b, right) = leaves[i], leaves[j]
        spent = self._merge(a, b)
        leaves[i] = (a | b, (left, right))
        del leaves[j]
        return spent

    def _merge(self, a: int, b: int) -> float:
        """The cost of contracting two subsets."""
        return self.spent(a | b, a, b)

    def _exact(self, leaves: list[tuple[int, Tree]]) -> Plan:
        """Dynamic programming over subsets of the leaves."""
        count = len(leaves)
        masks = [
            reduce(int.__or__, (leaves[k][0] for k in range(count) if s >> k & 1), 0)
            for s in range(1 << count)
        ]
        # Sets of labels are masks too: most of the time goes into their unions.
        bits = {x: 1 << k for k, x in enumerate(self.sizes)}
        kept = [sum(bits[x] for x in self.kept(mask)) for mask in masks]
        sizes: dict[int, float] = {
            sum(bits[x] for x in labels): self.size(labels)
            for labels in map(self.kept, masks)
        }
        best: dict[int, Plan] = {
            1 << k: Plan(self._leaf(leaves[k][0]), leaves[k][1]) for k in range(count)
        }
        for s in range(1, 1 << count):
            if s in best:
                continue
            out, least, cut = kept[s], inf, 0
            for a in _splits(s):
                b = s ^ a
                spent = best[a].cost + best[b].cost
                if spent >= least:
                    continue
                every = kept[a] | kept[b]
                if every not in sizes:
                    numbers = (n for x, n in self.numbers.items() if bits[x] & every)
                    sizes[every] = prod(numbers)
                if self.atoms:
                    spent += self.spent(masks[s], masks[a], masks[b])
                else:
                    terms = Span(sizes[every])
                    spent += self.cost.merge(sizes[out], terms, every != out, 2)
                if spent < least:
                    least, cut = spent, a
            best[s] = Plan(least, (best[cut].tree, best[s ^ cut].tree))
        return best[(1 << count) - 1]

    def _leaf(self, mask: int) -> float:
        """Summing a factor's own labels before anything else."""
        inside, kept = self.labels(mask), self.kept(mask)
        if len(kept) == len(inside):
            return 0.0
        return self.spent(mask, mask)

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
                if len(self.kept(mask)) == len(self.labels(mask)):
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
        constraints = [c for c in self.pending if c not in applied]
        reduced = Contraction(self.graph, self.node, self.cost)
        reduced.factors = [*rest, *refs]
        reduced.atoms = [frozenset(c.form.labels) for c in constraints]
        reduced.pending = constraints
        return reduced

    # Building

    def applied(self, mask: int) -> list[Constraint]:
        """The constraints whose labels all stand in a subset."""
        inside = self.labels(mask)
        return [c for c in self.pending if set(c.form.labels) <= inside]

    def intermediate(self, mask: int) -> Ref:
        """A subset as one node, with its labels in a canonical order."""
        chosen = [f for k, f in enumerate(self.factors) if mask >> k & 1]
        return _pair(
            self.graph, chosen, self.applied(mask), self.kept(mask), self.sizes
        )

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

        def grow(tree: Tree) -> tuple[int, Ref]:
            if isinstance(tree, int):
                mask = 1 << tree
                ref = self.factors[tree]
                parts = [ref]
            else:
                (a, left), (b, right) = grow(tree[0]), grow(tree[1])
                mask = a | b
                parts = [left, right]
            inside = self.labels(mask)
            now = [c for c in pending if set(c.form.labels) <= inside]
            kept = self.kept(mask)
            if isinstance(tree, int) and not now and len(kept) == len(set(ref.labels)):
                return mask, ref
            for c in now:
                pending.remove(c)
            return mask, _pair(self.graph, parts, now, kept, sizes)

        tree = self.plan().tree
        assert not isinstance(tree, int)
        parts = [grow(tree[0])[1], grow(tree[1])[1]]
        return self.graph.product(
            range(self.node.order),
            parts,
            coefficient=self.node.coefficient,
            constraints=_triples(pending),
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


def _tied(constraints: Sequence[Constraint], order: int) -> list[Constraint]:
    """Constraints in which deltas tie summed labels to each other where they can.

    Of `i == p` and `i == q + 1` with an axis `i` the second becomes `p == q + 1`, so
    that factors with p and q are multiplied entry by entry.
    """
    tied = list(constraints)
    for axis in range(order):
        bearing = [
            c for c in tied if c.kind == "eq" and abs(c.form.coefficient(axis)) == 1
        ]
        for pivot in bearing[:1]:
            scale = -pivot.form.coefficient(axis)
            rest = pivot.form.substituted(axis, affine([]))
            solved = affine([(a, c * scale) for a, c in rest.terms])
            solved = solved._replace(const=rest.const * scale)
            for other in bearing[1:]:
                form = other.form.substituted(axis, solved)
                tied[tied.index(other)] = Constraint("eq", form)
    return tied


def _splits(s: int) -> Iterator[int]:
    """One half of every split of a set into two, the lowest bit always in it."""
    low = s & -s
    rest = s ^ low
    a = rest
    while a:
        a = (a - 1) & rest
        yield a | low


def _triples(
    constraints: Sequence[Constraint],
) -> list[tuple[str, dict[Label | Lookup, int], Dim]]:
    return [(c.kind, dict(c.form.terms), c.form.const) for c in constraints]


def _pair(
    graph: Graph,
    parts: Sequence[Ref],
    constraints: Sequence[Constraint],
    kept: frozenset[Label],
    sizes: dict[Label, Dim],
) -> Ref:
    """A product of parts, with kept labels in the order that reads best."""
    ordered = _reading_order(parts, kept)
    used = {x for ref in parts for x in ref.labels}
    used.update(x for c in constraints for x in c.form.labels)
    node = graph.product(
        ordered,
        parts,
        constraints=_triples(constraints),
        sizes={label: sizes[label] for label in sorted(used)},
    )
    return Ref(node, tuple(ordered))


def _reading_order(parts: Sequence[Ref], kept: frozenset[Label]) -> list[Label]:
    """The kept labels, as the product of two matrices in good order has them.

    The factor whose contracted axis is last stands left: `A[i, k] * B[k, j]`. That
    depends on nodes alone, not on the names of labels, so renamed copies are one.
    """

    def rank(ref: Ref) -> tuple[bool, int]:
        contracted_last = bool(ref.labels) and ref.labels[-1] not in kept
        return (not contracted_last, ref.node.serial)

    ordered: dict[Label, None] = {}
    widest = max(len(set(ref.labels) & kept) for ref in parts)
    for ref in sorted(parts, key=rank):
        # A factor that has all labels sets the order: scaling keeps a layout.
        if len(set(ref.labels) & kept) == widest == len(kept):
            return [label for label in dict.fromkeys(ref.labels) if label in kept]
    for ref in sorted(parts, key=rank):
        ordered.update(dict.fromkeys(x for x in ref.labels if x in kept))
    return list(ordered)
