"""Derivatives of sums of functions of few entries of an input, element by element.

In `sum_i g(x[i], x[i + 1], x[i + 2])` each element i reads w = 3 entries of x. Taken by
all of x, a derivative of order k has a part for each of w**k sequences of these. But
the order in which derivatives are taken does not matter (Schwarz), and so only
`binomial(w + k - 1, k)` of them differ: g is differentiated by what it reads, each
reading an input of its own, and what that gives is put at its places,

    D[j1, .., jk] = sum_i sum_a1..ak E[i, {a1, .., ak}] * prod_m delta(jm, i + am)

where E has one number for each set of readings that may repeat.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from itertools import combinations_with_replacement
from math import comb, gcd
from typing import Any

from tensorgen.calculus.forward import pushforward
from tensorgen.ir.constraints import Ranges, atom_key, solvable, solved
from tensorgen.ir.dims import ZERO, Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import (
    Affine,
    Constraint,
    Label,
    Lookup,
    Map,
    Node,
    Product,
    Sum,
    Term,
    affine,
    children,
    delta,
    is_zero,
    topological,
)
from tensorgen.ir.rebuild import rebuild
from tensorgen.operators.matrices.packing import unpacked

SEQUENCES = 128
"""Of readings: with more of them, methods that name each are too long to be written."""

GAPS = 2
"""An array has room for so many places for each one that is read."""

DEPTH_OF_ELEMENTS = 60
"""How many nodes above one another are looked through."""

Forms = tuple[Affine, ...]
"""A place: the index along each axis."""


def by_elements(
    graph: Graph, output: Node, order: Sequence[Node]
) -> tuple[list[Node], Node]:
    """Return the derivatives of terms of a function, and the sum of the other terms.

    A term is differentiated here if it is a sum of functions of few entries of the only
    input in `order`, and of these there are too many sequences.
    """
    if len({*order}) > 1:
        return [], output
    found, rest = list[Node](), list[Node]()
    for term in _terms(graph, output):
        run = partial(_of_term, graph, term, order[0], len(order))
        derivative = graph.effort.attempt(run, None)
        if derivative is None:
            rest.append(term)
        else:
            found.append(derivative)
    if not found:
        return [], output
    return found, graph.add(*rest) if rest else graph.zeros(output.dims)


def _terms(graph: Graph, node: Node) -> list[Node]:
    """The terms of a sum, each with all axes."""
    if not isinstance(node, Sum):
        return [node]
    axes, sizes = range(node.order), dict(enumerate(node.dims))
    return [
        graph.product(
            axes, [(t.node, t.labels)], coefficient=t.coefficient, sizes=sizes
        )
        for t in node.terms
    ]


def _of_term(graph: Graph, term: Node, x: Node, count: int) -> Node | None:
    """The derivative of a term, of order `count`; None where it is not for here."""
    element = _Element(graph, x, term)
    forms = tuple(affine([(axis, 1)]) for axis in range(term.order))
    try:
        value = element.at(term, forms, linear=True)
    except _NotFew:
        return None
    row = _row(element.readings)
    if row is None or len(element.readings) ** count <= SEQUENCES:
        return None
    inputs = [element.readings.get(place) for place in row.places]
    if comb(len(inputs) + count - 1, count) > SEQUENCES:
        return None
    packed = _packed(graph, element, value, inputs, count)
    return _placed(graph, element, packed, row, count)


class _NotFew(Exception):
    """An element depends on the input by more than a few of its entries."""


@dataclass
class _Element:
    """What nodes are for each element, where readings of x are inputs of their own.

    Labels below the order of the `whole` are its axes; others it sums over.
    """

    graph: Graph
    x: Node
    whole: Node
    sizes: dict[Label, Dim] = field(init=False)
    readings: dict[Forms, Node] = field(default_factory=dict)
    _depth: int = 0
    _varying: set[Node] = field(init=False)
    _known: dict[tuple[Node, Forms], Node] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.sizes = dict(enumerate(self.whole.dims))
        self._varying = {self.x}
        for node in topological([self.whole]):
            if not self._varying.isdisjoint(children(node)):
                self._varying.add(node)

    def at(self, node: Node, place: Forms, linear: bool = False) -> Node:
        """The entry of a node at a place, for each element.

        A sum over what the element itself does not know makes elements of its terms,
        if all depends on the node in a `linear` way.
        """
        if (node, place) not in self._known:
            if self._depth == DEPTH_OF_ELEMENTS:
                raise _NotFew
            self._depth += 1
            self._known[node, place] = self._at(node, place, linear)
            self._depth -= 1
        return self._known[node, place]

    def _at(self, node: Node, place: Forms, linear: bool) -> Node:
        if node is self.x:
            return self._reading(place)
        if node not in self._varying:
            return self.entry(node, place)
        match node:
            case Product():
                return self._product(node, place, linear)
            case Map(args=refs):
                uses = [self._use(r.node, [place[a] for a in r.labels]) for r in refs]
                return self.graph.map(node.function, [*self.sizes], uses, self.sizes)
            case Sum(terms=terms):
                parts = [
                    (t.coefficient, *self._use(t.node, [place[a] for a in t.labels]))
                    for t in terms
                ]
                return self.graph.sum([*self.sizes], parts, self.sizes)
        raise _NotFew

    def _use(self, node: Node, place: Sequence[Affine]) -> tuple[Node, list[Label]]:
        return self.at(node, tuple(place)), [*self.sizes]

    def _reading(self, place: Forms) -> Node:
        place = tuple(affine(sorted(f.terms, key=atom_key), f.const) for f in place)
        if place not in self.readings:
            name = f"reading {len(self.readings)}"
            self.readings[place] = self.graph.input(name, [*self.sizes.values()])
        return self.readings[place]

    def entry(self, node: Node, place: Forms) -> Node:
        """The entry at a place of an array that is what it is."""
        axes = [("axis", k) for k in range(node.order)]
        forms = zip(axes, place, strict=True)
        return self.graph.product(
            [*self.sizes],
            [(node, axes)],
            constraints=[Constraint("eq", affine([(a, 1)]) - f) for a, f in forms],
            sizes={**self.sizes, **dict(zip(axes, node.dims, strict=True))},
        )

    def _product(self, node: Product, place: Forms, linear: bool) -> Node:
        places = dict(enumerate(place))
        left = self._solve(node, places, linear)
        uses = [(r.node, tuple(places[a] for a in r.labels)) for r in node.factors]
        varying = [use for use in uses if use[0] in self._varying]
        if linear and len(varying) == 1:
            self.at(*varying[0], linear=isinstance(varying[0][0], Product))
        return self.graph.product(
            [*self.sizes],
            [self._use(*use) for use in uses],
            coefficient=node.coefficient,
            constraints=[Constraint(kind, self._over(f, places)) for kind, f in left],
            sizes=self.sizes,
        )

    def _solve(
        self, node: Product, places: dict[Label, Affine], linear: bool
    ) -> list[Constraint]:
        """Find the places of the summed labels, and return what is left to hold."""
        left = list(node.constraints)
        waiting = [*range(node.order, len(node.sizes))]
        while waiting:
            step = next(
                (
                    (x, c)
                    for c in left
                    for x in solvable(c)
                    if [y for y in c.form.labels if y in waiting] == [x]
                ),
                None,
            )
            if step is not None:
                x, given = step
                left.remove(given)
                places[x] = self._over(solved(given.form, x), places)
                if not Ranges.of(self.sizes).contain(places[x], (ZERO, node.sizes[x])):
                    raise _NotFew
            elif linear:
                x, number = waiting[0], len(self.sizes)
                self.sizes[number] = node.sizes[x]
                places[x] = affine([(number, 1)])
            else:
                raise _NotFew
            waiting.remove(x)
        return left

    def _over(self, form: Affine, places: dict[Label, Affine]) -> Affine:
        """A form of labels that are at places, over those of elements."""
        found = affine([], form.const)
        for atom, c in form.terms:
            if isinstance(atom, Lookup):
                inside = [places[x] for x in atom.labels]
                labels = tuple(x for f in inside for x in f.labels)
                if inside != [affine([(x, 1)]) for x in labels]:
                    raise _NotFew
                found += affine([(Lookup(atom.node, labels), c)])
            else:
                found += places[atom].scaled(c)
        return found


@dataclass(frozen=True)
class _Row:
    """Places one after the other: `first`, and so many steps from it."""

    first: Forms
    step: tuple[int, ...]
    count: int

    @property
    def places(self) -> list[Forms]:
        """All of them."""
        return [self.along(affine([], k)) for k in range(self.count)]

    def along(self, number: Affine) -> Forms:
        """The place of a number."""
        pairs = zip(self.first, self.step, strict=True)
        return tuple(form + number.scaled(c) for form, c in pairs)


def _row(places: Collection[Forms]) -> _Row | None:
    """The row in which places stand, if there is one without large gaps."""
    start = next(iter(places), ())
    found: dict[tuple[int, ...], Forms] = {}
    for place in places:
        apart = [f - g for f, g in zip(place, start, strict=True)]
        sizes = [f.const.constant for f in apart if not f.terms]
        if len(sizes) < len(start) or None in sizes:
            return None
        found[tuple(s for s in sizes if s is not None)] = place
    first = min(found, default=())
    ways = [[a - b for a, b in zip(way, first, strict=True)] for way in sorted(found)]
    last = ways[-1] if ways else []
    if not any(last):
        return None
    axis = next(k for k, size in enumerate(last) if size)
    # Each way is a multiple of one step: what it has along one axis says which.
    unit = gcd(*(way[axis] for way in ways))
    step = [size * unit // last[axis] for size in last]
    numbers = [way[axis] // unit for way in ways]
    if ways != [[n * size for size in step] for n in numbers]:
        return None
    if numbers[-1] >= GAPS * len(ways):
        return None
    return _Row(found[first], tuple(step), numbers[-1] + 1)


def _packed(
    graph: Graph,
    element: _Element,
    value: Node,
    inputs: Sequence[Node | None],
    count: int,
) -> Node:
    """The derivatives of elements by their inputs, once for each set of these."""
    one = graph.constant(1, [*element.sizes.values()])
    none = graph.zeros([*element.sizes.values()])
    known: dict[tuple[int, ...], Node] = {(): value}
    for size in range(1, count + 1):
        for chosen in combinations_with_replacement(range(len(inputs)), size):
            before, x = known[chosen[:-1]], inputs[chosen[-1]]
            (found,) = (
                [none] if x is None else pushforward(graph, [before], {x: one}, ())
            )
            (known[chosen],) = rebuild(graph, [found], partial(_merged, graph))
    read = {x: element.entry(element.x, at) for at, x in element.readings.items()}
    # In the order of `packed`: by the largest, then by the next.
    last = sorted((c for c in known if len(c) == count), key=lambda c: c[::-1])
    entries = rebuild(
        graph, [known[c] for c in last], lambda node: read.get(node, node)
    )
    sizes: dict[Any, Dim] = {**element.sizes, "set": Dim.of(len(last))}
    axes = [*sizes]
    parts = [
        graph.product(
            axes,
            [(entry, [*element.sizes])],
            constraints=[delta({"set": 1}, -number)],
            sizes=sizes,
        )
        for number, entry in enumerate(entries)
        if not is_zero(entry)
    ]
    return graph.sum(axes, [(1, part, axes) for part in parts], sizes)


def _merged(graph: Graph, node: Node) -> Node:
    """A sum of sums as one, in which terms that are alike are one."""
    if not isinstance(node, Sum):
        return node
    parts = [
        (
            outer.coefficient * inner.coefficient,
            inner.node,
            [at[x] for x in inner.labels],
        )
        for outer in node.terms
        for at in [outer.labels]
        for inner in (
            outer.node.terms
            if isinstance(outer.node, Sum)
            else (Term(Fraction(1), outer.node, tuple(range(outer.node.order))),)
        )
    ]
    return graph.sum(range(node.order), parts, dict(enumerate(node.dims)))


def _placed(
    graph: Graph, element: _Element, packed: Node, row: _Row, count: int
) -> Node:
    """The derivative by x, from those by what is read of it in a row."""
    lead, axes = range(element.whole.order), range(element.x.order)
    numbers = [("number", m) for m in range(count)]
    sizes: dict[Any, Dim] = {**element.sizes}
    sizes.update(dict.fromkeys(numbers, Dim.of(row.count)))
    places = []
    for m, number in enumerate(numbers):
        for axis, form in zip(axes, row.along(affine([(number, 1)])), strict=True):
            sizes["axis", m, axis] = element.x.dims[axis]
            places.append(Constraint("eq", affine([(("axis", m, axis), 1)]) - form))
    whole = unpacked(graph, packed, Dim.of(row.count), count)
    return graph.product(
        [*lead, *(("axis", m, axis) for m in range(count) for axis in axes)],
        [(whole, [*element.sizes, *numbers])],
        constraints=places,
        sizes=sizes,
    )
