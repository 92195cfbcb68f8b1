"""A product as label sets: all that the search for its order reads.

Sets of labels and sets of factors are integers, a bit for each member: a search asks
for unions most of the time. Links, which are deltas through index arrays, stand behind
the factors and are members too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from math import inf, prod
from operator import or_

from tensorgen.ir.nodes import Constraint, Label
from tensorgen.passes.order.pairs import link_label
from tensorgen.passes.order.spans import Span, span

Tree = int | tuple["Tree", ...]
"""The place of a factor or link, or what is multiplied at once."""

Price = Callable[[float, Span, bool, int], float]
"""The cost of a product by the entries of its result, its span, whether it sums, and
the number of its factors."""


@dataclass(frozen=True)
class Plan:
    """The best tree found for the factors of a product, and its cost."""

    cost: float
    tree: Tree


def members(bits: int) -> Iterator[int]:
    """The members of a set, in order."""
    while bits:
        low = bits & -bits
        yield low.bit_length() - 1
        bits ^= low


def set_of(labels: Iterable[Label]) -> int:
    """Labels, or places of factors, as a set."""
    found = 0
    for x in labels:
        found |= 1 << x
    return found


@dataclass(frozen=True)
class Network:
    """The label sets `factors`, of which the labels `out` stay.

    `numbers` are the sizes of the labels 0, 1, ...; `constraints` are the deltas and
    indicators between them. Two products with equal networks have the same best trees.
    """

    factors: tuple[int, ...]
    out: int
    numbers: tuple[float, ...]
    price: Price
    constraints: tuple[Constraint, ...] = ()
    links: dict[int, Constraint] = field(init=False, compare=False, repr=False)
    loose: tuple[Constraint, ...] = field(init=False, compare=False, repr=False)
    count: int = field(init=False, compare=False, repr=False)  # factors and links
    full: int = field(init=False, compare=False, repr=False)  # all of these
    read: int = field(init=False, compare=False, repr=False)  # all factors
    _memo: Memo = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        """Tell links from constraints that are applied where they can be."""
        linked = [c for c in self.constraints if link_label(c) is not None]
        start = len(self.factors)
        links = {1 << (start + k): c for k, c in enumerate(linked)}
        loose = tuple(c for c in self.constraints if c not in linked)
        own = [*self.factors, *(set_of(c.form.labels) for c in linked)]
        found = {
            "links": links,
            "loose": loose,
            "count": len(own),
            "full": (1 << len(own)) - 1,
            "read": (1 << start) - 1,
            "_memo": Memo(own, loose, links),
        }
        for name, value in found.items():
            object.__setattr__(self, name, value)

    @property
    def constrained(self) -> bool:
        """Whether constraints decide what a product of several factors costs."""
        return bool(self.links or self._memo.between)

    # What a subset of the factors keeps

    def labels(self, mask: int) -> int:
        """All labels of the factors in `mask`."""
        known = self._memo.labels
        found = known.get(mask)
        if found is None:
            found, rest = 0, mask
            while rest not in known:
                low = rest & -rest
                found |= self._memo.own[low.bit_length() - 1]
                rest ^= low
            found = known[mask] = found | known[rest]
        return found

    def kept(self, mask: int) -> int:
        """The labels of a subset that others still need."""
        if mask == self.full:
            return self.out
        found = self._memo.kept.get(mask)
        if found is None:
            inside = self.labels(mask)
            needed = self.out | self.labels(self.full & ~mask)
            for labels in self._memo.atoms:
                if labels & ~inside:
                    needed |= labels
            found = self._memo.kept[mask] = inside & needed
        return found

    def size(self, labels: int) -> float:
        """The number of entries of an array with these labels."""
        found = self._memo.sizes.get(labels)
        if found is None:
            found = prod(self.numbers[x] for x in members(labels))
            self._memo.sizes[labels] = found
        return found

    # What it costs

    def prices_of(self, out: int) -> dict[int, float]:
        """What products of two cost that keep the labels `out`, by all labels."""
        return self._memo.plain.setdefault(out, {})

    def alone(self, mask: int) -> float:
        """The cost of summing one factor's own labels before anything else."""
        if not mask & self.read or self.kept(mask) == self.labels(mask):
            return 0.0
        return self.spent(mask, mask)

    def spent(self, whole: int, *parts: int) -> float:
        """The cost of the subset `whole`, given those of `parts` that make it up."""
        out = self.kept(whole)
        read = [part for part in parts if part & self.read]
        if not read:
            return 0.0  # links together, to be applied at once
        inside = tuple(map(self.kept if len(parts) > 1 else self.labels, read))
        if self.links and len(inside) == 2 and self._pairs_unread(whole, *inside):
            return inf
        if self.constraints and (now := self._news(whole, parts, read)):
            # Factors are alike where their labels are: most subsets have been priced.
            key = (now, whole == self.full, out, inside)
            found = self._memo.prices.get(key)
            if found is None:
                found = self._memo.prices[key] = self._applied(*key)
            return found
        every = reduce(or_, inside)
        terms = Span(self.size(every))
        return self.price(self.size(out), terms, bool(every & ~out), len(read))

    def _pairs_unread(self, whole: int, first: int, second: int) -> bool:
        """Whether all pairs are made of rows that one entry reads together later.

        There may be more of these than entries, which is known when sizes are.
        """
        if first & second:
            return False
        entries: dict[Label, set[Label]] = {}
        for link, (x, others) in self._memo.entries.items():
            if not (link & whole or self.out >> x & 1):
                entries[x] = others

        def read(side: int) -> set[Label]:
            """The labels at which index arrays, or those at entries of these, read."""
            found, waiting = set[Label](), [x for x in members(side) if x in entries]
            while waiting:
                ends = entries[waiting.pop()] - found
                waiting += [y for y in ends if y in entries]
                found |= ends
            return found

        return not read(first).isdisjoint(read(second))

    def _applied(self, news: int, full: bool, out: int, inside: Sequence[int]) -> float:
        """The cost of a product of label sets, some constraints applied to it."""
        now = [self._memo.ordered[k] for k in members(news)]
        every = reduce(or_, inside)
        if not full and self._spreads(now, every, out):
            return inf
        every |= set_of(x for c in now for x in c.form.labels)
        within = [frozenset(members(labels)) for labels in inside]
        keep = frozenset(members(out | self.out))
        numbers = dict(enumerate(self.numbers))
        terms = span(frozenset(members(every)), within, now, keep, numbers)
        return self.price(self.size(out), terms, bool(every & ~out), len(inside))

    def _spreads(self, now: Sequence[Constraint], read: int, out: int) -> bool:
        """Whether entries are written far apart: into a matrix that is mostly zeros."""
        written = [
            (c, x)
            for c in now
            if (x := link_label(c)) is not None and out >> x & 1 and not read >> x & 1
        ]
        # Where an axis that an index array is read by stays, so do a delta's zeros.
        stays = any(set_of(c.form.labels) & ~(1 << x) & out for c, x in written)
        return len(written) > 1 or stays

    def _news(self, whole: int, parts: Sequence[int], read: Sequence[int]) -> int:
        """What can be applied to a subset, but not to one of its parts.

        Constraints are members of this set by their places in `Memo.ordered`.
        """
        memo, within = self._memo, [part for part in parts if part != whole]
        inside = self.labels(whole) | (self.out if whole == self.full else 0)
        found = memo.applicable(inside) & (memo.between if within else -1)
        for part in within:
            found &= ~memo.applicable(self.labels(part))
        links = whole & ~self.read & ~reduce(or_, read)
        return found | links >> len(self.factors) << len(self.loose)

    def joined(self, mask: int, links: int) -> int:
        """Those of some links whose labels all stand in a subset."""
        inside = self.labels(mask)
        if mask | links == self.full:
            inside |= self.out
        return sum(
            link
            for link in self.links
            if link & links and not self.labels(link) & ~inside
        )


