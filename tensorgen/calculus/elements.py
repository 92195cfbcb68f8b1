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

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations_with_replacement
from math import comb, gcd
from typing import Any

from tensorgen.calculus.forward import pushforward
from tensorgen.ir.at import At, Place, Places
from tensorgen.ir.constraints import atom_key
from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import (
    Affine,
    Call,
    Constraint,
    Label,
    Lookup,
    Node,
    Product,
    Ref,
    Sum,
    affine,
    children,
    delta,
    is_zero,
    topological,
)
from tensorgen.ir.rebuild import Use, merged, rebuild, terms_of
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
    for term in terms_of(graph, output):
        run = partial(_of_term, graph, term, order[0], len(order))
        derivative = graph.effort.attempt(run, None)
        if derivative is None:
            rest.append(term)
        else:
            found.append(derivative)
    if not found:
        return [], output
    return found, graph.add(*rest) if rest else graph.zeros(output.dims)


def _of_term(graph: Graph, term: Node, x: Node, count: int) -> Node | None:
    """The derivative of a term, of order `count`; None where it is not for here."""
    element = _Element(graph, x, term)
    forms = tuple(affine([(axis, 1)]) for axis in range(term.order))
    try:
        value = element.of(term, forms)
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


class _Element(At):
    """What nodes are for each element, where readings of x are inputs of their own.

    Labels below the order of the `whole` are its axes; others it sums over, in products
    that depend on one factor each, the `linear` ones.
    """

    def __init__(self, graph: Graph, x: Node, whole: Node) -> None:
        super().__init__(graph, dict(enumerate(whole.dims)))
        self.x, self.whole = x, whole
        self.readings: dict[Forms, Node] = {}
        self.depth = 0
        self.varying = {x}
        for node in topological([whole]):
            if not self.varying.isdisjoint(children(node)):
                self.varying.add(node)
        self.linear: set[Node] = set()
        while isinstance(whole, Product):
            self.linear.add(whole)
            inner = self._alone(whole)
            whole = x if inner is None else inner.node

    def _alone(self, node: Product) -> Ref | None:
        """The only factor that depends on x."""
        varying = [ref for ref in node.factors if ref.node in self.varying]
        return varying[0] if len(varying) == 1 else None

    def labels(self, place: Sequence[Affine | None]) -> list[Label]:
        """All labels of elements."""
        return [*self.sizes]

    def ends(self, node: Node, place: Place) -> bool:
        """Whether a node is the same whatever x is."""
        return node not in self.varying

    def found(self, node: Node, place: Place) -> Node:
        """A reading of x, or what is made of readings."""
        if node is self.x:
            return self._reading(place)
        opaque = isinstance(node, Call) and node in self.varying
        if opaque or self.depth == DEPTH_OF_ELEMENTS:
            raise _NotFew
        self.depth += 1
        found = super().found(node, place)
        self.depth -= 1
        return found

    def sizes_at(self, sizes: Mapping[Label, Dim], places: Places) -> dict[Any, Dim]:
        """The dims of all labels of elements."""
        return self.sizes

    def contains(self, form: Affine, size: Dim) -> bool:
        """That an axis has all places of a form: there are no other elements."""
        if not super().contains(form, size):
            raise _NotFew
        return True

    def use(self, ref: Ref, places: Places) -> Use:
        """An operand for each element."""
        return self.of(ref.node, tuple(places[x] for x in ref.labels)), [*self.sizes]

    def _reading(self, place: Place) -> Node:
        given = [form for form in place if form is not None]
        forms = tuple(affine(sorted(f.terms, key=atom_key), f.const) for f in given)
        if forms not in self.readings:
            name = f"reading {len(self.readings)}"
            self.readings[forms] = self.graph.input(name, [*self.sizes.values()])
        return self.readings[forms]

    def solve(
        self, node: Product, left: list[Constraint], places: Places
    ) -> list[Constraint]:
        """Find all places; a sum over what no delta gives makes elements of its terms.

        That is so if all depends on the node in a `linear` way.
        """
        while True:
            left = super().solve(node, left, places)
            waiting = [x for x in range(len(node.sizes)) if x not in places]
            if not waiting:
                break
            if node not in self.linear:
                raise _NotFew
            number = len(self.sizes)
            self.sizes[number] = node.sizes[waiting[0]]
            places[waiting[0]] = affine([(number, 1)])
        inner = self._alone(node) if node in self.linear else None
        if inner is not None:
            self.use(inner, places)  # it may have more labels, for all to have
        return left

    def looked_up(self, atom: Lookup, places: Places) -> Lookup:
        """An entry of an index array at labels."""
        labels = [x for y in atom.labels for x in places[y].labels]
        if [places[x] for x in atom.labels] != [affine([(x, 1)]) for x in labels]:
            raise _NotFew
        return Lookup(atom.node, tuple(labels))


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
    read = {
        x: element.entries(element.x, at, [*element.sizes])
        for at, x in element.readings.items()
    }
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
    return merged(graph, node, lambda _: True) if isinstance(node, Sum) else node


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
