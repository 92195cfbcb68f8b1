"""Numbers, operators, lists and `.T`: all but names, calls and brackets."""

from __future__ import annotations

import ast
import math
import re
from fractions import Fraction

from tensorgen.errors import Mark, Span, Suggestion, suggest
from tensorgen.ir.dims import tuple_text
from tensorgen.ir.nodes import constant_value
from tensorgen.lang import conditions, entrywise_slips, foreign_signs
from tensorgen.lang.scope import Thing
from tensorgen.lang.statement import Statement
from tensorgen.operators.functions import linalg, making
from tensorgen.operators.functions.arithmetic import (
    elementwise,
    is_condition,
    matmul,
    power,
    reciprocal,
    times,
    total,
)
from tensorgen.operators.functions.array import (
    Array,
    Misuse,
    Place,
    Shape,
    common_shape,
    number,
)

# What Python has and the language has not, and what to write instead.
_REFUSED: dict[type[ast.AST], tuple[str, str | None]] = {
    ast.BoolOp: ("'and' and 'or'", "conditions are joined by & and |"),
    ast.IfExp: ("'if' and 'else'", "write where(condition, x, y)"),
    ast.Tuple: ("a row of values", "a list is written in brackets: [1, 2, 3]"),
    ast.Lambda: ("'lambda'", "write a definition with parameters"),
    ast.NamedExpr: ("':='", "names are defined under 'where'"),
    ast.JoinedStr: ("a string", None),
    ast.Starred: ("'*' in front of a value", None),
    ast.ListComp: ("a comprehension", "index notation does it: f[i]: ..."),
    ast.GeneratorExp: ("a comprehension", "index notation does it: sum(x[i], i)"),
    ast.Slice: ("':'", "slices are written in brackets after an array"),
}
_REFUSED_OPERATORS: dict[type[ast.AST], tuple[str, str | None]] = {
    ast.BitXor: ("^", "powers are written with **"),
    ast.LShift: ("<<", None),
    ast.RShift: (">>", None),
}
_DIVISIONS: dict[type[ast.AST], tuple[str, str]] = {
    ast.FloorDiv: ("//", "floor_divide"),
    ast.Mod: ("%", "mod"),
}
_SCALES_OF_PI = (0.5, 1, 2, 4)
"""Who writes so many times pi out in all digits gets it under its name."""
_SIGNS: dict[type[ast.AST], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.BitAnd: "&",
    ast.BitOr: "|",
}


def operation(e: Statement, tree: ast.expr) -> Array | None:
    """Return the value of a number, an operation, a list or an attribute."""
    match tree:
        case ast.Constant():
            return _constant(e, tree)
        case ast.BinOp(op=ast.Add() | ast.Sub()):
            return _sum(e, tree)
        case ast.BinOp(op=ast.Mult() | ast.Div()):
            return _product(e, tree)
        case ast.BinOp(op=ast.MatMult()):
            return _matmul(e, tree)
        case ast.BinOp(op=ast.Pow()):
            return _power(e, tree)
        case ast.BinOp(op=ast.Mod() | ast.FloorDiv()):
            return _division(e, tree)
        case ast.BinOp(op=ast.BitAnd() | ast.BitOr()):
            return _logical(e, tree)
        case ast.BinOp():
            sign, hint = _REFUSED_OPERATORS[type(tree.op)]
            place = e.expression.operator(tree.left, tree.right, sign)
            if sign == "^" and re.match(r"T\b", e.expression.source(tree.right)):
                hint = foreign_signs.TRANSPOSE
            hint = entrywise_slips.reciprocal_matrix(e, tree) or hint
            e.fault(f"there is no operator '{sign}'", place, hint=hint)
            return None
        case ast.UnaryOp():
            return _unary(e, tree)
        case ast.Compare():
            return conditions.comparison(e, tree)
        case ast.Attribute():
            return _attribute(e, tree)
        case ast.List():
            return _list(e, tree)
    what, hint = _REFUSED.get(type(tree), ("this", None))
    e.fault(f"{what} cannot be used in an expression", tree, hint=hint)
    return None


def _constant(e: Statement, tree: ast.Constant) -> Array | None:
    value = tree.value
    if isinstance(value, bool) or not isinstance(value, int | float):
        shown = e.expression.source(tree)
        hint = "True is 1 and False is 0" if isinstance(value, bool) else None
        e.fault(f"{shown} is not a number", tree, hint=hint)
        return None
    exact = e.expression.number(tree)
    if exact is None:
        message = "this number is outside the range of float64"
        e.fault(message, tree, hint="infinity is written inf")
        return None
    for scale in _SCALES_OF_PI:  # by so much, no digit changes
        if value == scale * math.pi:
            constant = Array(e.build.graph.named_constant("pi"))
            return times(e.build, [constant], Fraction(scale))
    return number(e.build, exact)


