"""Search: the tree of pairs in which a product costs least.

The order is exact (dynamic programming over subsets) up to `EXACT` factors, after the
cheapest pairs have been merged in products with more. In long products factors with
the same labels meet first, which costs nothing whatever the order of the rest, and
of many others only those meet that have a label in common.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial, reduce
from heapq import heapify, heappop, heappush
from itertools import combinations
from math import inf, prod
from typing import TYPE_CHECKING

from tensorgen.ir.effort import Exhausted
from tensorgen.passes.cost import Plan, Tree
from tensorgen.passes.pairs import splits
from tensorgen.passes.spans import Span

if TYPE_CHECKING:
    from tensorgen.passes.order_contractions import Contraction

EXACT = 8
"""Products with at most this many factors are ordered exactly."""

LONG = 16
"""In products with more factors, those with the same labels meet first."""

MANY = 48
"""With more than that left, only factors with a label in common are tried as pairs."""

STEPS = 20_000
"""Where a search takes more steps, the factors are multiplied as they stand."""

MOST = 200
"""Nor is anything searched with so many left, whose tree could be as deep."""

Leaf = tuple[int, Tree]


def best_tree(product: Contraction) -> Plan:
    """Return the best tree over all factors and links of a product."""
    count = len(product.factors) + len(product.links)
    found = partial(_searched, product)
    plain = Plan(inf, _halved(0, count))
    return product.graph.effort.attempt(found, plain, STEPS)


def _halved(start: int, end: int) -> Tree:
    """The factors as they stand, in a tree that is not deep."""
    if end - start == 1:
        return start
    middle = (start + end) // 2
    return (_halved(start, middle), _halved(middle, end))


def _searched(product: Contraction) -> Plan:
    count = len(product.factors) + len(product.links)
    leaves: list[Leaf] = [(1 << k, k) for k in range(count)]
    spent = 0.0
    if count > LONG:
        leaves, spent = _alike(product, leaves)
    if len(leaves) > MOST:
        raise Exhausted
    if len(leaves) > EXACT:
        greedy = Greedy(product, leaves)
        spent += greedy.run()
        leaves = greedy.leaves()
    if len(leaves) == 1:
        return Plan(spent, leaves[0][1])
    best = _exact(product, leaves)
    return Plan(best.cost + spent, best.tree)


def _alike(product: Contraction, leaves: list[Leaf]) -> tuple[list[Leaf], float]:
    """Factors that keep the same labels as one leaf each, and what that costs."""
    groups: dict[object, list[Leaf]] = {}
    for mask, tree in leaves:
        own = product.kept(mask) if mask & product.read else mask
        groups.setdefault(own, []).append((mask, tree))
    found: list[Leaf] = []
    spent = 0.0
    for group in groups.values():
        masks, trees = zip(*group, strict=True)
        whole = reduce(int.__or__, masks)
        if len(group) > 1:
            spent += sum(leaf_cost(product, mask) for mask in masks)
            spent += product.spent(whole, *masks)
        found.append((whole, trees if len(group) > 1 else trees[0]))
    return found, spent


class Greedy:
    """Merges the cheapest pair of leaves until few enough are left."""

    def __init__(self, product: Contraction, leaves: list[Leaf]) -> None:
        """Know each leaf by its place, which a pair takes over from its first."""
        self.product = product
        self.left: dict[int, Leaf] = dict(enumerate(leaves))

    def leaves(self) -> list[Leaf]:
        """What is left, in the order of the first factors."""
        return [self.left[place] for place in sorted(self.left)]

    def run(self) -> float:
        """Merge, and return what that costs."""
        spent = 0.0
        self._price_all()
        while len(self.left) > EXACT:
            if not self.waiting:
                self._price_all()
            _, i, j, a, b = heappop(self.waiting)
            if self._is_left(i, a) and self._is_left(j, b):
                spent += self._merge(i, j)
        return spent

    def _is_left(self, place: int, mask: int) -> bool:
        return place in self.left and self.left[place][0] == mask

    def _price_all(self) -> None:
        """Start anew with all pairs, links as they are now."""
        masks = [mask for mask, _ in self.left.values()]
        self.free = sum(mask for mask in masks if not mask & self.product.read)
        self.waiting = [self._priced(i, j) for i, j in self._pairs()]
        heapify(self.waiting)

    def _pairs(self) -> Iterator[tuple[int, int]]:
        places = sorted(self.left)
        if len(places) <= MANY:
            yield from combinations(places, 2)
            return
        users: dict[object, list[int]] = {}
        for place in places:
            for label in sorted(self.product.kept(self.left[place][0])):
                users.setdefault(label, []).append(place)
        found = {
            pair
            for near in users.values()
            for k in range(len(near))
            for pair in ((near[k], other) for other in near[k + 1 : k + 1 + MANY])
        }
        yield from sorted(found) or combinations(places[:MANY], 2)

    def _priced(self, i: int, j: int) -> tuple[float, int, int, int, int]:
        product, a, b = self.product, self.left[i][0], self.left[j][0]
        product.graph.effort.spend(3)
        if not (a & product.read or b & product.read):
            return (inf, i, j, a, b)
        whole = a | b | product.joined(a | b, self.free)
        grown = product.size(product.kept(whole))
        shrunk = sum(product.size(product.kept(x)) for x in (a, b) if x & product.read)
        return (product.spent(whole, a, b) + grown - shrunk, i, j, a, b)

    def _merge(self, i: int, j: int) -> float:
        product = self.product
        (a, left), (b, right) = self.left[i], self.left[j]
        links = product.joined(a | b, self.free)
        mine = [k for k in sorted(self.left) if self.left[k][0] & links]
        mine = [k for k in mine if k not in (i, j)]
        spent = product.spent(a | b | links, a, b)
        tree = (left, right, *(self.left[k][1] for k in mine))
        for k in (j, *mine):
            del self.left[k]
        self.left[i] = (a | b | links, tree)
        if self.free:
            self._price_all()  # what a link joins changes what other pairs cost
        else:
            self._price_one(i)
        return spent

    def _price_one(self, place: int) -> None:
        labels = self.product.kept(self.left[place][0])
        few = len(self.left) <= MANY
        for other in sorted(self.left):
            if other == place:
                continue
            if few or labels & self.product.kept(self.left[other][0]):
                heappush(self.waiting, self._priced(*sorted((place, other))))


def _exact(product: Contraction, leaves: list[Leaf]) -> Plan:
    """Dynamic programming over subsets of the leaves."""
    count = len(leaves)
    masks = [
        reduce(int.__or__, (leaves[k][0] for k in range(count) if s >> k & 1), 0)
        for s in range(1 << count)
    ]
    # Sets of labels are masks too: most of the time goes into their unions.
    bits = {x: 1 << k for k, x in enumerate(product.sizes)}
    kept = [sum(bits[x] for x in product.kept(mask)) for mask in masks]
    sizes: dict[int, float] = {
        sum(bits[x] for x in labels): product.size(labels)
        for labels in map(product.kept, masks)
    }
    best: dict[int, Plan] = {
        1 << k: Plan(leaf_cost(product, leaves[k][0]), leaves[k][1])
        for k in range(count)
    }
    constrained = bool(product.links or product.between)
    lone = sum(1 << k for k in range(count) if not masks[1 << k] & product.read)
    for s in range(1, 1 << count):
        if s in best:
            continue
        out, least, cut, without = kept[s], inf, s & -s, 0
        # Links between two parts may be applied as these are multiplied.
        joined = product.joined(masks[s & ~lone], masks[s & lone]) if s & lone else 0
        own = sum(
            1 << k for k in range(count) if masks[1 << k] & joined & ~product.read
        )
        own &= lone
        tries = [(a, 0) for a in splits(s)]
        tries += [(a, own) for a in splits(s ^ own)] if own else []
        product.graph.effort.spend(len(tries) // (2 if constrained else 10))
        for a, left in tries:
            b = s ^ left ^ a
            spent = best[a].cost + best[b].cost
            if spent >= least:
                continue
            every = kept[a] | kept[b]
            if every not in sizes:
                numbers = (n for x, n in product.numbers.items() if bits[x] & every)
                sizes[every] = prod(numbers)
            if constrained:
                spent += product.spent(masks[s], masks[a], masks[b])
            else:
                terms = Span(sizes[every])
                spent += product.cost.merge(sizes[out], terms, every != out, 2)
            if spent < least:
                least, cut, without = spent, a, left
        ends = [1 << k for k in range(count) if without >> k & 1]
        parts = (cut, s ^ without ^ cut, *ends)
        best[s] = Plan(least, tuple(best[part].tree for part in parts))
    return best[(1 << count) - 1]


def leaf_cost(product: Contraction, mask: int) -> float:
    """Summing a factor's own labels before anything else."""
    if not mask & product.read:
        return 0.0
    inside, kept = product.labels(mask), product.kept(mask)
    if len(kept) == len(inside):
        return 0.0
    return product.spent(mask, mask)
