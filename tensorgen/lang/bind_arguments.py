"""The arguments of a call, bound to the parameters of a row of the table."""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from tensorgen.errors import suggest
from tensorgen.ir.dims import Dim
from tensorgen.lang.affine import LARGEST, size_form
from tensorgen.lang.entrywise_slips import of_two
from tensorgen.lang.statement import Statement
from tensorgen.operators.functions import Function, Parameter
from tensorgen.operators.functions.array import Array, Place


class _Unfit(Exception):
    """An argument that is not of its parameter's kind."""


@dataclass(slots=True)
class Arguments:
    """The values by parameter, and where each stands."""

    values: dict[str, object] = field(default_factory=dict)
    places: dict[Place, ast.expr] = field(default_factory=dict)


def assign(
    e: Statement, function: Function, tree: ast.Call
) -> dict[str, list[ast.expr]] | None:
    """Pair parameters with the trees of their arguments, as Python does."""
    parameters = {p.name: p for p in function.parameters}
    given: dict[str, list[ast.expr]] = {}
    names = list(parameters)
    for k, part in enumerate(tree.args):
        last = parameters[names[min(k, len(names) - 1)]] if names else None
        if last is None or (k >= len(names) and not last.spread):
            _wrong(e, function, tree, f"takes at most {counted(len(names))}")
            return None
        given.setdefault(last.name, []).append(part)
    for keyword in tree.keywords:
        if keyword.arg is None or keyword.arg not in parameters:
            message = f"'{function.name}' has no argument '{keyword.arg or '**'}'"
            name = keyword.arg or ""
            close = suggest(name, parameters, e.expression.first(keyword, name).span())
            e.fault(message, keyword, hint=close or f"it is called as {function}")
            return None
        if keyword.arg in given:
            _wrong(e, function, tree, f"is given '{keyword.arg}' twice")
            return None
        given[keyword.arg] = [keyword.value]
    for name, parameter in parameters.items():
        if parameter.required and not parameter.spread and name not in given:
            _wrong(e, function, tree, f"needs the argument '{name}'")
            return None
    return given


def counted(count: int) -> str:
    """Return the number of arguments in words that agree."""
    return f"{count} argument{'' if count == 1 else 's'}"


def _wrong(e: Statement, function: Function, tree: ast.Call, what: str) -> None:
    message = f"'{function.name}' {what}"
    e.fault(message, tree, hint=f"it is called as {function}")


def bind(
    e: Statement,
    function: Function,
    tree: ast.Call,
    ready: Mapping[str, Array] | None = None,
) -> Arguments | None:
    """Return the arguments of a call, or None with faults noted.

    `ready` holds values of arguments that are not to be read again.
    """
    given = assign(e, function, tree)
    if given is None:
        # Faults inside of the arguments are worth knowing all the same.
        e.values(part for part in tree.args if _is_value(part))
        return None
    found = Arguments()
    found.values.update(ready or {})
    fine = True
    for parameter in function.parameters:
        parts = given.get(parameter.name)
        if parts is None:
            if parameter.spread:
                found.values[parameter.name] = ()
            continue
        try:
            fine &= _convert(e, parameter, parts, found)
        except _Unfit as unfit:
            expected = f"'{parameter.name}' of '{function.name}' must be {unfit}"
            hint = of_two(function.name, tree) or f"it is called as {function}"
            e.fault(expected, parts[0], hint=hint)
            fine = False
    return found if fine else None


def _is_value(part: ast.expr) -> bool:
    return not isinstance(part, ast.Constant | ast.Tuple | ast.Starred)


