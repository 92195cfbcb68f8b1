"""The coordinate form of a compressed derivative, as statements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import chain, count
from math import prod

from tensorgen.arrays.arrays import Array, array, variable
from tensorgen.arrays.object_operations import (
    AsPlaces,
    GramEntries,
    JoinEach,
    Pack,
    Places,
    Ravel,
    Reshape,
    ZerosLike,
)
from tensorgen.arrays.operations import (
    Add,
    Compare,
    Conjunction,
    Copy,
    Fill,
    Index,
    Multiply,
    Number,
    Range,
    Size,
    Variable,
)
from tensorgen.arrays.places import Entries
from tensorgen.arrays.statements import Append, Let, Statement, Unpack, When
from tensorgen.ir.constraints import Ranges
from tensorgen.ir.dims import ONE, ZERO, Dim
from tensorgen.ir.nodes import Affine, Lookup
from tensorgen.passes.views import Name
from tensorgen.structure.gram import Gram, gram
from tensorgen.structure.methods import Body, Structure
from tensorgen.structure.mirror_terms import mirrored
from tensorgen.structure.stored import StoredTerm, values

LETTERS = "ijkabcefghopqrstxyz"

COUNT = (Dim.symbol("entries"),)
"""How many entries there are: nobody knows before the places are looked at."""
ROWS, COLUMNS = variable("rows", COUNT, "int"), variable("columns", COUNT, "int")
VALUES, KEPT = variable("values", COUNT), variable("kept", COUNT, "bool")
PARTS, LOWER = variable("parts", ()), variable("lower", (), "bool")
OWN = ("rows", "columns", "parts", "lower", "kept", "shift")
"""The names of these, and of what may stand around them."""


def coordinates(
    structure: Structure, rows: Sequence[int], columns: Sequence[int]
) -> tuple[Statement, ...]:
    """Return statements that give rows, columns and values, of a triangle if asked."""
    body = Body(structure)
    entries(body, structure.tensor.terms, rows, columns)
    below = Let("kept", array(Compare(">="), ROWS, COLUMNS))
    body.statements.append(When(LOWER, (below, _only_kept())))
    return body.returning(ROWS, COLUMNS, VALUES)


def all_coordinates(
    structure: Structure, rows: Sequence[int], columns: Sequence[int]
) -> tuple[Statement, ...]:
    """Return statements that give rows, columns and values, nothing of it new."""
    body = Body(structure)
    return body.returning(*entries(body, structure.tensor.terms, rows, columns, False))


def entries(
    body: Body,
    terms: Sequence[StoredTerm],
    rows: Sequence[int],
    columns: Sequence[int],
    fresh: bool = True,
) -> tuple[Array, Array, Array]:
    """Compute the rows, columns and values of some terms, which are new if `fresh`.

    A term has an entry for each value of its free axes; tied axes follow, and entries
    whose tied axes leave the tensor are dropped. Entries of index arrays give axes too,
    one a value of their labels. Nothing depends on the values of the derivative.
    """
    groups = _of_one_pattern(terms, body.structure.tensor.dims)
    several = len(groups) > 1
    lines = body.statements
    if several:
        lines.append(Let("parts", array(Pack(grows=True))))
    before: list[StoredTerm] = []
    for group in groups:
        places = ROWS, COLUMNS
        if (label := gram(group[0])) is not None:
            lines.append(_products(body, group[0], label))
        elif before and _are_transposes(group, before, rows, columns):
            places, before = (COLUMNS, ROWS), []
        else:
            own = _Group(body, group, fresh and not several)
            found = own.write(rows, columns, named=several or fresh)
            if not (several or fresh):
                return found
            before = group
        if several:
            lines.append(Append(PARTS, array(Pack(), *places, VALUES)))
    if several:
        lines.append(Unpack(("rows", "columns", "values"), array(JoinEach(), PARTS)))
    return ROWS, COLUMNS, VALUES


def _of_one_pattern(
    terms: Sequence[StoredTerm], dims: Sequence[Dim]
) -> list[list[StoredTerm]]:
    """The terms by where their entries are, those within the places of others too.

    The first of a group has the places of all: the others have its ties, and may have
    more between axes that it leaves free.
    """
    groups: list[list[StoredTerm]] = []
    for term in sorted(terms, key=lambda term: len(term.ties)):
        for group in groups:
            if _are_within(term, group[0], dims):
                group.append(term)
                break
        else:
            groups.append([term])
    return groups


def _are_within(term: StoredTerm, other: StoredTerm, dims: Sequence[Dim]) -> bool:
    """Whether the entries of a term are at places of another's."""
    if gram(term) is not None or gram(other) is not None or term.links != other.links:
        return False
    more = {*term.ties} - {*other.ties}
    axes = {axis for tie in more for axis in (tie.first, tie.second)}
    return {*other.ties} <= {*term.ties} and axes <= other.free(dims).keys()


