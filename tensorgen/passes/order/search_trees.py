"""Search: the tree of products in which a network of label sets costs least.

The tree is exact (dynamic programming over subsets) up to `EXACT` factors. In longer
products factors with the same labels meet first, which costs nothing whatever the
order of the rest; then the cheapest pairs are merged until few are left, and parts of
the tree that came of it are searched exactly, again and again, until none gets better.
(Kossmann and Stocker 2000, "Iterative dynamic programming", do so for joins; Gray and
Kourtis 2021 for contractions.)

Nothing is read but the network, and nothing is kept of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial, reduce
from math import inf
from typing import NamedTuple

from tensorgen.ir.effort import Effort, Exhausted
from tensorgen.passes.order.merge_greedily import SCORES, Greedy, Leaf
from tensorgen.passes.order.networks import Network, Plan, Tree, members, set_of
from tensorgen.passes.order.pairs import splits
from tensorgen.passes.order.spans import Span

EXACT = 8
"""Products with at most this many factors are ordered exactly."""

PART = 6
"""So many parts of a longer tree are put in order anew at a time."""

ROUNDS = 4
"""How often all parts of a tree are looked at."""

STEPS = 20_000
"""Where a search takes more steps, the factors are multiplied as they stand."""

MOST = 200
"""Nor is anything searched with so many left, whose tree could be as deep."""

NEAR = 1 + 1e-9
"""What costs more than this times a known tree is no part of a better one."""


def best_tree(network: Network, effort: Effort) -> Plan:
    """Return the best tree found over all factors and links of a network."""
    found = partial(_searched, network, effort)
    plain = Plan(inf, _halved(0, network.count))
    return effort.attempt(found, plain, STEPS)


def _halved(start: int, end: int) -> Tree:
    """The factors as they stand, in a tree that is not deep."""
    if end - start == 1:
        return start
    middle = (start + end) // 2
    return (_halved(start, middle), _halved(middle, end))


def _searched(network: Network, effort: Effort) -> Plan:
    leaves: list[Leaf] = [(1 << k, k) for k in range(network.count)]
    if len(leaves) > EXACT:
        leaves = _alike(network, leaves)
    if len(leaves) > MOST:
        raise Exhausted
    if len(leaves) == 1:
        return _priced(network, leaves[0][1])
    if len(leaves) <= EXACT:
        return _priced(network, exact(network, leaves, effort).tree)
    found = []
    for score in SCORES:
        greedy = Greedy(network, leaves, effort, score)
        greedy.run(EXACT)
        tree = exact(network, greedy.leaves(), effort).tree
        better = partial(_rearranged, network, tree, effort)
        found.append(_priced(network, effort.attempt(better, tree, STEPS // 4)))
    return min(found, key=lambda plan: plan.cost)


def _alike(network: Network, leaves: Sequence[Leaf]) -> list[Leaf]:
    """Factors that keep the same labels as one leaf each."""
    groups: dict[int, list[Leaf]] = {}
    for mask, tree in leaves:
        own = network.kept(mask) if mask & network.read else ~mask
        groups.setdefault(own, []).append((mask, tree))
    found: list[Leaf] = []
    for group in groups.values():
        masks, trees = zip(*group, strict=True)
        whole = reduce(int.__or__, masks)
        found.append((whole, trees if len(group) > 1 else trees[0]))
    return found


# What a tree costs


class Part(NamedTuple):
    """A subtree: its factors, what it costs by itself, and its parts."""

    mask: int
    cost: float
    tree: Tree


def _priced(network: Network, tree: Tree) -> Plan:
    return Plan(_part(network, tree).cost, tree)


def _part(network: Network, tree: Tree) -> Part:
    if isinstance(tree, int):
        return Part(1 << tree, network.alone(1 << tree), tree)
    parts = [_part(network, part) for part in tree]
    mask = reduce(int.__or__, (part.mask for part in parts))
    cost = sum(part.cost for part in parts)
    return Part(mask, cost + network.spent(mask, *(p.mask for p in parts)), tree)


def _mask(tree: Tree) -> int:
    return 1 << tree if isinstance(tree, int) else reduce(int.__or__, map(_mask, tree))


def _rearranged(network: Network, tree: Tree, effort: Effort) -> Tree:
    """A tree in which no few parts that hang together have a cheaper order."""
    known: set[tuple[int, ...]] = set()
    for _ in range(ROUNDS):
        before, tree = tree, _round(network, tree, effort, known)
        if tree == before:
            break
    return tree


def _round(
    network: Network, tree: Tree, effort: Effort, known: set[tuple[int, ...]]
) -> Tree:
    """Search from each node down, its parts first; what is `known` has been."""
    if isinstance(tree, int):
        return tree
    tree = tuple(_round(network, part, effort, known) for part in tree)
    parts, now = _opened(network, tree)
    masks = tuple(sorted(mask for mask, _ in parts))
    if len(parts) < 3 or masks in known:
        return tree
    known.add(masks)
    better = exact(network, parts, effort)
    return better.tree if better.cost * NEAR < now else tree


def _opened(network: Network, tree: Tree) -> tuple[list[Leaf], float]:
    """A tree's parts, the largest opened until there are PART, and their price."""
    parts: list[Leaf] = [(_mask(tree), tree)]
    price = 0.0
    while True:
        inner = [
            (network.size(network.kept(mask)), -k)
            for k, (mask, part) in enumerate(parts)
            if isinstance(part, tuple) and len(parts) - 1 + len(part) <= PART
        ]
        if not inner:
            break
        place = -max(inner)[1]
        mask, part = parts[place]
        assert isinstance(part, tuple)
        found = [(_mask(inside), inside) for inside in part]
        price += network.spent(mask, *(own for own, _ in found))
        parts[place : place + 1] = found
    return parts, price + sum(_own(network, leaf) for leaf in parts)