def _steps(tree: ast.BinOp, *kinds: type[ast.operator]) -> list[ast.BinOp]:
    """The operations of a chain like a + b - c; long ones are not nested calls here."""
    found: list[ast.BinOp] = []
    part: ast.expr = tree
    while isinstance(part, ast.BinOp) and isinstance(part.op, kinds):
        found.append(part)
        part = part.left
    return found[::-1]


def _values(e: Statement, steps: list[ast.BinOp]) -> list[Array] | None:
    """The values of the operands of a chain."""
    return e.values([steps[0].left, *(step.right for step in steps)])


def _sum(e: Statement, tree: ast.BinOp) -> Array | None:
    steps = _steps(tree, ast.Add, ast.Sub)
    values = _values(e, steps)
    if values is None or not _broadcast(e, steps, values):
        return None
    signs = [1] + [1 if isinstance(step.op, ast.Add) else -1 for step in steps]
    return total(e.build, list(zip(signs, values, strict=True)))


def _product(e: Statement, tree: ast.BinOp) -> Array | None:
    steps = _steps(tree, ast.Mult, ast.Div)
    values = _values(e, steps)
    if values is None or not _broadcast(e, steps, values):
        return None
    factors = values[:1]
    for step, value in zip(steps, values[1:], strict=True):
        if isinstance(step.op, ast.Mult):
            entrywise_slips.note_product(e, step, factors[-1], value)
        else:
            if constant_value(value.node) == 0:
                e.fault("division by zero", step.right)
                return None
            value = reciprocal(e.build, value)
        factors.append(value)
    return times(e.build, factors)


def _broadcast(e: Statement, steps: list[ast.BinOp], values: list[Array]) -> bool:
    """Check the shapes along a chain, and blame the operator where they part."""
    shape: Shape = values[0].shape
    for step, value in zip(steps, values[1:], strict=True):
        wider = common_shape([shape, value.shape])
        if wider is None:
            sign = _SIGNS[type(step.op)]
            hint = _misplaced(e, step, value) or _columns(e, step, shape, value)
            _mismatch(e, step, sign, shape, value.shape, hint)
            return False
        shape = wider
    return True


def _mismatch(
    e: Statement, step: ast.BinOp, sign: str, a: Shape, b: Shape, hint: str | None
) -> None:
    place = e.expression.operator(step.left, step.right, sign)
    marks: list[Mark] = [
        (e.expression.span(step.left), tuple_text(a)),
        (e.expression.span(step.right), tuple_text(b)),
    ]
    e.fault(f"shapes do not match in '{sign}'", place, marks, hint)


_ATOMS = (ast.Name, ast.Subscript, ast.Call, ast.Attribute)


def _misplaced(e: Statement, step: ast.BinOp, value: Array) -> str | None:
    """Suggest X @ (w + b) for X @ w + b."""
    left, source = step.left, e.expression.source
    if not (isinstance(left, ast.BinOp) and isinstance(left.op, ast.MatMult)):
        return None
    inner = e.value(left.right)
    if inner is None or inner.shape != value.shape or not value.order:
        return None
    name, sign = source(step.right), _SIGNS[type(step.op)]
    meant = f"{source(left.left)} @ ({source(left.right)} {sign} {name})"
    text = f"{name} has shape {tuple_text(value.shape)}; did you mean {meant}?"
    # Where a part is an operation, parentheses around it are not in its source.
    whole = all(isinstance(x, _ATOMS) for x in (left.left, left.right, step.right))
    if not whole or "..." in meant:
        return text
    return Suggestion(text, meant, e.expression.span(step))


def _columns(e: Statement, step: ast.BinOp, shape: Shape, value: Array) -> str | None:
    """Suggest b[:, None] where a vector lies along the rows of a matrix."""
    sides = ((step.left, shape, value.shape), (step.right, value.shape, shape))
    for tree, one, other in sides:
        if len(one) == 1 and len(other) == 2 and one[0] == other[0]:
            name = _bracketed(e, tree)
            return f"one entry a row is {name}[:, None]"
        gaps = [a - b for a, b in zip(one, other, strict=False)]
        more = [k for k, gap in enumerate(gaps) if gap != 0]
        if len(one) == len(other) and len(more) == 1 and gaps[more[0]] == 1:
            axes, name = ":, " * more[0], _bracketed(e, tree)
            last, first = f"{name}[{axes}:-1]", f"{name}[{axes}1:]"
            return f"{last} is without the last entry, {first} without the first"
    return None


def _bracketed(e: Statement, tree: ast.expr) -> str:
    name = e.expression.source(tree)
    return name if isinstance(tree, ast.Name) else f"({name})"


