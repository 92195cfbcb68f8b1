"""Brackets behind arrays and tuples of a function over NumPy."""

from __future__ import annotations

import ast

from tensorgen.errors import Text
from tensorgen.frontends.over_numpy.numpy_expressions import Expressions
from tensorgen.frontends.over_numpy.numpy_values import (
    ATOM,
    BOOL,
    INT,
    Known,
    Row,
    Thing,
    Value,
    bound,
    joined,
)
from tensorgen.ir.dims import Dim

_MASK = "sums over a mask are np.sum(np.where(mask, x, 0)): shapes follow from sizes"


def entries(reader: Expressions, node: ast.Subscript) -> Thing:
    """Return entries of an array, or an item of a tuple."""
    owner = reader.thing(node.value)
    if isinstance(owner, Row):
        return _item(reader, owner, node)
    value = reader.as_value(owner, node.value)
    whole = node.slice
    places = whole.elts if isinstance(whole, ast.Tuple) else [whole]
    dims = _read_axes(reader, places, reader.shape(value), node)
    parts: list[str | Text] = [bound(value, ATOM, reader.file, node.value), "["]
    for k, place in enumerate(places):
        parts += [", "] * (k > 0) + _place(reader, place, dims[k])
    return Value(joined(reader.file, node, *parts, "]"), ATOM, value.kind)


def taken(
    reader: Expressions, node: ast.expr, value: Value, places: Value, axis: int
) -> Value:
    """Return the entries at some positions along an axis, `np.take`."""
    dims = reader.shape(value)
    if axis >= len(dims):
        reader.fail("there is no such axis", node)
    reader.program.check_positions(places, dims[axis], node)
    inner = bound(value, ATOM, reader.file, node)
    text = joined(reader.file, node, inner, "[", ":, " * axis, places.text, "]")
    return Value(text, ATOM, value.kind)


def _item(reader: Expressions, row: Row, node: ast.Subscript) -> Thing:
    if isinstance(node.slice, ast.Slice):
        parts = (node.slice.lower, node.slice.upper, node.slice.step)
        limits = [None if x is None else _number(reader, x) for x in parts]
        return Row(row.items[slice(*limits)], row.is_list)
    number = _number(reader, node.slice)
    if not -len(row.items) <= number < len(row.items):
        reader.fail(f"there are {len(row.items)} items", node.slice)
    return row.items[number]


def _number(reader: Expressions, node: ast.expr) -> int:
    thing = reader.thing(node)
    if isinstance(thing, Value) and thing.whole is not None:
        constant = thing.whole.constant
        if constant is not None:
            return constant
    reader.fail("a whole number is needed here", node)


def _read_axes(
    reader: Expressions,
    places: list[ast.expr],
    shape: tuple[Dim, ...],
    node: ast.Subscript,
) -> list[Dim | None]:
    """The length of the axis that each place reads; None where it reads none."""
    kinds = [_kind(reader, place) for place in places]
    count = kinds.count("one")
    if count > len(shape):
        reader.fail(f"the array has {len(shape)} axes", node.slice)
    if kinds.count("rest") > 1:
        reader.fail("'...' stands once", node.slice)
    found: list[Dim | None] = []
    axis = 0
    for kind in kinds:
        found.append(shape[axis] if kind == "one" else None)
        axis += {"one": 1, "rest": len(shape) - count}.get(kind, 0)
    return found


def _kind(reader: Expressions, place: ast.expr) -> str:
    """Whether a place reads one axis, all the rest, or makes a new one."""
    if isinstance(place, ast.Slice):
        return "one"
    if isinstance(place, ast.Constant) and place.value is Ellipsis:
        return "rest"
    if isinstance(place, ast.Constant | ast.Attribute | ast.Name):
        thing = reader.thing(place)
        if isinstance(thing, Known) and thing.value is None:
            return "new"
    return "one"


def _place(
    reader: Expressions, place: ast.expr, length: Dim | None
) -> list[str | Text]:
    if isinstance(place, ast.Slice):
        parts: list[str | Text] = []
        if place.lower is not None:
            parts.append(_limit(reader, place.lower))
        parts.append(":")
        if place.upper is not None:
            parts.append(_limit(reader, place.upper))
        if place.step is not None:
            parts += [":", _limit(reader, place.step)]
        return parts
    if length is None:
        is_rest = isinstance(place, ast.Constant) and place.value is Ellipsis
        return ["..." if is_rest else "None"]
    thing = reader.thing(place)
    if isinstance(thing, Row):
        hint = "slices, one position, or an argument that is an array of integers"
        reader.fail("a list of positions cannot be read", place, hint)
    value = reader.as_value(thing, place)
    if value.kind == BOOL:
        reader.fail("entries cannot be chosen by conditions", place, _MASK)
    if value.kind != INT:
        hint = 'say that it holds integers: y="m int"'
        reader.fail("a position is a whole number", place, hint)
    reader.program.check_positions(value, length, place)
    return [value.text]


def _limit(reader: Expressions, node: ast.expr) -> Text:
    thing = reader.thing(node)
    if isinstance(thing, Known) and thing.value is None:
        reader.fail("leave the limit out", node)
    value = reader.as_value(thing, node)
    if value.kind != INT:
        reader.fail("a limit is a whole number", node)
    return value.text
