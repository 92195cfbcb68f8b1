"""The coordinate form of a compressed derivative, as statements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import chain, count
from math import prod

from tensorgen.arrays import operations as ops
from tensorgen.arrays.arrays import Array, array, variable
from tensorgen.arrays.object_operations import (
    AsPlaces,
    GramEntries,
    GramPlaces,
    Made,
    Pack,
    Places,
    Reshape,
    ZerosLike,
)
from tensorgen.arrays.places import Entries
from tensorgen.arrays.statements import Let, Statement, Unpack
from tensorgen.ir.constraints import Ranges
from tensorgen.ir.dims import ONE, ZERO, Dim
from tensorgen.ir.nodes import Affine, Constraint, Lookup
from tensorgen.ir.views import Name
from tensorgen.structure.gram import Gram, gram
from tensorgen.structure.methods import Body, Structure
from tensorgen.structure.mirror_terms import mirrored
from tensorgen.structure.stored import StoredTerm, values, varying

LETTERS = "ijkabcefghopqrstxyz"

COUNT = (Dim.symbol("entries"),)
"""How many entries there are: nobody knows before the places are looked at."""
ROWS, COLUMNS = variable("rows", COUNT, "int"), variable("columns", COUNT, "int")
VALUES, KEPT = variable("values", COUNT), variable("kept", COUNT, "bool")
Sides = tuple[Sequence[int], Sequence[int]]
"""The axes of rows, and those of columns."""


def entry_values(structure: Structure, sides: Sides) -> tuple[Statement, ...]:
    """Return statements that give the arrays of entries, as a list."""
    body = Body(structure)
    return body.returning(_values(body, structure.tensor.terms, sides))


def entry_places(structure: Structure, sides: Sides) -> tuple[Statement, ...]:
    """Return statements that say where the entries of each of these arrays are.

    These are rows, columns and, unless the array has all of them in order, third their
    numbers in it, or which of its entries are kept.
    """
    body = Body(structure)
    return body.returning(_places(body, structure.tensor.terms, sides))


def entries(
    body: Body, terms: Sequence[StoredTerm], sides: Sides
) -> tuple[Array, Array, Array]:
    """Compute the rows, columns and values of some terms.

    A term has an entry for each value of its free axes; tied axes follow, and entries
    whose tied axes leave the tensor are dropped. Entries of index arrays give axes too,
    one a value of their labels. Nothing depends on the values of the derivative.
    """
    values = body.let("values", _values(body, terms, sides))
    made = array(Made("_joined"), values, _places(body, terms, sides))
    body.statements.append(Unpack(("rows", "columns", "values"), made))
    return ROWS, COLUMNS, VALUES


def _values(body: Body, terms: Sequence[StoredTerm], sides: Sides) -> Array:
    """The arrays of entries; one of terms whose transposes are there too twice."""
    found: list[Array] = []
    for group, is_mirrored in _groups(terms, body.structure, sides):
        if (label := gram(group[0])) is not None:
            value = _products(body, group[0], label)
        else:
            value = _Group(body, group).values()
        found += [body.let("part", value)] * 2 if is_mirrored else [value]
    return array(Pack(listed=True), *found)


def _places(body: Body, terms: Sequence[StoredTerm], sides: Sides) -> Array:
    """Where the entries of each of these arrays are, as a list."""
    groups = _groups(terms, body.structure, sides)
    lines = body.statements
    found: list[Array] = []
    grid: Statement | None = None
    for group, is_mirrored in groups:
        if (label := gram(group[0])) is not None:
            matrix = variable(body.structure.matrices[label], ())
            parts = [array(GramPlaces(label.transposed), matrix)]
        else:
            own = _Group(body, group)
            grid = own.count_off(grid)
            row, column, *numbers = own.places(sides)
            if is_mirrored:
                lines += [Let("rows", row), Let("columns", column)]
                row, column = ROWS, COLUMNS
            parts = [array(Pack(), row, column, *numbers)]
            if is_mirrored:
                parts.append(array(Pack(), column, row, *numbers))
        if len(groups) > 1:  # the next binds the names of its places anew
            numbered = enumerate(parts, len(found) + 1)
            parts = [body.let(f"part{k}", one) for k, one in numbered]
        found += parts
    return array(Pack(listed=True), *found)


def _groups(
    terms: Sequence[StoredTerm], structure: Structure, sides: Sides
) -> list[tuple[list[StoredTerm], bool]]:
    """Terms of one pattern, and whether their transposes are there as well."""
    found: list[tuple[list[StoredTerm], bool]] = []
    for group in _of_one_pattern(terms, structure.tensor.dims):
        before, is_mirrored = found[-1] if found else ([], True)
        alone = is_mirrored or any(map(gram, (*before, *group)))
        if not alone and _are_transposes(group, before, *sides):
            found[-1] = before, True
        else:
            found.append((group, False))
    return found


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


def _products(body: Body, term: StoredTerm, label: Gram) -> Array:
    """The entries of a sparse matrix times its transpose, added up by the library."""
    ((weights, _),) = term.factors
    structure = body.structure
    factors = [(structure.stored[weights], (0,)), *term.numbers]
    value = body.value(structure.graph.product((0,), factors), "weights")
    matrix = variable(structure.matrices[label], ())
    return array(GramEntries(label.transposed), matrix, value)


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


class _Group:
    """The entries of terms at the places of the first.

    `free` has the sizes of the labels that number its entries, in the order that its
    arrays have: the entries of an element stand side by side. Those that its values
    differ `along` are the axes of the array of these.
    """

    def __init__(self, body: Body, terms: Sequence[StoredTerm]) -> None:
        self.body = body
        self.structure = structure = body.structure
        self.terms = terms
        self.term = term = terms[0]
        self.dims = structure.tensor.dims
        self.free = term.free(self.dims)
        self.count = prod(self.free.values(), start=ONE)
        taken = {*structure.sizes, *structure.fields, *body.taken}
        numbered = (f"i{k}" for k in count(1))
        letters = (x for x in chain(LETTERS, numbered) if x not in taken)
        self.names: dict[Name, str] = {
            x: next(letters) for x in (*range(structure.axes), *term.elements)
        }
        differing = [
            varying(one, structure.factors(one), self._more(one)) for one in terms
        ]
        self.along = [x for x in self.free if any(x in some for some in differing)]
        if not any(one.factors for one in terms):
            self.along = [*self.free]  # else they were a number, and no array

    def count_off(self, before: Statement | None) -> Statement | None:
        """Number the entries, unless that was done `before`; return the statement."""
        names = [self.names[x] for x in self.free]
        if not names:
            return None  # what has one entry may bind the names of a number
        line: Statement = Unpack(tuple(names), array(Places(tuple(self.free.values()))))
        if len(names) == 1:
            line = Let(names[0], array(ops.Range(ZERO, self.count)))
        if line != before:
            self.body.statements.append(line)
        return line

    def places(self, sides: Sides) -> list[Array]:
        """Return rows and columns, and which these are of all entries if not all."""
        free = self.free
        places = {x: variable(self.names[x], (self.count,), "int") for x in free}
        kept = self._given(places)
        found = [self._raveled(places, axes) for axes in sides]
        if self.along != [*free]:
            found.append(self._raveled(places, self.along))
        if not kept:
            return found
        both = array(ops.Conjunction(), *kept) if len(kept) > 1 else kept[0]
        self.body.statements.append(Let("kept", both))
        which = [] if found[2:] else [KEPT]
        return [array(ops.Index((Entries(),), COUNT), x, KEPT) for x in found] + which

    def values(self) -> Array:
        """Return the entries, with an axis for each label that they differ along."""
        structure = self.structure
        parts = []
        for term in self.terms:
            node = values(
                structure.graph,
                replace(term, ties=self.term.ties),
                self.dims,
                structure.factors(term),
                structure.stored,
                self._more(term),
                self.along,
            )
            parts.append((1, node, self.along))
        value = self.body.value(structure.graph.sum(self.along, parts), "part")
        return value if self.free else array(Reshape((ONE,)), value)

    def _more(self, term: StoredTerm) -> list[Constraint]:
        """What ties the axes of a term besides the first's ties."""
        return [tie.constraint for tie in term.ties if tie not in self.term.ties]

    def _given(self, places: dict[Name, Array]) -> list[Array]:
        """Find the places that others give, and say which of them there are."""
        term = self.term
        kept: list[Array] = []
        for link in term.links:
            place = self._formed(link.form, places)
            if not isinstance(place.op, ops.Variable):
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
                value = array(ops.Multiply(Fraction(abs(c)), 1), value)
            found.append(value)
            signs.append(1 if c > 0 else -1)
        if signs == [1]:
            return _shifted(found[0], form.const)
        return _shifted(array(ops.Add(tuple(signs)), *found), form.const)

    def _entry(self, atom: Lookup, places: Mapping[Name, Array]) -> Array:
        """What an index array says; its own integers may be too small for places."""
        name = self.structure.fields[self.structure.tensor.arrays.index(atom.node)]
        index = variable(name, atom.node.dims, "int", name)
        at = ops.Index((Entries(),) * len(atom.labels), (self.count,))
        entry = array(at, index, *(places[x] for x in atom.labels))
        return array(AsPlaces((self.count,)), entry)

    def _zeros(self, places: Mapping[Name, Array]) -> Array:
        if not self.free:
            return array(ops.Fill((ONE,), 0, "int"))
        return array(ZerosLike((self.count,)), places[next(iter(self.free))])

    def _raveled(self, places: Mapping[Name, Array], labels: Sequence[Name]) -> Array:
        """The position in C order: `(i * n + j) * m + k`."""
        if not labels:
            return self._zeros(places)
        sizes: dict[Name, Dim] = {**self.free, **dict(enumerate(self.dims))}
        found = places[labels[0]]
        for x in labels[1:]:
            found = array(
                ops.Multiply(Fraction(1), 2), found, array(ops.Size(sizes[x]))
            )
            found = array(ops.Add((1, 1)), found, places[x])
        return found


def _limits(place: Array, reach: tuple[Dim, Dim], dim: Dim) -> list[Array]:
    """The conditions that a position is inside an axis, where it might not be."""
    least, most = reach
    found = []
    if not least.is_nonnegative():
        found.append(array(ops.Compare(">="), place, array(ops.Number(Fraction(0)))))
    if not (dim - 1 - most).is_nonnegative():
        found.append(array(ops.Compare("<"), place, array(ops.Size(dim))))
    return found


def _shifted(place: Array, offset: Dim) -> Array:
    if offset == 0:
        return place
    signs, sizes = zip(*offset.parts, strict=True)
    return array(
        ops.Add((1, *signs)), place, *(array(ops.Size(size)) for size in sizes)
    )
