"""Positions that stop at an end: `x[max(t - 1, 0)]`, `X[min(i + 1, m - 1), j]`.

Such an entry is one of two, and which of them is an affine condition: the first is
`where(t - 1 >= 0, x[t - 1], x[0])`. Where it is known which, as in
`where(t > 0, x[max(t - 1, 0)], 0)`, that one is read.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from copy import copy

from tensorgen.lang.affine import affine_form
from tensorgen.lang.index_forms import Form
from tensorgen.lang.statement import Statement
from tensorgen.operators.functions.array import verdict

_BETTER: dict[str, type[ast.cmpop]] = {"max": ast.GtE, "min": ast.LtE}


def one_end(e: Statement, tree: ast.Subscript | ast.Call) -> ast.expr | None:
    """Return brackets, or a delta, without one of the ends that their positions have.

    None if there are none. It stands for the same in both readings of a statement, for
    these tell indices apart by where they are bound.
    """
    for call in _ends(tree):
        assert isinstance(call.func, ast.Name)
        if e.names.get(call.func.id) is not None:
            continue
        if len(call.args) > 2:
            return _without(e, tree, call, _in_pairs(e, call))
        one, other = call.args
        a, b = affine_form(e, one), affine_form(e, other)
        if a is None or b is None:
            continue
        gap = a - b if call.func.id == "max" else b - a
        if _holds(e, gap):
            return _without(e, tree, call, one)
        if _holds(e, -gap):
            return _without(e, tree, call, other)
        return _either(e, tree, call)
    return None


def _ends(tree: ast.expr) -> Iterator[ast.Call]:
    """The calls of `max` and `min` in the positions of a part, the innermost first."""
    match tree:
        case ast.Call(func=ast.Name(id="delta"), args=parts, keywords=[]):
            pass
        case ast.Call(func=ast.Name(id="max" | "min"), args=[_, _, *_], keywords=[]):
            parts = tree.args
        case ast.Subscript(slice=ast.Tuple(elts=parts)):
            pass
        case ast.Subscript(slice=whole):
            parts = [whole]
        case ast.BinOp(left=left, right=right):
            parts = [left, right]
        case ast.UnaryOp(operand=operand):
            parts = [operand]
        case _:
            parts = []
    for part in parts:
        yield from _ends(part)
    if isinstance(tree, ast.Call) and _is_end(tree):
        yield tree


def _is_end(tree: ast.Call) -> bool:
    return isinstance(tree.func, ast.Name) and tree.func.id in _BETTER


def _holds(e: Statement, form: Form) -> bool:
    """Whether a form is known not to be negative where it is read."""
    if not form.terms:
        return form.const.is_nonnegative()
    if e.ranges.implied(form, (*e.guards, *e.chosen)):
        return True
    if e.known is None or not all(i in e.known for i in form.mentioned):
        return False
    return verdict(e.ranges.least(form, e.known)) == "always"


def _in_pairs(e: Statement, call: ast.Call) -> ast.expr:
    """`max(a, b, c)` as `max(max(a, b), c)`."""

    def write() -> ast.expr:
        *first, last = call.args
        inner = ast.copy_location(ast.Call(call.func, first, []), call)
        return ast.copy_location(ast.Call(call.func, [inner, last], []), call)

    return e.written(write, call)


def _either(e: Statement, tree: ast.Subscript | ast.Call, call: ast.Call) -> ast.expr:
    assert isinstance(call.func, ast.Name)
    one, other = call.args
    better = _BETTER[call.func.id]

    def write() -> ast.expr:
        compared = ast.copy_location(ast.Compare(one, [better()], [other]), call)
        where = ast.Name("where", ast.Load())
        parts = [compared, *(_without(e, tree, call, part) for part in call.args)]
        made = ast.Call(ast.copy_location(where, tree), parts, [])
        return ast.copy_location(made, tree)

    return e.written(write, tree, call)


def _without(
    e: Statement, tree: ast.expr, call: ast.Call, instead: ast.expr
) -> ast.expr:
    """Return a part in which something else stands for a call."""

    return e.written(lambda: _instead(tree, call, instead), tree, call, instead)


def _instead(tree: ast.expr, call: ast.Call, new: ast.expr) -> ast.expr:
    """Copy what leads to a call, and nothing else."""
    if tree is call:
        return new
    if not any(part is call for part in ast.walk(tree)):
        return tree
    made = copy(tree)
    for name, value in ast.iter_fields(tree):
        if isinstance(value, ast.expr):
            setattr(made, name, _instead(value, call, new))
        elif isinstance(value, list):
            setattr(made, name, [_instead(part, call, new) for part in value])
    return made