def _products(body: Body, term: StoredTerm, label: Gram) -> Statement:
    """The entries of a sparse matrix times its transpose, added up by the library."""
    ((weights, _),) = term.factors
    structure = body.structure
    factors = [(structure.stored[weights], (0,)), *term.numbers]
    value = body.value(structure.graph.product((0,), factors), "weights")
    made = array(
        GramEntries(label.transposed), variable(structure.matrices[label], ()), value
    )
    return Unpack(("rows", "columns", "values"), made)


def _are_transposes(
    terms: Sequence[StoredTerm],
    others: Sequence[StoredTerm],
    rows: Sequence[int],
    columns: Sequence[int],
) -> bool:
    """Whether terms are others with rows and columns exchanged."""
    if len(rows) != len(columns) or len(terms) != len(others):
        return False
    to = dict(zip((*rows, *columns), (*columns, *rows), strict=True))
    exchange = tuple(to[axis] for axis in sorted(to))
    return all(mirrored(other, exchange) in terms for other in others)


def _only_kept() -> Statement:
    """Drop the entries that are not to be kept."""
    found = map(_kept, (ROWS, COLUMNS, VALUES))
    return Unpack(("rows", "columns", "values"), array(Pack(), *found))


def _kept(one: Array) -> Array:
    return array(Index((Entries(),), COUNT), one, KEPT)


