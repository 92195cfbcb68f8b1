"""Which operations one kernel does: those of one shape that feed each other.

An operation stands on a *level*: as many times as something between the inputs and
itself has to wait for whole arrays. Operations of one shape on one level wait for
nothing of each other but entries, so whatever is connected there may be one kernel. An
operation that only later ones ask for is done by these, or, if it is cheap, by those of
more axes, and by several if it is made of one array. What has no name and several
readers is written out for each of them, as it is in code without kernels.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

from tensorgen.arrays.arrays import Array, array
from tensorgen.arrays.entrywise import is_cheap, launches
from tensorgen.arrays.operations import InnerProduct, MatMul, Multiply, Reduce

LEAST = 2
"""The launches that a kernel has to replace."""


@dataclass(frozen=True, eq=False)
class Region:
    """What one kernel does: its `members` in order, and those that others read.

    One that adds up makes the `total` of its `terms`, the last member, or what is done
    `after` that with numbers alone.
    """

    members: tuple[Array, ...]
    outputs: tuple[Array, ...]
    terms: Array | None = None
    total: Array | None = None
    after: tuple[Array, ...] = ()

    @property
    def inside(self) -> set[Array]:
        """All that it makes, whether others read it or not."""
        own = {self.total} if self.total is not None else set()
        return {*self.members, *own, *self.after}

    @property
    def last(self) -> Region:
        """What is done after the sum, as what one kernel does."""
        return Region(self.after, self.outputs)

    @property
    def made(self) -> tuple[Array, ...]:
        """What its text makes, an entry of each."""
        return self.outputs if self.terms is None else (self.terms,)

    @property
    def axes(self) -> tuple[int, ...]:
        """The axes along which terms are added up; nothing for all of them."""
        op = self.total.op if self.total is not None and self.total.order else None
        return op.axes if isinstance(op, Reduce) else ()

    @property
    def given(self) -> set[Array]:
        """What its members are made of that is none of them."""
        return {x for one in self.members for x in one.args} - {*self.members}

    @property
    def pays(self) -> bool:
        """Whether it replaces several launches, of numbers of a type that is given."""
        typed = any(x.kind == "float" and not x.weak for x in self.given)
        return typed and sum(map(launches, self.inside)) >= LEAST - self.adds

    @property
    def adds(self) -> bool:
        """Whether it adds up what its members make."""
        return self.total is not None


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

    def is_read_by(self, one: Array, readers: set[Array]) -> bool:
        """Whether a value is read by some others alone."""
        return not self.asked.get(one) and {*self.users[one]} <= readers

    def ordered(self, values: Iterable[Array]) -> tuple[Array, ...]:
        """Values in order, each once."""
        return tuple(sorted({*values}, key=self.place.__getitem__))

    @cached_property
    def place(self) -> dict[Array, int]:
        """Where a value stands in the order."""
        return {one: k for k, one in enumerate(self.order)}

    def regions(self) -> list[Region]:
        """The regions that pay, each with what is read of it."""
        while True:
            found, again = _Grouping(self).regions()
            if not again:
                return [region for region in with_sums(self, found) if region.pays]
            self.dropped |= again


class _Grouping:
    """One try to group the operations of a graph."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        out = {*graph.barred, *graph.dropped}
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
        # What is made of one array and of numbers: to read either takes as long.
        self.slight = {x for x in self.light if len(self._read(x)) < 2}
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
        again = one in self.slight or spreads
        return found if len(found) == 1 or again else own

    def _read(self, one: Array) -> set[Array]:
        """The arrays that a value is made of, apart from numbers."""
        found = set[Array]()
        for arg in one.args:
            found |= self._read(arg) if arg in self.light else {arg}
        return {x for x in found if x.order}

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
            for home in self.graph.ordered(self.homes[one]):
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


def with_sums(graph: Graph, regions: Sequence[Region]) -> list[Region]:
    """Regions, those that are added up and nothing else with the sum within.

    What others read too is written anyway, and added up from there.
    """
    of = {one: region for region in regions for one in region.outputs}
    gone: set[Region] = set()
    found: list[Region] = []
    for one in graph.order:
        terms = terms_of(one)
        if terms is None or one in graph.barred:
            continue
        alone = {x for x in one.args if x in of and graph.is_read_by(x, {one})}
        parts = {of[x] for x in alone}
        if not parts or not all({*part.outputs} <= alone for part in parts):
            continue
        last = _after(graph, one, regions)
        members = graph.ordered(x for part in parts for x in part.members)
        members = (*(x for x in members if x is not terms), terms)
        outputs = (one,) if last is None else last.outputs
        after = () if last is None else last.members
        found.append(Region(members, outputs, terms, one, after))
        gone |= parts
        gone |= {last} if last is not None else set()
    return [*(region for region in regions if region not in gone), *found]


def _after(graph: Graph, total: Array, regions: Sequence[Region]) -> Region | None:
    """What is made of a sum and of numbers alone, and of nothing else that is a sum."""
    readers = {*graph.users[total]}
    several = [x for x in regions if not readers.isdisjoint(x.members)]
    if graph.asked.get(total) or len(several) != 1:
        return None
    (region,) = several
    if not readers <= {*region.members}:
        return None
    numbers = all(x.weak for x in region.given - {total})
    alike = [(x.kind, x.dims) for x in region.outputs] == [("float", total.dims)]
    return region if numbers and alike else None


def terms_of(one: Array) -> Array | None:
    """The numbers that a sum is of, if it is one."""
    match one.op:
        case Reduce():
            (terms,) = one.args
        case InnerProduct() | MatMul() if not one.order:
            terms = array(Multiply(Fraction(1), 2), *one.args)
        case _:
            return None
    return terms if terms.kind == "float" and launches(terms) else None
