"""`max(a, b)` of two values or more: the larger one, where no axis can be meant.

A second argument of `max` is an axis, as NumPy has it, or an index that is bound. Where
it can be neither, what Python's function of that name does is meant.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from functools import reduce

from tensorgen.lang.bind_arguments import is_axis, is_flag
from tensorgen.lang.binding_calls import states_condition
from tensorgen.lang.statement import CONSTANTS, Statement
from tensorgen.lang.syntax import names_in
from tensorgen.operators.functions.arithmetic import elementwise
from tensorgen.operators.functions.array import Array, Misuse

OF_TWO = {"max": "maximum", "min": "minimum"}
"""Reductions, and what takes two values entry by entry."""


def of_values(e: Statement, tree: ast.Call) -> bool:
    """Whether a call of `max` or `min` is of several values.

    Of `max(x, 0)` only the axes of x tell; see `of_number`.
    """
    assert isinstance(tree.func, ast.Name)
    if tree.func.id not in OF_TWO or len(tree.args) < 2 or tree.keywords:
        return False
    first, *others = tree.args
    # The arguments of the reduction in their order, as in max(X, 0, True).
    if is_axis(others[0]) and (len(others) == 1 or is_flag(others[1])):
        return False
    return not any(_may_bind(e, first, part) for part in others)


def _may_bind(e: Statement, body: ast.expr, tree: ast.expr) -> bool:
    """Whether an argument behind the first may be an index, or a condition on one.

    What the first does not mention gives no range to an index, so a dim is a number.
    """
    if not isinstance(tree, ast.Name):
        return states_condition(tree)
    name, thing = tree.id, e.names.get(tree.id)
    if name in e.scope or (thing is not None and thing.dim is not None):
        return name in names_in(body)
    if thing is None:
        return name not in CONSTANTS or name in names_in(body)
    return False


def of_number(tree: ast.Call, values: Mapping[str, object]) -> Array | None:
    """Return x of `max(x, 0)` where that is of two numbers: an x that has no axes."""
    assert isinstance(tree.func, ast.Name)
    if tree.func.id not in OF_TWO or len(tree.args) != 2 or tree.keywords:
        return None
    x = values["x"]
    return x if isinstance(x, Array) and not x.order else None


def extreme(e: Statement, tree: ast.Call, parts: Sequence[Array]) -> Array | None:
    """Return the largest or smallest of values, entry by entry."""
    assert isinstance(tree.func, ast.Name)
    name = OF_TWO[tree.func.id]
    try:
        return reduce(lambda a, b: elementwise(e.build, name, [a, b]), parts)
    except Misuse as misuse:
        e.misused(misuse, tree, {})
        return None
