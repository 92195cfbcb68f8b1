"""Numbers modulo a prime, in which rational algebra is exact.

The prime is such that the small primes are squares and -1 is none. So squares behave
like positive numbers: `x > y` means that `x - y` is a square, which agrees with the
order of small fractions, and a positive number has a positive square root. Roots of odd
degree are unique. Elsewhere a function is a fixed random map of its arguments.

Arrays of residues are NumPy arrays of Python integers (dtype object), masks are arrays
of booleans, and indices and sizes are integers.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from tensorgen.operators.references import Array
from tensorgen.operators.references.places import COMPARE

PRIME = 2**61 - 11913
"""7 modulo 8, 2 modulo 3, not 1 modulo 5 and 7; 2, 3, 5, ..., 31 are squares."""

INFINITY = zlib.crc32(b"infinity") ** 2 % PRIME
NUMERATORS = 2**12
"""Numerators of exponents are smaller; any other exponent makes a random map."""
DEGREES = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 20, 100)
"""Denominators of exponents: their odd parts have nothing in common with PRIME - 1."""


class NoValue(Exception):
    """What NumPy refuses: the largest of no numbers, windows longer than an axis."""


def random(name: str, *values: int) -> int:
    """A fixed random map of residues."""
    # Tuples of integers have the same hash in every run.
    return hash((zlib.crc32(name.encode()), *values)) % PRIME


def inverse(x: int) -> int:
    """One over a residue, and 0 for 0."""
    return pow(x, -1, PRIME) if x else 0


def sign(x: int) -> int:
    """1 for a square, -1 for what is none, 0 for 0."""
    found = pow(x, (PRIME - 1) // 2, PRIME)
    return -1 if found == PRIME - 1 else found


def signed(x: int) -> int:
    """The representative nearest to 0."""
    return x if x <= PRIME // 2 else x - PRIME


def exp(x: int) -> int:
    """A positive random map with exp(-x) = 1 / exp(x)."""
    if x in (0, INFINITY, PRIME - INFINITY):
        return {0: 1, INFINITY: INFINITY}.get(x, 0)
    least = min(x, PRIME - x)
    value = pow(random("exp", least), 2, PRIME)
    return value if x == least else inverse(value)


def log(x: int) -> int:
    """A random map that is 0 at 1."""
    return random("log", x) if x != 1 else 0


class Residues:
    """The field; `outside` is set where the real function would have no value.

    What is made up there is as good as any value, unless it is 0: then much is `lost`.
    """

    library: Any = np
    dtype: Any = object

    def __init__(self) -> None:
        self.outside = self.lost = False
        self.functions: dict[str, Callable[..., Array]] = {}

    def number(self, value: Fraction) -> Array:
        """A rational."""
        top = value.numerator * inverse(value.denominator % PRIME)
        return np.asarray(top % PRIME, dtype=object)

    def constant(self, name: str) -> Array:
        """A number with a name."""
        value = {"inf": INFINITY, "e": exp(1)}.get(name)
        if value is None:
            value = random(name) ** 2 % PRIME
        return np.asarray(value, dtype=object)

    def of(self, value: Array) -> Array:
        """Masks, indices, sizes and rationals as numbers."""
        if isinstance(value, Fraction):
            return self.number(value)
        found = np.asarray(value)
        if found.dtype == object and not isinstance(value, int):
            return found
        if found.dtype == bool:
            found = found.astype(int)
        return self.reduced(found.astype(object))

    def reduced(self, value: Array) -> Array:
        """What additions and multiplications have made, as residues again."""
        return np.asarray(np.asarray(value, dtype=object) % PRIME, dtype=object)

    def beyond(self, value: Array) -> Array:
        """Note that something was promised that does not hold."""
        self.outside = self.lost = True
        return value

    def each(self, function: Callable[..., int], *args: Array) -> Array:
        """A function of residues, entry by entry."""
        made = np.frompyfunc(function, len(args), 1)
        return np.asarray(made(*map(self.of, args)), dtype=object)

    def divided(self, x: Array, y: Array) -> Array:
        """The quotient, and 0 where y is 0."""
        return self.reduced(self.of(x) * self.each(self._inverse, y))

    def power(self, x: Array, y: Array) -> Array:
        """`x**y`: of rational numbers as in any field."""
        return self.each(self.raised, x, y)

    def compared(self, symbol: str, x: Array, y: Array) -> Array:
        """Whether a comparison holds, by the sign of the difference."""
        signs = self.each(sign, self.reduced(self.of(x) - self.of(y)))
        return holds(symbol, signs)

    def _inverse(self, x: int) -> int:
        if not x:
            self.outside = self.lost = True
        return inverse(x)

    def raised(self, x: int, y: int) -> int:
        """A power; a random map where the exponent is no simple fraction."""
        for q in DEGREES:
            p = signed(q * y % PRIME)
            if abs(p) < NUMERATORS:
                root = self.root(x, q)
                return pow(root if p >= 0 else self._inverse(root), abs(p), PRIME)
        return random("pow", x, y)

    def root(self, x: int, degree: int) -> int:
        """The root that is positive, or of odd degree."""
        while degree % 2 == 0:
            self.outside |= sign(x) < 0
            x, degree = pow(x, (PRIME + 1) // 4, PRIME), degree // 2
        return pow(x, pow(degree, -1, PRIME - 1), PRIME) if degree > 1 else x


def store(whole: Array, at: Any, value: Array) -> None:
    """Replace entries; arrays of objects would hold one without axes as such."""
    whole[at] = value[()] if isinstance(value, np.ndarray) else value


def holds(symbol: str, signs: Array) -> Array:
    """Whether a comparison with 0 holds."""
    return np.asarray(COMPARE[symbol](signs, 0), dtype=bool)
