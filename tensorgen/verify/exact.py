"""Values in fifty digits, by mpmath where that is installed.

The same interpreter runs on arrays of mpmath's numbers; functions of these are written
once more, from what their names mean. What has none, what solves an equation, and what
is too large for numbers of that kind is compared in doubles, as without mpmath.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import cache
from importlib.util import find_spec

import numpy as np

from tensorgen.errors import InternalError
from tensorgen.fields.doubles import Doubles
from tensorgen.ir.nodes import Call, Map, Node, topological
from tensorgen.operators.recurrences.recurrence import everything
from tensorgen.operators.references import Array
from tensorgen.verify.interpret import entries, evaluate

DIGITS = 50

_FAULTS = (ArithmeticError, InternalError, TypeError, ValueError)
# Of complex numbers, singular matrices, and series that do not converge.

LARGEST = 20_000
"""Entries of products that are spelled out, which take about a microsecond each."""


@cache
def has_digits() -> bool:
    """Whether mpmath is here."""
    return find_spec("mpmath") is not None


def exactly(
    node: Node, given: Mapping[str, Array], sizes: Mapping[str, int]
) -> Array | None:
    """Return the value of a node, rounded to doubles from fifty digits.

    Nothing is returned where that is impossible, and why is no matter.
    """
    if not has_digits() or not _is_possible(node, sizes):
        return None
    import mpmath

    from tensorgen.verify.exact_functions import functions, operators

    with mpmath.workdps(DIGITS):
        exact = {name: _numbers(np.asarray(x)) for name, x in given.items()}
        try:
            found = evaluate([node], exact, functions(), operators(), sizes, Digits)
            return np.asarray(found[0], float)
        except (*_FAULTS, mpmath.mp.NoConvergence):
            return None


def _is_possible(node: Node, sizes: Mapping[str, int]) -> bool:
    from tensorgen.verify.exact_functions import functions, operators

    for one in everything(topological([node])):
        if isinstance(one, Map) and one.function not in functions():
            return False
        if isinstance(one, Call) and one.operator not in {*operators(), "recurrence"}:
            return False
        if entries(one, sizes) > LARGEST:
            return False
    return True


class Digits(Doubles):
    """Numbers of mpmath, with as many digits as are asked for where they are made."""

    def number(self, value: Fraction) -> Array:
        """A rational."""
        import mpmath

        return mpmath.mpf(value.numerator) / value.denominator

    def constant(self, name: str) -> Array:
        """A number with a name."""
        import mpmath

        return +getattr(mpmath, name)


def _numbers(array: Array) -> Array:
    """Doubles as they are, in other numbers; indices stay what they are."""
    import mpmath

    if array.dtype.kind in "iu":
        return array
    return np.asarray(np.frompyfunc(lambda x: mpmath.mpf(float(x)), 1, 1)(array))