class _Group:
    """The entries of terms at the places of the first; what is returned `alone` is new.

    `free` has the sizes of the labels that number its entries, in the order that its
    arrays have: the entries of an element stand side by side.
    """

    def __init__(self, body: Body, terms: Sequence[StoredTerm], alone: bool) -> None:
        self.body = body
        self.structure = structure = body.structure
        self.terms = terms
        self.term = term = terms[0]
        self.alone = alone
        self.dims = structure.tensor.dims
        self.free = term.free(self.dims)
        self.count = prod(self.free.values(), start=ONE)
        taken = {*structure.sizes, *structure.fields}
        numbered = (f"i{k}" for k in count(1))
        letters = (x for x in chain(LETTERS, numbered) if x not in taken)
        self.names: dict[Name, str] = {
            x: next(letters) for x in (*range(structure.axes), *term.elements)
        }

    def write(
        self, rows: Sequence[int], columns: Sequence[int], named: bool
    ) -> tuple[Array, Array, Array]:
        """Return rows, columns and values, `named` or not."""
        lines, free = self.body.statements, self.free
        value = self._values()
        if free:
            flat = _flat(value, self.count, self.alone)
        else:
            flat = array(Reshape((ONE,)), value)
        start = len(lines)
        names = [self.names[x] for x in free]
        if len(free) == 1:
            lines.append(Let(names[0], array(Range(ZERO, self.count))))
        elif free:
            lines.append(Unpack(tuple(names), array(Places(tuple(free.values())))))
        places = {x: variable(self.names[x], (self.count,), "int") for x in free}
        kept = self._given(places)
        row, column = (self._raveled(places, axes) for axes in (rows, columns))
        # Whoever sorts one of them in place does not mean the other.
        if self.alone and row is column and isinstance(row.op, Variable) and not kept:
            column = array(Copy(), column)
        both = array(Conjunction(), *kept) if len(kept) > 1 else next(iter(kept), None)
        if not named:
            if both is None:
                return row, column, flat
            lines.append(Let("kept", both))
            return _kept(row), _kept(column), _kept(flat)
        lines.insert(start, Let("values", flat))
        lines += [Let("rows", row), Let("columns", column)]
        if both is not None:
            lines += [Let("kept", both), _only_kept()]
        return ROWS, COLUMNS, VALUES

    def _values(self) -> Array:
        """The entries, with an axis for each label that is free."""
        structure, free = self.structure, self.free
        parts = []
        for term in self.terms:
            more = [tie.constraint for tie in term.ties if tie not in self.term.ties]
            node = values(
                structure.graph,
                replace(term, ties=self.term.ties),
                self.dims,
                structure.factors(term),
                structure.stored,
                more,
            )
            parts.append((1, node, [*free]))
        node = structure.graph.sum([*free], parts)
        reserved = [*self.names.values(), *OWN, *self.body.taken]
        code = structure.code(node, "values", reserved, fresh=self.alone)
        self.body.statements += code.statements
        return code.returns[0]

    def _given(self, places: dict[Name, Array]) -> list[Array]:
        """Find the places that others give, and say which of them there are."""
        term = self.term
        kept: list[Array] = []
        for link in term.links:
            place = self._formed(link.form, places)
            if not isinstance(place.op, Variable):
                place = self._named(link.axis, place)
            places[link.axis] = place
            dim = self.dims[link.axis]
            anywhere = link.form.const, dim - 1 + link.form.const
            reach = Ranges.of(link.sizes).bounds(link.form) or anywhere
            kept += _limits(place, reach, dim)
        for tie in term.ties:
            place = places[tie.first]
            if tie.offset != 0:
                place = self._named(tie.second, _shifted(place, tie.offset))
            places[tie.second] = place
            reach = (tie.offset, self.dims[tie.first] - 1 + tie.offset)
            kept += _limits(place, reach, self.dims[tie.second])
        return kept

    def _named(self, axis: int, value: Array) -> Array:
        name = self.names[axis]
        self.body.statements.append(Let(name, value))
        return variable(name, (self.count,), "int")

    def _formed(self, form: Affine, places: Mapping[Name, Array]) -> Array:
        """The value of a form of places and of entries of index arrays."""
        # What is the same everywhere is said once an entry.
        found = [] if form.labels else [self._zeros(places)]
        signs = [1] * len(found)
        for atom, c in form.terms:
            value = (
                self._entry(atom, places) if isinstance(atom, Lookup) else places[atom]
            )
            if abs(c) != 1:
                value = array(Multiply(Fraction(abs(c)), 1), value)
            found.append(value)
            signs.append(1 if c > 0 else -1)
        if signs == [1]:
            return _shifted(found[0], form.const)
        return _shifted(array(Add(tuple(signs)), *found), form.const)

    def _entry(self, atom: Lookup, places: Mapping[Name, Array]) -> Array:
        """What an index array says; its own integers may be too small for places."""
        name = self.structure.fields[self.structure.tensor.arrays.index(atom.node)]
        index = variable(name, atom.node.dims, "int", name)
        at = Index((Entries(),) * len(atom.labels), (self.count,))
        entry = array(at, index, *(places[x] for x in atom.labels))
        return array(AsPlaces((self.count,)), entry)

    def _zeros(self, places: Mapping[Name, Array]) -> Array:
        if not self.free:
            return array(Fill((ONE,), 0, "int"))
        return array(ZerosLike((self.count,)), places[next(iter(self.free))])

    def _raveled(self, places: Mapping[Name, Array], axes: Sequence[int]) -> Array:
        """The position in C order: `(i * n + j) * m + k`."""
        if not axes:
            return self._zeros(places)
        found = places[axes[0]]
        for axis in axes[1:]:
            size = array(Size(self.dims[axis]))
            found = array(Multiply(Fraction(1), 2), found, size)
            found = array(Add((1, 1)), found, places[axis])
        return found


def _flat(value: Array, count: Dim, alone: bool) -> Array:
    """A vector of the entries of an array, which is new where it stands `alone`."""
    if not alone:
        return array(Ravel((count,)), value)
    if value.order == 1:
        return value
    if isinstance(value.op, Copy):
        return array(Ravel((count,), copied=True), value.args[0])
    return array(Ravel((count,)), value)


def _limits(place: Array, reach: tuple[Dim, Dim], dim: Dim) -> list[Array]:
    """The conditions that a position is inside an axis, where it might not be."""
    least, most = reach
    found = []
    if not least.is_nonnegative():
        found.append(array(Compare(">="), place, array(Number(Fraction(0)))))
    if not (dim - 1 - most).is_nonnegative():
        found.append(array(Compare("<"), place, array(Size(dim))))
    return found


def _shifted(place: Array, offset: Dim) -> Array:
    if offset == 0:
        return place
    signs, sizes = zip(*offset.parts, strict=True)
    return array(Add((1, *signs)), place, *(array(Size(size)) for size in sizes))