def _own(network: Network, leaf: Leaf) -> float:
    """What a leaf costs before it is multiplied: only single factors have sums."""
    mask, tree = leaf
    return network.alone(mask) if isinstance(tree, int) else 0.0


def exact(network: Network, leaves: Sequence[Leaf], effort: Effort) -> Plan:
    """The best tree over some leaves."""
    return Subsets(network, leaves, effort).plan()


class Subsets:
    """Dynamic programming over the subsets of some leaves, bits of which are leaves.

    A subset that alone costs more than a known tree of all leaves is in no better one:
    so an outer product is left out unless it may pay.
    """

    def __init__(
        self, network: Network, leaves: Sequence[Leaf], effort: Effort
    ) -> None:
        """Know what each leaf costs, and what a greedy tree does."""
        self.network = network
        self.effort = effort
        self.masks = [0]
        for mask, _ in leaves:
            self.masks += [mask | other for other in self.masks]
        self.kept = list(map(network.kept, self.masks))
        alone = [_own(network, leaf) for leaf in leaves]
        self.leaves = leaves
        self.costs = [inf] * len(self.masks)
        for k, cost in enumerate(alone):
            self.costs[1 << k] = cost
        self.cuts: list[tuple[int, ...]] = [()] * len(self.masks)
        """Into which subsets the best tree cuts each; none where there is no tree."""
        self.limit = inf
        if len(leaves) >= PART and not network.constrained:
            self.limit = (Greedy(network, leaves, effort).run(1) + sum(alone)) * NEAR
        self.lone = set_of(
            k for k, (mask, _) in enumerate(leaves) if not mask & network.read
        )

    def plan(self) -> Plan:
        """Return the best tree, smaller subsets first."""
        split = self._linked if self.network.constrained else self._split
        every = range(1, len(self.masks))
        for s in every:
            if s & (s - 1):
                split(s)
        return Plan(self.costs[every[-1]], self._tree(every[-1]))

    def _tree(self, s: int) -> Tree:
        if not s & (s - 1):
            return self.leaves[s.bit_length() - 1][1]
        return tuple(map(self._tree, self.cuts[s]))

    def _split(self, s: int) -> None:
        """Find the best split of a subset of plain factors; none beyond the limit."""
        costs, kept = self.costs, self.kept
        size, price = self.network.size, self.network.price
        out = kept[s]
        entries = size(out)
        # No product is cheaper than its result, multiplied entry by entry.
        if price(entries, Span(entries), False, 2) > self.limit:
            return
        self.effort.spend((1 << s.bit_count()) // 20)
        least, cut = self.limit, 0
        # Most splits multiply over the same labels.
        known = self.network.prices_of(out)
        low = s & -s
        rest = a = s ^ low
        while a:  # as `splits` does, inside the one loop that is run most
            a = (a - 1) & rest
            own, other = a | low, rest ^ a
            spent = costs[own] + costs[other]
            if spent >= least:  # as what has no tree, which costs infinitely much
                continue
            every = kept[own] | kept[other]
            if every not in known:
                known[every] = price(entries, Span(size(every)), every != out, 2)
            spent += known[every]
            if spent < least:
                least, cut = spent, own
        if cut:
            self.costs[s], self.cuts[s] = least, (cut, s ^ cut)

    def _linked(self, s: int) -> None:
        """Find the best split of a subset with constraints between its parts."""
        network, masks, costs, lone = self.network, self.masks, self.costs, self.lone
        least, cut, without = inf, s & -s, 0
        # Links between two parts may be applied as these are multiplied.
        joined = network.joined(masks[s & ~lone], masks[s & lone]) if s & lone else 0
        own = set_of(k for k in members(lone) if masks[1 << k] & joined)
        tries = [(a, 0) for a in splits(s)]
        tries += [(a, own) for a in splits(s ^ own)] if own else []
        self.effort.spend(len(tries) // 2)
        for a, left in tries:
            b = s ^ left ^ a
            spent = costs[a] + costs[b]
            if spent >= least:
                continue
            spent += network.spent(masks[s], masks[a], masks[b])
            if spent < least:
                least, cut, without = spent, a, left
        parts = (cut, s ^ without ^ cut, *(1 << k for k in members(without)))
        self.costs[s], self.cuts[s] = least, parts
