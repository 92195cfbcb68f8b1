"""Square matrices that are known by their few entries, to solve systems with.

As a node such a matrix stands for what it always was: `expand` says it in products.
But nothing reads its entries, only inverses and determinants of it, and code makes an
object of it that eliminates once. That a matrix is one is found out after
differentiation, so that no rule of the calculus needs to know.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from math import prod
from typing import Any, NamedTuple, cast

from tensorgen.ir.constraints import atom_key
from tensorgen.ir.dims import ONE, Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import (
    Affine,
    Call,
    Constraint,
    Input,
    Lookup,
    Node,
    affine,
    delta,
    indicator,
)
from tensorgen.operators.reshape import reshape
from tensorgen.operators.table import Operator, Partial

FACTORED = "factored"
"""The property of an input that stands for such an object."""


class Place(NamedTuple):
    """A row or a column as a form of the axes of values, and of index arrays.

    `atoms` pairs an axis, or the place of an index array among the arguments and its
    axes, with its coefficient.
    """

    atoms: tuple[tuple[int | tuple[int, tuple[int, ...]], int], ...]
    const: Dim

    def form(self, args: Sequence[Node]) -> Affine:
        """The place as a form of labels and lookups."""
        return affine(
            (
                (atom if isinstance(atom, int) else Lookup(args[atom[0]], atom[1]), c)
                for atom, c in self.atoms
            ),
            self.const,
        )


class Entries(NamedTuple):
    """Entries of a matrix: values for each of some labels, and the places of these.

    A row is one of several axes in C order, as many as the sides of the matrix; so is a
    column.
    """

    values: Node
    row: tuple[Affine, ...]
    column: tuple[Affine, ...]
    sizes: tuple[Dim, ...]


def is_system(node: Node) -> bool:
    """Whether a matrix is an object that solves."""
    if isinstance(node, Input):
        return FACTORED in node.properties
    return isinstance(node, Call) and node.operator in ("banded", "sparse", "toeplitz")


def banded(
    graph: Graph, size: Dim, bands: Mapping[int, Node], symmetric: bool = False
) -> Node:
    """Return the matrix with these diagonals; whether it is `symmetric` is known.

    That of offset s has the entries in row i and column i + s, in order, or a number.
    """
    offsets = tuple(sorted(bands))
    args = [bands[s] for s in offsets]
    known = {"offsets": offsets, "symmetric": symmetric}
    return graph.call("banded", args, (size, size), **known)


def _bands(graph: Graph, node: Call) -> Node:
    offsets = cast(tuple[int, ...], dict(node.params)["offsets"])
    size, axes = node.dims[0], (0, 1)
    parts = []
    for s, band in zip(offsets, node.args, strict=True):
        at = [delta({0: 1, "k": -1}, min(s, 0)), delta({1: 1, "k": -1}, -max(s, 0))]
        factor = (band, ("k",)[: band.order])
        sizes = {0: size, 1: size, "k": size - abs(s)}
        part = graph.product(axes, [factor], constraints=at, sizes=sizes)
        parts.append((1, part, axes))
    return graph.sum(axes, parts)


def _placed(args: list[Node], form: Affine) -> Place:
    """A place whose index arrays are among the arguments, added where they are not."""
    atoms: list[tuple[int | tuple[int, tuple[int, ...]], int]] = []
    for atom, c in form.terms:
        if isinstance(atom, Lookup):
            if atom.node not in args:
                args.append(atom.node)
            atoms.append(((args.index(atom.node), atom.labels), c))
        else:
            atoms.append((atom, c))
    return Place(tuple(atoms), form.const)


def sparse(
    graph: Graph,
    sides: Sequence[Dim],
    entries: Sequence[Entries],
    symmetric: bool = False,
) -> Node:
    """Return the matrix with these entries; those of the same place add up.

    Rows and columns are counted along axes of the sizes `sides`.

    Places outside of the matrix have none. Labels are the axes of the values.
    """
    args: list[Node] = []
    place = partial(_placed, args)
    terms = []
    for one in entries:
        args.append(one.values)
        number = len(args) - 1
        rows, columns = (tuple(map(place, forms)) for forms in (one.row, one.column))
        terms.append((number, one.sizes, rows, columns))
    size = prod(sides, start=ONE)
    known = {"terms": tuple(terms), "symmetric": symmetric, "sides": tuple(sides)}
    return graph.call("sparse", args, (size, size), **known)


def toeplitz(graph: Graph, column: Node) -> Node:
    """Return the symmetric matrix of equal diagonals with this first column."""
    return graph.call("toeplitz", [column], column.dims * 2, symmetric=True)


def _diagonals(graph: Graph, node: Call) -> Node:
    (column,), (size, _) = node.args, node.dims
    axes, parts = (0, 1), []
    for sign in (1, -1):
        at = [delta({0: sign, 1: -sign, "k": -1})]
        if sign < 0:
            at.append(indicator({"k": 1}, -1))
        sizes = {0: size, 1: size, "k": size}
        factors = [(column, ("k",))]
        part = graph.product(axes, factors, constraints=at, sizes=sizes)
        parts.append((1, part, axes))
    return graph.sum(axes, parts)


Row = tuple[int, tuple[Dim, ...], tuple[Place, ...], tuple[Place, ...]]


def terms_of(node: Call) -> tuple[Row, ...]:
    """The entries of a sparse matrix: the number of the values, sizes, and places."""
    return cast(tuple[Row, ...], dict(node.params)["terms"])


def sides_of(node: Call) -> tuple[Dim, ...]:
    """The axes along which the rows of a sparse matrix are counted."""
    return cast(tuple[Dim, ...], dict(node.params)["sides"])


def _entries(graph: Graph, node: Call) -> Node:
    sides, parts = sides_of(node), []
    axes = [(side, k) for side in ("row", "column") for k in range(len(sides))]
    for number, sizes, row, column in terms_of(node):
        values = node.args[number]
        at = [
            Constraint("eq", affine([(axis, 1)]) - place.form(node.args))
            for axis, place in zip(axes, (*row, *column), strict=True)
        ]
        known: dict[object, Dim] = dict(zip(axes, sides * 2, strict=True))
        known |= dict(enumerate(sizes))
        factor = (values, range(values.order))
        part = graph.product(axes, [factor], constraints=at, sizes=known)
        parts.append((1, part, axes))
    return reshape(graph, graph.sum(axes, parts), node.dims)


def solution(graph: Graph, system: Node, right: Node, transposed: bool) -> Node:
    """Return the x with `A @ x = right`, or `A.T @ x = right`; one or several."""
    args = [system, right]
    if _is_symmetric(system):
        transposed = False
    return graph.call("solution", args, right.dims, transposed=transposed)


def _solved(graph: Graph, node: Call) -> Node:
    system, right = node.args
    inverse = graph.call("inv", [system], system.dims)
    labels = ("j", "i") if dict(node.params)["transposed"] else ("i", "j")
    out, inside = ("i", "k")[: node.order], ("j", "k")[: node.order]
    return graph.product(out, [(inverse, labels), (right, inside)])


def selected(
    graph: Graph, system: Node, row: Affine, column: Affine, sizes: Sequence[Dim]
) -> Node:
    """Return entries of the inverse, for each of some labels: the axes of the result.

    Their places have to be inside of the matrix.
    """
    args = [system]
    if _is_symmetric(system):
        row, column = sorted((row, column), key=_place_key)
    places = {"row": _placed(args, row), "column": _placed(args, column)}
    return graph.call("selected", args, tuple(sizes), **places)


def _is_symmetric(system: Node) -> bool:
    return isinstance(system, Call) and bool(dict(system.params).get("symmetric"))


def _place_key(form: Affine) -> tuple[Any, ...]:
    terms = tuple((atom_key(term), term[1]) for term in form.terms)
    return terms, form.const.terms


def places_of(node: Call) -> tuple[Place, Place]:
    """The rows and columns of the entries that are selected."""
    params = dict(node.params)
    return cast(Place, params["row"]), cast(Place, params["column"])


def _selected(graph: Graph, node: Call) -> Node:
    system, axes = node.args[0], range(node.order)
    inverse = graph.call("inv", [system], system.dims)
    sides = ("row", "column")
    at = [
        Constraint("eq", affine([(side, 1)]) - place.form(node.args))
        for side, place in zip(sides, places_of(node), strict=True)
    ]
    sizes: dict[object, Dim] = {**dict(enumerate(node.dims))}
    sizes |= dict(zip(sides, system.dims, strict=True))
    return graph.product(axes, [(inverse, sides)], constraints=at, sizes=sizes)


def _dims(args: Sequence[Node], params: Mapping[str, object]) -> tuple[Dim, ...]:
    raise NotImplementedError("systems are made with their dims")


def _no_partials(graph: Graph, node: Call) -> list[Partial]:
    raise NotImplementedError("systems are found after differentiation")


ROWS = (
    Operator("banded", _dims, _no_partials, "_Banded", expand=_bands, internal=True),
    Operator("sparse", _dims, _no_partials, "_Sparse", expand=_entries, internal=True),
    Operator(
        "toeplitz",
        _dims,
        _no_partials,
        "_Toeplitz",
        expand=_diagonals,
        refuses="not positive definite",
        internal=True,
    ),
    Operator(
        "solution",
        _dims,
        _no_partials,
        ".solve",
        expand=_solved,
        refuses="singular",
        internal=True,
    ),
    Operator(
        "selected",
        _dims,
        _no_partials,
        ".inverse_at",
        expand=_selected,
        refuses="singular",
        internal=True,
    ),
)