class Memo:
    """What a network has computed of its subsets."""

    def __init__(
        self,
        own: Sequence[int],
        loose: Sequence[Constraint],
        links: Mapping[int, Constraint],
    ) -> None:
        self.own = own
        self.atoms = [set_of(c.form.labels) for c in loose]
        self.ordered = [*loose, *links.values()]
        # The label that each link gives, and those that it follows from.
        self.entries = {
            link: (x, {y for y in c.form.labels if y != x})
            for link, c in links.items()
            if (x := link_label(c)) is not None
        }
        # Within one factor a constraint is never news to several.
        self.between = set_of(
            k
            for k, labels in enumerate(self.atoms)
            if all(labels & ~inside for inside in own)
        )
        self.labels: dict[int, int] = {0: 0}
        self.kept: dict[int, int] = {}
        self.sizes: dict[int, float] = {}
        self.plain: dict[int, dict[int, float]] = {}
        self.prices: dict[tuple[int, bool, int, tuple[int, ...]], float] = {}
        self._applicable: dict[int, int] = {}

    def applicable(self, inside: int) -> int:
        """The loose constraints that mention no labels but some."""
        found = self._applicable.get(inside)
        if found is None:
            found = set_of(k for k, x in enumerate(self.atoms) if not x & ~inside)
            self._applicable[inside] = found
        return found
