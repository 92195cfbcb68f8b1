"""A factor that is one over a function divides by that function instead.

    a * (1 / np.expm1(t)) = a / np.expm1(t)
    _xlogy(a, a / (1 / b)) = _xlogy(a, a * b)

One pass over the arrays less, and one rounding.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from tensorgen.arrays.arrays import Array, array, rewriting
from tensorgen.arrays.code import Code, changed_by
from tensorgen.arrays.operations import Elementwise, Multiply
from tensorgen.operators.elementwise import ELEMENTWISE

_TEXTS = {row.numpy: name for name, row in ELEMENTWISE.items()}
DIVISORS = {
    name: _TEXTS[row.numpy.removeprefix("1 / ")]
    for name, row in ELEMENTWISE.items()
    if row.numpy.startswith("1 / ") and row.numpy.removeprefix("1 / ") in _TEXTS
}
"""Functions that are one over another, which takes a call."""


def divided(code: Code) -> Code:
    """Return code in which products divide by functions."""
    return changed_by(code, rewriting(lambda _, found: _divided(found)))


def _divided(one: Array) -> Array:
    if one.op == Elementwise("xlog_ratio"):
        x, y = one.args
        if y.op == Multiply(Fraction(1), 0):
            times = array(Multiply(Fraction(1), 1 + len(y.args)), x, *y.args)
            return array(Elementwise("xlogy"), x, times)
    if not isinstance(one.op, Multiply) or len(one.args) != one.op.above:
        return one
    divisors = [arg for arg in one.args if _divisor(arg)]
    others = [arg for arg in one.args if not _divisor(arg)]
    if not divisors or not others:
        return one
    found, op = others, replace(one.op, above=len(others))
    for arg in divisors:  # one by one: what they multiply to may leave the range
        below = array(Elementwise(_divisor(arg)), *arg.args)
        found, op = [array(op, *found, below)], Multiply(Fraction(1), 1)
    return found[0]


def _divisor(one: Array) -> str:
    """The function that an array is one over; nothing where it is not."""
    return DIVISORS.get(one.op.function, "") if isinstance(one.op, Elementwise) else ""
