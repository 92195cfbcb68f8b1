"""Functions of large arrays in the memory of these: `np.exp(x, out=x)`.

NumPy adds and multiplies in the memory of an operand that nobody else has; functions
take new memory, and what the system hands out anew costs more than most of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

from tensorgen.arrays.arrays import Array, array, variable
from tensorgen.arrays.code import Code
from tensorgen.arrays.memory import is_fresh
from tensorgen.arrays.operations import Add, Elementwise, Index, Multiply, Operation
from tensorgen.arrays.out_text import last_operation
from tensorgen.arrays.places import WHOLE
from tensorgen.arrays.statements import Change, Let, Statement, Store


def overwritten(code: Code, is_large: Callable[[Array], bool]) -> Code:
    """Return code in which functions of large arrays write over what they are of.

    These are functions that a name stands for, alone or as a factor or a term.
    """
    lines: list[Statement] = []
    for line in code.statements:
        lines += _split(line, is_large) if isinstance(line, Let) else [line]
    return replace(code, statements=tuple(lines))


def _split(line: Let, is_large: Callable[[Array], bool]) -> list[Statement]:
    value = line.value
    whole = variable(line.name, value.dims, base=line.name)
    if _overwrites(value, is_large):
        (inner,) = value.args
        at = Index((WHOLE,) * whole.order, whole.dims)
        last = Store(whole, at, (), "out=", array(value.op, whole))
        return [*_split(Let(line.name, inner), is_large), last]
    for k, part in enumerate(value.args):
        change = _change(value, k)
        if change is not None and _overwrites(part, is_large):
            at = Index((WHOLE,) * whole.order, whole.dims)
            how, rest = change
            last = Store(whole, at, (), how, rest)
            return [*_split(Let(line.name, part), is_large), last]
    return [line]


def _change(value: Array, place: int) -> tuple[Change, Array] | None:
    """How to make a product or a sum of its factor or term at a place, and of what."""
    op, others = value.op, (*value.args[:place], *value.args[place + 1 :])
    if value.args[place].dims != value.dims or not others:
        return None
    rest: Operation
    how: Change
    if isinstance(op, Multiply) and place < op.above:
        rest = replace(op, above=op.above - 1)
        how = "*="
    elif isinstance(op, Add) and op.signs[place] > 0:
        signs = (*op.signs[:place], *op.signs[place + 1 :])
        how = "+=" if signs[0] > 0 else "-="
        rest = Add(tuple(signs[0] * sign for sign in signs))
    else:
        return None
    alone = len(others) == 1 and rest in (Multiply(Fraction(1), 1), Add((1,)))
    return how, others[0] if alone else array(rest, *others)


def _overwrites(value: Array, is_large: Callable[[Array], bool]) -> bool:
    """Whether a value is a function of one large array that nobody else has."""
    if not isinstance(value.op, Elementwise) or len(value.args) != 1:
        return False
    (inner,) = value.args
    return (
        is_large(value)
        and last_operation(value) is not None
        and inner.dims == value.dims
        and inner.kind == value.kind == "float"
        and is_fresh(inner)
    )