def _convert(
    e: Statement, parameter: Parameter, parts: list[ast.expr], found: Arguments
) -> bool:
    name, part = parameter.name, parts[0]
    found.places[name] = part
    if name in found.values:
        return True
    value: object
    if parameter.kind == "array":
        value = e.value(part)
        if value is None:
            return False
    elif parameter.kind.endswith("arrays"):
        one = parameter.spread or (
            parameter.kind != "arrays" and not isinstance(part, ast.List | ast.Tuple)
        )
        trees = parts if one else _elements(part, "a list of arrays")
        found.places.update({(name, k): tree for k, tree in enumerate(trees)})
        value = e.values(trees)
        if value is None:
            return False
    elif parameter.kind in ("shape", "open shape"):
        several = len(parts) > 1 or not isinstance(part, ast.List | ast.Tuple)
        several = several and parameter.spread
        trees = parts if several else _elements(part, "a shape: (m, n)")
        # In an open shape, -1 stands for the length that is left.
        least = -1 if parameter.kind == "open shape" else 0
        sizes = [_size(e, tree, least) for tree in trees]
        value = tuple(size for size in sizes if size is not None)
        return _store(found, name, value) if None not in sizes else False
    elif parameter.kind == "size":
        value = _size(e, part)
        if value is None:
            return False
    else:
        value = _plain(parameter.kind, part)
    return _store(found, name, value)


def _store(found: Arguments, name: str, value: object) -> bool:
    found.values[name] = value
    return True


def _elements(tree: ast.expr, expected: str) -> list[ast.expr]:
    if isinstance(tree, ast.List | ast.Tuple):
        return tree.elts
    raise _Unfit(expected)


def _size(e: Statement, tree: ast.expr, least: int = 0) -> Dim | None:
    size = size_form(e, tree)
    if size is None:
        hint = "a size is an expression in dims and integers"
        if not e.unknown_sizes(tree):
            e.no_form(tree, "'{}' is not a size", hint)
        return None
    if size.constant is not None and size.constant < least:
        e.fault(f"a size cannot be {size.constant}", tree)
        return None
    return size


def _plain(kind: str, tree: ast.expr) -> object:
    """An argument that is written out: a flag, a whole number, axes, a text."""
    value = _written(tree)
    match kind:
        case "flag" if isinstance(value, bool):
            return value
        case "flag":
            raise _Unfit("True or False")
        case "integer" if isinstance(value, int) and not isinstance(value, bool):
            if abs(value) > LARGEST:
                raise _Unfit("a smaller integer")
            return value
        case "integer":
            raise _Unfit("an integer")
        case "string" if isinstance(value, str):
            return value
        case "string":
            raise _Unfit("a string in quotes")
        case "order" if value is None or isinstance(value, int | str | Fraction):
            return value
        case "order":
            raise _Unfit("1, 2 or inf")
        case "axes" if value is None or _is_axes(value):
            return value
        case "axes":
            raise _Unfit("an axis or several: 0, -1, (0, 1)")
        case "pairs" if _is_nested(value):
            return value
    raise _Unfit("axes, written out")


def _is_axes(value: object) -> bool:
    several = value if isinstance(value, tuple) else (value,)
    return all(isinstance(v, int) and not isinstance(v, bool) for v in several)


def is_axis(tree: ast.expr) -> bool:
    """Whether a part is written for an axis or several: None is all, a text is none."""
    if isinstance(tree, ast.Constant) and isinstance(tree.value, str):
        return True
    value = _written(tree)
    return value is None or _is_axes(value)


def is_flag(tree: ast.expr) -> bool:
    """Whether a part is True or False."""
    return isinstance(_written(tree), bool)


def _is_nested(value: object) -> bool:
    if isinstance(value, tuple):
        return all(_is_nested(v) for v in value)
    return value is None or (isinstance(value, int) and not isinstance(value, bool))


def _written(tree: ast.expr) -> object:
    """What a literal says; raises where the tree is none."""
    match tree:
        case ast.Constant(value=bool() | int() | str() | None as value):
            return value
        case ast.Name(id="inf"):
            return "inf"
        case ast.Constant(value=float(value)) if math.isfinite(value):
            return Fraction(value)
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(value))):
            return -value
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            return tuple(_written(part) for part in parts)
    return NotImplemented
