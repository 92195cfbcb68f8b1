"""What is done alike to slices of an array, done to the array: `f(A[0])`, `f(A[1])`.

Gates of a cell, channels, coordinates: each is made by the same function of slices
`A[k]`, `b[k]` of arrays and of what is common to all. A call costs more than what it
does to a short slice, so the slices are taken of the result.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from tensorgen.ir.constraints import index_bound
from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import (
    Call,
    Constraint,
    Lookup,
    Map,
    Node,
    Product,
    Sum,
    children,
    delta,
    topological,
)
from tensorgen.operators.recurrences.all_steps import FEW, STEP, AllSteps, is_alone
from tensorgen.operators.recurrences.recurrence import part, row
from tensorgen.operators.word_shapes import fits, joined


class Member(NamedTuple):
    """A node that is one of a family: which, and at which place of its slices."""

    family: int
    place: int


class Joined(NamedTuple):
    """An array of members, from the first place on."""

    node: Node
    first: int
    size: int

    def covers(self, first: int, size: int) -> bool:
        """Whether places are among those of the members."""
        return self.first <= first and first + size <= self.first + self.size


def join_slices(graph: Graph, roots: Sequence[Node]) -> dict[Node, Node]:
    """Return what replaces nodes below `roots`: slices of what they are together.

    Fires on functions of elements and on what they are applied to, which is formed
    anyhow: what is multiplied further may be multiplied in another order. A family has
    neighbouring places, at most FEW, so that it is no larger axis of all steps. Numbers
    with names are left: they are read by these. Ends: each node is looked at once.
    """
    order = topological(roots)
    families = _Families(order)
    formed: set[Node] = set()
    for node in order:
        if isinstance(node, Map):
            formed.update((node, *children(node)))
    joined: dict[int, list[Joined]] = {}
    known: dict[Node, Node] = {}
    for number, own in families.families.items():
        numbers = any(x.order == 0 and x in graph.names for x in own.values())
        if numbers or formed.isdisjoint(own.values()):
            continue
        for run in _runs(own):
            rows = _rows(graph, families, joined, run[0], len(run))
            every = _Together(graph, families, run, rows).of(own[run[0]])
            _call(graph, every, [own[place] for place in run])
            joined.setdefault(number, []).append(Joined(every, run[0], len(run)))
            for k, place in enumerate(run):
                known[own[place]] = row(graph, every, Dim.of(k))
    return known


class _Together(AllSteps):
    """Nodes over slices, with an axis for these; `rows` are such arrays."""

    def __init__(
        self,
        graph: Graph,
        families: _Families,
        run: Sequence[int],
        rows: Mapping[Node, Node],
    ) -> None:
        """Look at the members at the first place of a run."""
        super().__init__(graph, Dim.of(len(run)), rows)
        self.families = families
        self.first = run[0]

    def _varies(self, node: Node) -> bool:
        own = self.families.members.get(node)
        return own is not None and own.place == self.first

    def _constraint(self, one: Constraint) -> Constraint:
        place = _place(one)
        if place is None:
            return super()._constraint(one)
        (label,) = one.form.labels
        return delta({label: 1, STEP: -1}, -Dim.of(place))

    def _suggest(self, node: Node) -> None:
        """Call nothing what one slice is called."""


class _Families:
    """Nodes that differ in the places of slices alone, by these places."""

    def __init__(self, order: Sequence[Node]) -> None:
        self.numbers: dict[object, int] = {}
        self.members: dict[Node, Member] = {}
        self.families: dict[int, dict[int, Node]] = {}
        for node in order:
            below = [x for x in children(node) if x in self.members]
            places = {self.members[x].place for x in below}
            if isinstance(node, Product):
                places.update(x for x in map(_place, node.constraints) if x is not None)
            if len(places) == 1 and (key := self._key(node)) is not None:
                number = self.numbers.setdefault(key, len(self.numbers))
                (place,) = places
                self.members[node] = Member(number, place)
                self.families.setdefault(number, {})[place] = node

    def _of(self, node: Node) -> object:
        """A node, or the family of a member, as part of a key."""
        own = self.members.get(node)
        return node if own is None else own.family

    def _key(self, node: Node) -> object:
        """What members of one family have in common."""
        if index_bound(node) is not None:
            return None
        match node:
            case Product(factors=factors):
                if len(children(node)) > len(factors):
                    return None  # places that are looked up
                refs = tuple((self._of(x), labels) for x, labels in factors)
                ties = tuple(
                    x if _place(x) is None else x.form.labels for x in node.constraints
                )
                return ("product", node.order, refs, ties, node.coefficient, node.sizes)
            case Sum(terms=terms):
                parts = ((c, self._of(x), labels) for c, x, labels in terms)
                return ("sum", node.dims, frozenset(parts))
            case Map(args=args):
                refs = tuple((self._of(x), labels) for x, labels in args)
                return ("map", node.function, node.dims, refs)
            case Call() if not is_alone(node):
                own = tuple(self._of(x) for x in node.args)
                return ("call", node.operator, node.dims, node.params, own)
            case _:
                return None


def _place(one: Constraint) -> int | None:
    """The place in an array that a constraint takes a slice at, if it does."""
    if one.kind != "eq" or len(one.form.terms) != 1:
        return None
    ((atom, sign),) = one.form.terms
    place = (one.form.const * -sign).constant
    if isinstance(atom, Lookup) or abs(sign) != 1 or place is None or place < 0:
        return None
    return place


def _runs(own: Mapping[int, Node]) -> Iterator[list[int]]:
    """Neighbouring places, two to FEW together."""
    run: list[int] = []
    for place in sorted(own):
        if run and (place != run[-1] + 1 or len(run) == FEW):
            if len(run) > 1:
                yield run
            run = []
        run.append(place)
    if len(run) > 1:
        yield run


def _rows(
    graph: Graph,
    families: _Families,
    joined: Mapping[int, Sequence[Joined]],
    first: int,
    count: int,
) -> dict[Node, Node]:
    """What has been made of slices already, by the first of each."""
    rows: dict[Node, Node] = {}
    for number, made in joined.items():
        for one in made:
            if one.covers(first, count):
                node = families.families[number][first]
                rows[node] = part(graph, one.node, first - one.first, Dim.of(count))
    return rows


def _call(graph: Graph, every: Node, members: Sequence[Node]) -> None:
    """Call an array after all that it holds, if all have names."""
    names = [graph.names.get(x) or graph.suggestions.get(x) for x in members]
    word = joined(list(map(str, names)))
    if all(names) and fits(word):
        graph.suggest(every, word)
