"""Greedy: the cheapest pair of a network is merged, again and again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from heapq import heapify, heappop, heappush
from itertools import combinations
from math import inf

from tensorgen.ir.effort import Effort
from tensorgen.passes.order.networks import Network, Tree, members

MANY = 48
"""With more than that left, only factors with a label in common are tried as pairs."""

Leaf = tuple[int, Tree]

Score = Callable[[float, float, float], float]

SCORES: tuple[Score, ...] = (
    lambda spent, grown, shrunk: spent + grown - shrunk,
    lambda spent, grown, shrunk: grown - shrunk,
)
"""What makes a pair cheap: its cost, its entries, and those of its parts."""


class Greedy:
    """Merges the cheapest pair of leaves until few enough are left."""

    def __init__(
        self,
        network: Network,
        leaves: Sequence[Leaf],
        effort: Effort,
        score: Score = SCORES[0],
    ) -> None:
        """Know each leaf by its place, which a pair takes over from its first."""
        self.network = network
        self.effort = effort
        self.score = score
        self.left: dict[int, Leaf] = dict(enumerate(leaves))

    def leaves(self) -> list[Leaf]:
        """What is left, in the order of the first factors."""
        return [self.left[place] for place in sorted(self.left)]

    def run(self, few: int) -> float:
        """Merge until `few` are left, and return what that costs."""
        spent = 0.0
        self._price_all()
        while len(self.left) > few:
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
        self.free = sum(mask for mask in masks if not mask & self.network.read)
        self.waiting = [self._priced(i, j) for i, j in self._pairs()]
        heapify(self.waiting)

    def _pairs(self) -> Iterator[tuple[int, int]]:
        places = sorted(self.left)
        if len(places) <= MANY:
            yield from combinations(places, 2)
            return
        users: dict[int, list[int]] = {}
        for place in places:
            for label in members(self.network.kept(self.left[place][0])):
                users.setdefault(label, []).append(place)
        found = {
            pair
            for near in users.values()
            for k in range(len(near))
            for pair in ((near[k], other) for other in near[k + 1 : k + 1 + MANY])
        }
        yield from sorted(found) or combinations(places[:MANY], 2)

    def _priced(self, i: int, j: int) -> tuple[float, int, int, int, int]:
        network, a, b = self.network, self.left[i][0], self.left[j][0]
        self.effort.spend(3 if network.constrained else 1)
        if not (a & network.read or b & network.read):
            return (inf, i, j, a, b)
        whole = a | b | network.joined(a | b, self.free)
        grown = network.size(network.kept(whole))
        shrunk = sum(network.size(network.kept(x)) for x in (a, b) if x & network.read)
        return (self.score(network.spent(whole, a, b), grown, shrunk), i, j, a, b)

    def _merge(self, i: int, j: int) -> float:
        network = self.network
        (a, left), (b, right) = self.left[i], self.left[j]
        links = network.joined(a | b, self.free)
        mine = [k for k in sorted(self.left) if self.left[k][0] & links]
        mine = [k for k in mine if k not in (i, j)]
        spent = network.spent(a | b | links, a, b)
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
        labels = self.network.kept(self.left[place][0])
        few = len(self.left) <= MANY
        for other in sorted(self.left):
            if other == place:
                continue
            if few or labels & self.network.kept(self.left[other][0]):
                heappush(self.waiting, self._priced(*sorted((place, other))))
