"""The one table of prices: a row an operation, a column for each who asks.

The unit is a multiply-add within a matrix product, which takes a core a tenth of a
nanosecond. Prices are of an entry, where a row says nothing else. Those of NumPy were
measured on vectors of 2**15 and of 10**7 numbers. A backend is a column: of a GPU,
`CALL` would be a launch, and `STORED` the bytes of an entry.

What is planned is the same for all backends, and was measured apart, on arrays of 10**3
to 10**6 numbers, where memory is part of an entry. Where it is far from the column
beside it, the row says so: what is planned decides orders, and orders what is emitted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from operator import attrgetter
from typing import NamedTuple

from tensorgen.operators.elementwise import ELEMENTWISE


class Price(NamedTuple):
    """What an operation costs: 0 for those who do not count it."""

    flops: int
    planned: float = 0.0
    numpy: float = 0.0


Backend = Callable[[Price], float]
NUMPY: Backend = attrgetter("numpy")

CALL = Price(0, planned=1_000, numpy=7_000)
"""A call from Python, whatever its sizes. Plans count a seventh of it: with all of it a
quarter of the examples would be planned otherwise."""
GLANCE = Price(0, numpy=1_000)
"""A view of an array, an operation of two numbers, a call of a function in Python."""

# Arithmetic

MULTIPLY_ADD = Price(2, planned=1, numpy=1)
"""A term of a contraction."""
MOVED = Price(3)
"""Of what a moving sum goes through: windows of twice the length, three times or so."""
ENTRY = Price(1, planned=4, numpy=3)
"""Read, combined and written by `+` or `*`."""
TURNED = Price(1, planned=8)
"""Of a transpose that is added to what it is the transpose of."""
FUNCTION = Price(1, planned=40, numpy=30)
"""Of a function like `exp`. Plans made with what NumPy takes differ little, but do."""
LOGISTIC = Price(1, planned=100, numpy=30)
"""Of a function that computes an `exp` and what keeps its digits: `_sigmoid` takes 70,
`logaddexp` 170. Large ones are made of others (`arrays/quicken.py`) before blocks
are timed, and what is left of them is timed as a function."""
SHARE = Price(5, numpy=42)
"""Of softmax and its logarithms: the largest entry, what is above it, the exponential,
their sum, and the share of it."""
SELECTION = Price(1, planned=6, numpy=6)
"""Of a comparison, of `where`, `abs` and their like."""
SQUARE = Price(1, numpy=3)
"""By an operator. Plans take all powers for functions."""
POWER = Price(1, numpy=500)
"""To a whole number, where numbers may be negative; squares are products."""

# Places

GATHERED = Price(0, planned=4, numpy=20)
"""Read from where an index array says, alone or as the first of a row of them. To plans
it is an entry like others, of a row or not, which two of the examples rest on."""
SCATTERED = Price(0, planned=40, numpy=8)
"""Added where an index array says: `np.add.at` takes 7 for a vector, and 8 to 10 for
rows that are added up flat. Plans count as much as it takes for rows as they are."""
MASKED = Price(0, planned=4)
"""Multiplied or left out, one by one."""

# Memory

STORED = Price(0, numpy=5.5)
"""Written out of the caches, and read from there once. Plans have it in `ENTRY`."""
STORED_ROW = Price(0, planned=300)
"""A row that is stored in a step and read again, its entries aside."""
STACKED = Price(0, numpy=400)
"""To begin a product of matrices, one of a stack."""
STACKED_ENTRY = Price(0, numpy=1)
"""Of its operands."""

# Laws: what searches take, as shares and multiples of the cube of a side

ELIMINATION = 0.7
"""To solve what equations linear in an unknown say."""
NEWTON_STEPS = 5.0
"""To find an unknown."""


def of_function(name: str) -> Price:
    """The price of an elementwise function."""
    row = ELEMENTWISE[name]
    if row.boolean or row.has("quick"):
        return SELECTION
    return LOGISTIC if row.has("logistic") else FUNCTION


def of_bundle(functions: Sequence[str]) -> list[Price]:
    """The prices of logistic functions that share an exponential, added up."""
    log = any(name in ("softplus", "log_sigmoid") for name in functions)
    return [LOGISTIC, *[FUNCTION] * log, *[SELECTION] * (len(functions) - log)]


def of_power(exponent: Fraction) -> Price:
    """The price of a power."""
    if exponent.denominator != 1:
        return FUNCTION
    return SQUARE if exponent == 2 else POWER
