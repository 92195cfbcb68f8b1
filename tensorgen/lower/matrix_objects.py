"""Matrices of few entries as objects, and what these are asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import cast

from tensorgen.arrays import object_operations as objects
from tensorgen.arrays.arrays import Array, array, variable
from tensorgen.arrays.operations import Add, Expand, Eye, Multiply, Number, Range, Size
from tensorgen.ir.dims import ZERO, Dim
from tensorgen.ir.nodes import Call, Ref
from tensorgen.lower.operands import Operand, as_float, made, size
from tensorgen.lower.solve_systems import solve
from tensorgen.lower.values import Values
from tensorgen.operators.matrices.systems import (
    Place,
    Row,
    is_system,
    places_of,
    sides_of,
    terms_of,
)


def lower_system(known: Values, node: Call) -> Operand:
    """The object of a matrix."""
    side = size(node.dims[0])
    if node.operator == "sparse":
        terms = [_entries(known, node, row) for row in terms_of(node)]
        return made(objects.Made("_Sparse"), (), side, *terms)
    if node.operator == "toeplitz":
        return made(objects.Made("_Toeplitz"), (), as_float(known.whole(node.args[0])))
    bands = [known.operand(Ref(x, tuple(range(x.order)))) for x in node.args]
    offsets = cast(tuple[int, ...], dict(node.params)["offsets"])
    table = made(objects.Numbered(offsets), (), *bands)
    # Some band has to have the dtype, or it is said.
    dtype = [Operand(variable("dtype", ()))] * all(band.weak for band in bands)
    return made(objects.Made("_Banded"), (), side, table, *dtype)


def lower_told(known: Values, node: Call) -> Operand:
    """An inverse or a determinant of the matrix of an object."""
    found = known.values[node.args[0]]
    if node.operator != "inv":
        return made(objects.Known(node.operator), (), found)
    matrix = node.args[0]
    if isinstance(matrix, Call) and matrix.operator == "toeplitz":
        return Operand(array(objects.Known("inverse", node.dims), found.array), (0, 1))
    unit = made(Eye(node.dims[0]), (0, 1))
    return made(objects.Solution(node.dims), (0, 1), found, unit)


def lower_solution(known: Values, node: Call) -> Operand:
    """What an object, or an array, is solved with for."""
    right = as_float(known.whole(node.args[1]))
    if not is_system(node.args[0]):
        axes = tuple(range(node.order))
        summed = node.order
        inverse = (0, summed)
        if dict(node.params)["transposed"]:
            inverse = (summed, 0)
        matrix = replace(known.whole(node.args[0]), labels=inverse[::-1])
        other = Operand(right.array, (summed, *axes[1:]))
        return solve(matrix, inverse, other, axes, {})
    system = known.values[node.args[0]]
    op = objects.Solution(node.dims, transposed=bool(dict(node.params)["transposed"]))
    return made(op, tuple(range(node.order)), system, right)


def lower_selected(known: Values, node: Call) -> Operand:
    """Entries of the inverse of the matrix of an object."""
    system, order = known.values[node.args[0]], node.order
    rows, columns = (
        _place(known, node, place, order, node.dims) for place in places_of(node)
    )
    op = objects.Selected(node.dims)
    return Operand(array(op, system.array, rows, columns), tuple(range(order)))


def _entries(known: Values, node: Call, term: Row) -> Operand:
    """Rows, columns and values, as arrays that broadcast against each other."""
    number, sizes, *sides = term
    values = as_float(known.whole(node.args[number]))
    dims = sides_of(node)
    parts = [_counted(known, node, places, sizes, dims) for places in sides]
    return Operand(array(objects.Pack(), *parts, values.array))


def _counted(
    known: Values,
    node: Call,
    places: Sequence[Place],
    sizes: tuple[Dim, ...],
    dims: Sequence[Dim],
) -> Array:
    """The number of a row in C order: `(i * n + j) * m + k`."""
    first, *others = (_place(known, node, x, len(sizes), sizes) for x in places)
    for part, dim in zip(others, dims[1:], strict=True):
        scaled = array(Multiply(Fraction(1), 2), first, array(Size(dim)))
        first = array(Add((1, 1)), scaled, part)
    return first


def _place(
    known: Values, node: Call, place: Place, order: int, sizes: tuple[Dim, ...]
) -> Array:
    signs: list[int] = []
    parts: list[Array] = []
    for atom, coefficient in place.atoms:
        if isinstance(atom, int):
            axes: tuple[int, ...] = (atom,)
            part = array(Range(ZERO, sizes[atom]))
        else:
            argument, axes = atom
            part = known.values[node.args[argument]].array
        old = tuple(axis in axes for axis in range(order))
        old = old[old.index(True) :]
        if not all(old):
            part = array(Expand(old), part)
        if abs(coefficient) != 1:
            part = array(Multiply(Fraction(abs(coefficient)), 1), part)
        signs.append(1 if coefficient > 0 else -1)
        parts.append(part)
    for sign, offset in place.const.parts:
        parts.append(array(Size(offset)))
        signs.append(sign)
    if not parts:
        return array(Number(Fraction(0)))
    if signs == [1]:
        return parts[0]
    return array(Add(tuple(signs)), *parts)