def _matmul(e: Statement, tree: ast.BinOp) -> Array | None:
    steps = _steps(tree, ast.MatMult)
    values = _values(e, steps)
    trees = [steps[0].left, *(step.right for step in steps)]
    if values is None or entrywise_slips.is_refused(e, zip(trees, values, strict=True)):
        return None
    result = values[0]
    for step, value in zip(steps, values[1:], strict=True):
        try:
            result = matmul(e.build, result, value)
        except Misuse as misuse:
            place = e.expression.operator(step.left, step.right, "@")
            e.misused(misuse, place, {"a": step.left, "b": step.right})
            return None
    return result


def _power(e: Statement, tree: ast.BinOp) -> Array | None:
    values = e.values((tree.left, tree.right))
    if values is None:
        return None
    base, exponent = values
    if constant_value(base.node) == 0:
        least = constant_value(exponent.node)
        if least is not None and least < 0:
            e.fault("division by zero", tree)
            return None
    try:
        value = power(e.build, base, exponent, ("a", "b"))
        entrywise_slips.keep_power(e, tree.left, values, value)
        return value
    except Misuse as misuse:
        place = e.expression.operator(tree.left, tree.right, "**")
        e.misused(misuse, place, {"a": tree.left, "b": tree.right})
        return None


def _division(e: Statement, tree: ast.BinOp) -> Array | None:
    values = e.values((tree.left, tree.right))
    if values is None:
        return None
    sign, name = _DIVISIONS[type(tree.op)]
    if constant_value(values[1].node) == 0:
        e.fault("division by zero", tree.right)
        return None
    try:
        return elementwise(e.build, name, values, f"'{sign}'", ("a", "b"))
    except Misuse as misuse:
        place = e.expression.operator(tree.left, tree.right, sign)
        e.misused(misuse, place, {"a": tree.left, "b": tree.right})
        return None


def _unary(e: Statement, tree: ast.UnaryOp) -> Array | None:
    value = e.value(tree.operand)
    if value is None:
        return None
    match tree.op:
        case ast.USub():
            return times(e.build, [value], Fraction(-1))
        case ast.UAdd():
            return value
        case ast.Invert():
            if _are_conditions(e, "~", (tree.operand,), [value], tree):
                return elementwise(e.build, "logical_not", [value])
            return None
    hint = "conditions are turned round by ~"
    e.fault("'not' cannot be used in an expression", tree, hint=hint)
    return None


def _logical(e: Statement, tree: ast.BinOp) -> Array | None:
    values = e.values((tree.left, tree.right))
    if values is None:
        return None
    sign = _SIGNS[type(tree.op)]
    place = e.expression.operator(tree.left, tree.right, sign)
    trees = (tree.left, tree.right)
    if not _are_conditions(e, sign, trees, values, place):
        return None
    name = "logical_and" if sign == "&" else "logical_or"
    try:
        return elementwise(e.build, name, values, f"'{sign}'", ("a", "b"))
    except Misuse as misuse:
        e.misused(misuse, place, {"a": tree.left, "b": tree.right})
        return None


def _are_conditions(
    e: Statement,
    sign: str,
    trees: tuple[ast.expr, ...],
    values: list[Array],
    place: ast.expr | Span,
) -> bool:
    # 'a < b & c < d' is 'a < (b & c) < d' in Python: silently something else.
    for tree, value in zip(trees, values, strict=True):
        if not is_condition(value.node):
            shown = e.expression.source(tree)
            marks = [(e.expression.span(tree), "not a condition")]
            hint = f"'{sign}' binds tighter than comparisons: write (a < b) {sign} ..."
            e.fault(
                f"'{sign}' needs conditions, and {shown} is none", place, marks, hint
            )
            return False
    return True


def _attribute(e: Statement, tree: ast.Attribute) -> Array | None:
    if tree.attr == "T":
        value = e.value(tree.value)
        return None if value is None else linalg.transpose(e.build, value)
    if isinstance(tree.value, ast.Name):
        function = e.names.get(tree.value.id)
        if function is not None and function.results:
            return _result(e, tree, tree.value.id, function)
    hint = "only .T is an attribute"
    if tree.attr in ("shape", "size"):
        hint = "a dim of the spec is a number by its own name"
    e.fault(f"there is no attribute '.{tree.attr}'", tree, hint=hint)
    return None


def _result(
    e: Statement, tree: ast.Attribute, name: str, function: Thing
) -> Array | None:
    result = function.results.get(tree.attr)
    if result is None:
        place = e.expression.last(tree, tree.attr).span()
        hint = suggest(tree.attr, function.results, place)
        known = "it has " + ", ".join(function.results)
        e.fault(f"'{name}' has no result '{tree.attr}'", tree, hint=hint or known)
        return None
    e.record.merge(result.record)
    e.record.names[name] = None
    return result.value


def _list(e: Statement, tree: ast.List) -> Array | None:
    values = e.values(tree.elts)
    if values is None:
        return None
    try:
        return making.literal(e.build, values)
    except Misuse as misuse:
        places: dict[Place, ast.expr] = {
            ("operand", k): part for k, part in enumerate(tree.elts)
        }
        e.misused(misuse, tree, places)
        return None
