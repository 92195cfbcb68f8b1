"""Which operations one kernel does: those of one shape that feed each other.

An operation stands on a *level*: as many times as something between the inputs and
itself has to wait for whole arrays. Operations of one shape on one level wait for
nothing of each other but entries, so whatever is connected there may be one kernel. An
operation that only later ones ask for is done by these, or, if it is cheap, by those of
more axes. What has no name and several readers is written out for each of them, as it
is in code without kernels.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from tensorgen.arrays.arrays import Array
from tensorgen.arrays.entrywise import is_cheap, launches

LEAST = 2
"""The launches that a kernel has to replace."""


@dataclass(frozen=True, eq=False)
class Region:
    """What one kernel does: its `members` in order, and those that others read."""

    members: tuple[Array, ...]
    outputs: tuple[Array, ...]

    @property
    def pays(self) -> bool:
        """Whether it replaces several launches, of numbers of a type that is given."""
        inside = {*self.members}
        given = {x for one in self.members for x in one.args if x not in inside}
        typed = any(x.kind == "float" and not x.weak for x in given)
        return typed and sum(map(launches, self.members)) >= LEAST


@dataclass
class Graph:
    """Values by what they are made of: `order` has operands first.

    Some have names; what is `asked` for is read by more than values. Of what has no
    name there is one reader at most who needs it as an array.
    """

    order: Sequence[Array]
    named: Mapping[Array, str]
    asked: Mapping[Array, int]
    barred: Collection[Array] = ()
    dropped: set[Array] = field(default_factory=set)

    @cached_property
    def users(self) -> dict[Array, list[Array]]:
        """Who reads a value, once for each time."""
        found: dict[Array, list[Array]] = {one: [] for one in self.order}
        for one in self.order:
            for arg in one.args:
                found[arg].append(one)
        return found

    def regions(self) -> list[Region]:
        """The regions that pay, each with what is read of it."""
        while True:
            found, again = _Grouping(self).regions()
            if not again:
                return [region for region in found if region.pays]
            self.dropped |= again


class _Grouping:
    """One try to group the operations of a graph."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        out = {*graph.barred, *graph.dropped}
        self.place = {one: k for k, one in enumerate(graph.order)}
        self.inside = {x for x in graph.order if x not in out and launches(x)}
        self.level: dict[Array, int] = {}
        for one in graph.order:
            waits = one not in self.inside
            steps = (self.level[x] + (waits and x in self.inside) for x in one.args)
            self.level[one] = max(steps, default=0)
        self.owner = {one: one for one in self.inside}
        for one in graph.order:
            if one in self.inside and not self._ends(one):
                for arg in one.args:
                    self._join(one, arg)
        # Cheap, and made of nothing that is dear.
        self.light: set[Array] = set()
        for one in graph.order:
            parts = self.inside.intersection(one.args)
            if one in self.inside and is_cheap(one) and parts <= self.light:
                self.light.add(one)
        # Written out where they are read; some of them in no kernel as well.
        self.spread: set[Array] = set()
        self.loose: set[Array] = set()
        self.homes: dict[Array, frozenset[Array]] = {}
        for one in reversed(graph.order):
            if one in self.inside:
                self.homes[one] = self._homes(one)

    def _alike(self, one: Array, other: Array) -> bool:
        """Whether both may be in one kernel, whatever stands between them."""
        same = one.dims == other.dims and self.level[one] == self.level[other]
        return other in self.inside and same

    def _ends(self, one: Array) -> bool:
        """Whether it has no name, and its only reader is no part of a kernel with it.

        It is the only thing that its kernel makes, which stands where it is read.
        """
        if one in self.graph.named:
            return False
        return not any(self._alike(one, user) for user in self.graph.users[one])

    def _root(self, one: Array) -> Array:
        while self.owner[one] is not one:
            one = self.owner[one]
        return one

    def _join(self, one: Array, arg: Array) -> None:
        """Connect a value with an operand, and with others that read it as well."""
        if self._alike(one, arg):
            self.owner[self._root(arg)] = self._root(one)
        elif arg.order and one.dims == arg.dims:
            for user in self.graph.users[arg]:
                alike = user in self.inside and self._alike(one, user)
                if alike and not self._ends(user):
                    self.owner[self._root(user)] = self._root(one)

    def _homes(self, one: Array) -> frozenset[Array]:
        """The kernels that do an operation, by one member of each."""
        own = frozenset([self._root(one)])
        users = [x for x in self.graph.users[one] if x in self.inside]
        spreads = self._spreads(one)
        if not spreads and self._is_read_outside(one):
            return own
        found = frozenset[Array]().union(*(self.homes[x] for x in users))
        if not found:
            return own
        wider = [home for home in found if home.dims != one.dims]
        if wider and not (one in self.light and len(wider) == len(found)):
            return own
        if spreads:
            self.spread.add(one)
            self.loose |= {one} if self._is_read_outside(one) else set()
        return found if len(found) == 1 or not one.order or spreads else own

    def _readers(self, one: Array) -> int:
        return len(self.graph.users[one]) + self.graph.asked.get(one, 0)

    def _spreads(self, one: Array) -> bool:
        """Whether it is written out wherever it is read, as what has no name is."""
        if one in self.graph.named:
            return False
        written_out = not self.spread.isdisjoint(self.graph.users[one])
        return self._readers(one) > 1 or written_out

    def _is_read_outside(self, one: Array) -> bool:
        """Whether anything but operations of kernels reads it."""
        return bool(self.graph.asked.get(one)) or any(
            x not in self.inside or x in self.loose for x in self.graph.users[one]
        )

    def _is_output(self, one: Array) -> bool:
        """Whether it is read by anyone but the kernels that do it."""
        homes, users = self.homes[one], self.graph.users[one]
        return one not in self.spread and (
            self._is_read_outside(one) or not all(self.homes[x] <= homes for x in users)
        )

    def regions(self) -> tuple[list[Region], set[Array]]:
        """The groups, and what has to be in none: several read it, but no name."""
        members: dict[Array, list[Array]] = {}
        again: set[Array] = set()
        for one in self.graph.order:
            if one not in self.inside:
                continue
            for home in sorted(self.homes[one], key=self.place.__getitem__):
                members.setdefault(home, []).append(one)
            if self._spreads(one) and self._is_output(one):
                again.add(one)
        found: list[Region] = []
        for own in members.values():
            outputs = tuple(x for x in own if self._is_output(x))
            if len(outputs) > 1:
                again.update(x for x in outputs if x not in self.graph.named)
            found.append(Region(tuple(own), outputs))
        return found, again
