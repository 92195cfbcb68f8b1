"""Conditions of a function over NumPy: of arrays, or known before it is called."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping

from tensorgen.errors import Text
from tensorgen.frontends.over_numpy.numpy_expressions import Expressions
from tensorgen.frontends.over_numpy.numpy_values import (
    ATOM,
    BOOL,
    COMPARE,
    FLOAT,
    OR,
    Known,
    Row,
    Thing,
    Value,
    bound,
    joined,
)

_SIGNS: Mapping[type[ast.cmpop], str] = {
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
}
_TRUTHS: Mapping[type[ast.cmpop], Callable[[int], bool]] = {
    ast.Lt: lambda gap: gap < 0,
    ast.LtE: lambda gap: gap <= 0,
    ast.Gt: lambda gap: gap > 0,
    ast.GtE: lambda gap: gap >= 0,
    ast.Eq: lambda gap: gap == 0,
    ast.NotEq: lambda gap: gap != 0,
}


def truth(reader: Expressions, node: ast.expr) -> bool | None:
    """Return whether a condition is true, None where arguments decide that."""
    thing = reader.thing(node)
    if isinstance(thing, Known):
        return bool(thing.value)
    if isinstance(thing, Row):
        return bool(thing.items)
    if isinstance(thing, Value) and thing.whole is not None:
        constant = thing.whole.constant
        return None if constant is None else bool(constant)
    return None


def comparison(reader: Expressions, node: ast.Compare) -> Thing:
    """Return what a comparison stands for: with None, of shapes, or of arrays."""
    if len(node.ops) > 1:
        hint = "NumPy refuses it of arrays: (a < b) & (b < c)"
        reader.fail("a chain of comparisons cannot be read", node, hint)
    (op,), (right,) = node.ops, node.comparators
    one, other = reader.thing(node.left), reader.thing(right)
    if isinstance(op, ast.Is | ast.IsNot):
        if Known(None) not in (one, other):
            reader.fail("'is' compares with None here", node)
        return Known((one == other) == isinstance(op, ast.Is))
    if type(op) not in _SIGNS:
        reader.fail("'in' cannot be read", node)
    if isinstance(one, Known | Row) and isinstance(other, Known | Row):
        alike = _alike(one, other)
        if alike is None or not isinstance(op, ast.Eq | ast.NotEq):
            reader.fail("this is not known here", node)
        return Known(alike == isinstance(op, ast.Eq))
    left, second = reader.as_value(one, node.left), reader.as_value(other, right)
    return compared(reader, node, type(op), left, second)


def compared(
    reader: Expressions, node: ast.expr, op: type[ast.cmpop], left: Value, right: Value
) -> Thing:
    """Return a comparison of two values: known, where sizes decide it."""
    if left.whole is not None and right.whole is not None:
        gap = (left.whole - right.whole).constant
        if gap is not None:
            return Known(_TRUTHS[op](gap))
    return reader.between(node, left, right, (_SIGNS[op], COMPARE, BOOL))


def negation(reader: Expressions, node: ast.UnaryOp) -> Thing:
    """Return `not a` of what is known."""
    known = truth(reader, node.operand)
    if known is None:
        hint = "of arrays it is np.logical_not(c), or ~c"
        reader.fail("'not' of what is not known yet", node, hint)
    return Known(not known)


def condition(reader: Expressions, value: Value, node: ast.AST) -> Text:
    """Return a value as a condition: what is not zero is true."""
    if value.kind == BOOL:
        return value.text
    return joined(reader.file, node, bound(value, OR, reader.file, node), " != 0")


def chosen(reader: Expressions, node: ast.BoolOp | ast.IfExp) -> Thing:
    """Return `a and b`, `a or b`, or `a if c else b`, of which conditions are known."""
    if isinstance(node, ast.BoolOp):
        wanted = isinstance(node.op, ast.Or)
        for one in node.values[:-1]:
            known = truth(reader, one)
            if known is None:
                hint = "conditions of arrays are joined by & and |, in parentheses"
                reader.fail("'and' and 'or' need what is known", one, hint)
            if known == wanted:
                return reader.thing(one)
        return reader.thing(node.values[-1])
    known = truth(reader, node.test)
    if known is not None:
        return reader.thing(node.body if known else node.orelse)
    test, yes, no = map(reader.value, (node.test, node.body, node.orelse))
    if reader.shape(test) or reader.shape(yes) != reader.shape(no):
        hint = "np.where(condition, x, y) chooses entry by entry"
        reader.fail("'if' needs one condition, and one shape", node, hint)
    text = joined(
        reader.file,
        node,
        *("where(", condition(reader, test, node.test), ", "),
        *(yes.text, ", ", no.text, ")"),
    )
    return Value(text, ATOM, yes.kind if yes.kind == no.kind else FLOAT)


def _alike(one: Thing, other: Thing) -> bool | None:
    """Whether two things are equal: shapes by their sizes, None if these decide it."""
    if isinstance(one, Known) and isinstance(other, Known):
        return one == other
    if not (isinstance(one, Row) and isinstance(other, Row)):
        return False
    if len(one.items) != len(other.items):
        return False
    found = True
    for a, b in zip(one.items, other.items, strict=True):
        if not (isinstance(a, Value) and isinstance(b, Value)):
            return None
        gap = None if a.whole is None or b.whole is None else a.whole - b.whole
        if gap is None or gap.constant is None:
            return None
        found = found and gap.constant == 0
    return found
