"""Nodes at places: their entries at affine forms of labels.

Sums, maps and products are at a place what their operands are there: of `f(x) * y`
the entry at `2*k + 1` is f of that entry of x, times that of y. So reading moves to the
inputs, through deltas too: `sum_p delta(p - i - 1) * x[p]` at i is x at i + 1.

This is how entries are pushed inside. Where that pays, and where reading ends, is said
by who asks: ranges of sums (`operators/conditions/narrow.py`), sums over steps
(`operators/recurrences/folds.py`), derivatives by elements (`calculus/elements.py`).
The dual, a node over an axis more, is `operators/recurrences/all_steps.py`.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any

from tensorgen.ir.constraints import Ranges, solvable, solved
from tensorgen.ir.dims import ZERO, Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import (
    Affine,
    Constraint,
    Iota,
    Label,
    Lookup,
    Map,
    Node,
    Product,
    Ref,
    Sum,
    affine,
)
from tensorgen.ir.rebuild import Use, of_others, refs_of, sizes_of

Place = tuple[Affine | None, ...]
"""The index along each axis of a node; None where the axis stays as it is."""

Places = dict[Label, Affine]
"""The same of the labels of a node, without those that stay."""


def own(label: Label) -> Hashable:
    """The name of an axis, or of a summed label, that stays as it is."""
    return ("own", label)


class At:
    """Nodes at places over labels of `sizes`, whose entries are in the arrays.

    What is at a place has `labels`: those of its forms, and its own axes that stay.
    """

    def __init__(self, graph: Graph, sizes: Mapping[Any, Dim]) -> None:
        self.graph = graph
        self.sizes: dict[Any, Dim] = dict(sizes)
        self._known: dict[tuple[Node, Place], Node] = {}

    def of(self, node: Node, place: Place) -> Node:
        """Return the entries of a node at a place, by what it is made of."""
        if (node, place) not in self._known:
            self._known[node, place] = self.found(node, place)
        return self._known[node, place]

    def labels(self, place: Sequence[Affine | None]) -> list[Any]:
        """The labels of what is at a place, in the order of the axes."""
        found: dict[Any, None] = {}
        for axis, form in enumerate(place):
            names = [own(axis)] if form is None else form.labels
            found.update(dict.fromkeys(names))
        return list(found)

    def found(self, node: Node, place: Place) -> Node:
        """The entries at a place, by those of operands."""
        if self.ends(node, place):
            return self.entries(node, place, self.labels(place))
        places = {k: form for k, form in enumerate(place) if form is not None}
        match node:
            case Product():
                return self.product(node, places)
            case Sum() | Map():
                uses = [self.use(ref, places) for ref in refs_of(node)]
                sizes = self.sizes_at(sizes_of(node), places)
                return of_others(self.graph, node, self.labels(place), uses, sizes)
            case Iota() if not self.labels(place):
                return self.graph.size(places[0].const)
        return self.entries(node, place, self.labels(place))

    def ends(self, node: Node, place: Place) -> bool:
        """Whether a node is read as it is: here, where its axes have other names."""
        pairs = zip(place, node.dims, strict=True)
        given = [(form, dim) for form, dim in pairs if form is not None]
        labels = {x for form, _ in given for x, _ in form.terms}
        return len(labels) == len(given) and all(
            [c for _, c in form.terms] == [1]
            and form.const == 0
            and self.sizes.get(form.terms[0][0]) == dim
            for form, dim in given
        )

    def entries(self, node: Node, place: Place, out: Sequence[Hashable]) -> Node:
        """The entries at a place of an array that is read as it is."""
        axes = [own(k) if form is None else ("at", k) for k, form in enumerate(place)]
        pairs = list(zip(axes, place, strict=True))
        sizes = {x: self.sizes[x] for x in out if x in self.sizes}
        return self.graph.product(
            out,
            [(node, axes)],
            constraints=[
                Constraint("eq", affine([(x, 1)]) - form)
                for x, form in pairs
                if form is not None
            ],
            sizes={**sizes, **dict(zip(axes, node.dims, strict=True))},
        )

    def use(self, ref: Ref, places: Places) -> Use:
        """An operand at the places of its labels."""
        place = tuple(places.get(x) for x in ref.labels)
        if all(form is None for form in place):
            return ref.node, [own(x) for x in ref.labels]
        names = {own(k): own(x) for k, x in enumerate(ref.labels)}
        found = self.of(ref.node, place)
        return found, [names.get(x, x) for x in self.labels(place)]

    def product(self, node: Product, places: Places) -> Node:
        """A product at places of axes, or over those of summed labels alone."""
        places = dict(places)
        left = self.solve(node, list(node.constraints), places)
        uses = [self.use(ref, places) for ref in node.factors]
        sizes = self.sizes_at(sizes_of(node), places)
        more, constraints = self.kept([self._over(c, places) for c in left], sizes)
        return of_others(
            self.graph,
            node,
            self.labels([places.get(k) for k in range(node.order)]),
            [*uses, *more],
            sizes,
            constraints,
        )

    def solve(
        self, node: Product, left: list[Constraint], places: Places
    ) -> list[Constraint]:
        """Find the places of summed labels by deltas; return what is left to hold."""
        while (step := next(self._steps(node, left, places), None)) is not None:
            x, given, form = step
            places[x] = form
            left.remove(given)
        return left

    def _steps(
        self, node: Product, left: Sequence[Constraint], places: Places
    ) -> Iterator[tuple[Label, Constraint, Affine]]:
        """Summed labels, and deltas that give their places by those of others."""
        for one in left:
            for x in solvable(one):
                if x >= node.order and {*one.form.labels} - {*places} == {x}:
                    form = self.form(solved(one.form, x), places)
                    if self.contains(form, node.sizes[x]):
                        yield x, one, form

    def contains(self, form: Affine, size: Dim) -> bool:
        """Whether an axis surely has all places: a function of nothing is no number."""
        return Ranges.of(self.sizes).contain(form, (ZERO, size))

    def kept(
        self, constraints: Sequence[Constraint], sizes: Mapping[Any, Dim]
    ) -> tuple[Sequence[Use], Sequence[Constraint]]:
        """What constraints over labels of these sizes are: factors, and constraints."""
        return [], constraints

    def sizes_at(self, sizes: Mapping[Label, Dim], places: Places) -> dict[Any, Dim]:
        """The dims of labels of a node, where some are at places."""
        found: dict[Any, Dim] = {}
        for x, dim in sizes.items():
            if x in places:
                found.update((y, self.sizes[y]) for y in self.labels([places[x]]))
            else:
                found[own(x)] = dim
        return found

    def _over(self, one: Constraint, places: Places) -> Constraint:
        return Constraint(one.kind, self.form(one.form, places))

    def form(self, form: Affine, places: Places) -> Affine:
        """A form of labels, some of which are at places."""
        found = affine([], form.const)
        for atom, c in form.terms:
            if isinstance(atom, Lookup):
                found += affine([(self.looked_up(atom, places), c)])
            elif atom in places:
                found += places[atom].scaled(c)
            else:
                found += affine([(own(atom), c)])
        return found

    def looked_up(self, atom: Lookup, places: Places) -> Lookup:
        """An entry of an index array, which is one of another array at places."""
        place = tuple(places.get(x) for x in atom.labels)
        names = {own(k): own(x) for k, x in enumerate(atom.labels)}
        out = self.labels(place)
        found = self.entries(atom.node, place, out)
        return Lookup(found, tuple(names.get(x, x) for x in out))
