"""Where the values of a picture stand: in rows, operands above what is made of them.

The layered drawing of Sugiyama, Tagawa and Toda (1981): a line that is longer than one
row goes through a place of its own in each row between, so that it passes no value;
each row is ordered by the middle of its neighbours, and stands as near to it as the
room between values lets it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import fsum

Place = tuple[int, int]
"""A value and its row; in other rows, a place that lines from the value go through."""
Edge = tuple[int, int]
"""A value, and one that is made of it."""

Neighbours = dict[Place, dict[Place, float]]
"""The places at the other ends of pieces of lines, and what these weigh."""

SWEEPS, SETTLED = 10, 15
STRAIGHT = (1.0, 2.0, 8.0)
"""What a piece of a line weighs by how many of its ends are no values."""
LIGHT = 0.1
"""The same of one from an argument: it stands where it is used, and not the reverse."""
THIN = 8.0
"""How wide a line is taken to be."""


@dataclass(frozen=True)
class Layout:
    """The middle of each place, and the places through which lines go."""

    middles: Mapping[Place, float]
    width: float
    rows: Mapping[int, int]

    @property
    def count(self) -> int:
        """How many rows there are."""
        return max(self.rows.values(), default=-1) + 1

    def of(self, key: int) -> Place:
        """Where a value stands itself."""
        return key, self.rows[key]

    def line(self, edge: Edge) -> list[Place]:
        """The places of a line, its ends among them."""
        return _through(edge, self.rows)


def layered(widths: Mapping[int, float], edges: Sequence[Edge], gap: float) -> Layout:
    """Place values of these widths; `edges` come operands first, by their targets."""
    rows = _rows(widths, edges)
    places: dict[Place, float] = {(key, rows[key]): widths[key] for key in widths}
    above: Neighbours = {}
    below: Neighbours = {}
    made = {target for _, target in edges}
    for edge in edges:
        for one, other in pairwise(_through(edge, rows)):
            places.setdefault(other, THIN)
            thin = sum(rows[key] != row for key, row in (one, other))
            is_light = not thin and one[0] not in made
            weight = LIGHT if is_light else STRAIGHT[thin]
            above.setdefault(other, {})[one] = weight
            below.setdefault(one, {})[other] = weight
    levels: list[list[Place]] = [[] for _ in range(max(rows.values(), default=0) + 1)]
    for place in places:
        levels[place[1]].append(place)
    middles = dict(_packed(levels, places, gap))

    def settle(level: list[Place], *sides: Neighbours, ordered: bool) -> None:
        wanted = {x: _wanted(x, sides, middles) for x in level}
        if not ordered:
            level.sort(key=lambda x: wanted[x][0])
        middles.update(_spread(level, wanted, places, gap))

    for _ in range(SWEEPS):
        for level in levels:
            settle(level, above, ordered=False)
        for level in reversed(levels):
            settle(level, below, ordered=False)
    # The order stays, and both sides count: the squares fall until all stands.
    for _ in range(SETTLED):
        for level in [*levels, *reversed(levels)]:
            settle(level, above, below, ordered=True)
    left = min((middles[x] - places[x] / 2 for x in places), default=0.0) - gap / 2
    right = max((middles[x] + places[x] / 2 for x in places), default=0.0) + gap / 2
    return Layout({x: at - left for x, at in middles.items()}, right - left, rows)


def _rows(widths: Mapping[int, float], edges: Sequence[Edge]) -> dict[int, int]:
    """The row of each value: as far down as what is made of it lets it."""
    after = dict.fromkeys(widths, 0)
    for source, target in reversed(edges):
        after[source] = max(after[source], after[target] + 1)
    last = max(after.values(), default=0)
    return {x: last - count for x, count in after.items()}


def _through(edge: Edge, rows: Mapping[int, int]) -> list[Place]:
    """Lines from one value go together as far as they can."""
    source, target = edge
    between = [(source, row) for row in range(rows[source], rows[target])]
    return [*between, (target, rows[target])]


def _packed(
    levels: Sequence[Sequence[Place]], widths: Mapping[Place, float], gap: float
) -> Iterator[tuple[Place, float]]:
    for level in levels:
        at = 0.0
        for place in level:
            yield place, at + widths[place] / 2
            at += widths[place] + gap


def _wanted(
    place: Place, sides: Sequence[Neighbours], middles: Mapping[Place, float]
) -> tuple[float, float]:
    """The middle of the neighbours, and how much that weighs."""
    pairs = [pair for side in sides for pair in side.get(place, {}).items()]
    if not pairs:
        return middles[place], LIGHT
    # Not `sum`, which rounds otherwise since Python 3.12: all get one picture.
    whole = fsum(weight for _, weight in pairs)
    return fsum(middles[x] * weight for x, weight in pairs) / whole, whole


def _spread(
    level: Sequence[Place],
    wanted: Mapping[Place, tuple[float, float]],
    widths: Mapping[Place, float],
    gap: float,
) -> dict[Place, float]:
    """The middles nearest to those wanted, by weighted squares, with room between.

    Without the room that each takes this is a regression on numbers in order: where
    two are the wrong way round, both get their mean (pool adjacent violators).
    """
    offsets, at = [], 0.0
    for k, place in enumerate(level):
        if k:
            at += (widths[level[k - 1]] + widths[place]) / 2 + gap
        offsets.append(at)
    pools: list[tuple[float, float, int]] = []
    for place, offset in zip(level, offsets, strict=True):
        middle, weight = wanted[place]
        pools.append((middle - offset, weight, 1))
        while len(pools) > 1 and pools[-2][0] > pools[-1][0]:
            (b, v, n), (a, u, m) = pools.pop(), pools.pop()
            pools.append(((a * u + b * v) / (u + v), u + v, m + n))
    means = [mean for mean, _, count in pools for _ in range(count)]
    return {
        x: mean + offset for x, mean, offset in zip(level, means, offsets, strict=True)
    }
