"""What docstrings say of the price of code: the terms that count of two polynomials."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import SupportsIndex

from tensorgen.arrays.arrays import Array
from tensorgen.arrays.code import Code
from tensorgen.arrays.memory import peak
from tensorgen.arrays.statements import Statement
from tensorgen.arrays.work import arithmetic
from tensorgen.ir.dims import ZERO, Coefficient, Dim
from tensorgen.prices.thresholds import assumed

MOST_TERMS = 3
"""The most terms of a polynomial that are said."""
LEFT_OUT = 0.05
"""The part of the whole that may be left out where fewer terms are said."""


class Amount(int):
    """A number, and the polynomial that it is the value of."""

    dim: Dim

    @classmethod
    def of(cls, dim: Dim, sizes: Mapping[str, int]) -> Amount:
        """Return what a polynomial comes to, 0 at least."""
        number = dim.value(assumed(sizes, dim.sources))
        return cls._made(max(number, 0), dim if number > 0 else ZERO)

    @classmethod
    def _made(cls, number: int, dim: Dim) -> Amount:
        made = cls(number)
        made.dim = dim
        return made

    def __add__(self, other: SupportsIndex) -> Amount:
        return self._made(int(self) + int(other), self.dim + _dim(other))

    __radd__ = __add__

    def __sub__(self, other: SupportsIndex) -> Amount:
        return self._made(int(self) - int(other), self.dim - _dim(other))


def _dim(number: SupportsIndex) -> Dim:
    return number.dim if isinstance(number, Amount) else Dim.of(int(number))


def cost_line(code: Code, most: Dim, sizes: Mapping[str, int]) -> str:
    """Return the arithmetic of code, and its peak memory, the `most` numbers at a time.

    The largest terms at some `sizes` are said: three, or as few as make 95 percent.
    """
    flops, numbers = (leading(x, sizes) for x in (arithmetic(code), most))
    told = [f"{powers(flops)} flops"] * bool(flops.terms)
    told += [f"peak memory {powers(numbers)} numbers"] * bool(numbers.terms)
    return "; ".join(told)


def held(code: Code, sizes: Mapping[str, int]) -> Dim:
    """Return the most numbers that code stores at a time.

    Which statement stores most follows from some `sizes`. Blocks, whose length is
    fixed, are not compared with what grows: they come on top of it.
    """
    return _held(code.statements, code.returns, tuple(sizes.items()))


# It is asked again where functions may share code, and for each backend.
@lru_cache(maxsize=256)
def _held(
    statements: tuple[Statement, ...],
    returns: tuple[Array, ...],
    hints: tuple[tuple[str, int], ...],
) -> Dim:
    code, sizes = Code(statements, returns), dict(hints)

    def value(dim: Dim) -> int:
        return Amount.of(dim, sizes)

    whole, grown = (_dim(peak(code, value, blocks=x)) for x in (True, False))
    return grown + Dim(term for term in whole.terms if not term[0])


def powers(dim: Dim) -> str:
    """A polynomial with `n**2` for `n*n`."""
    return re.sub(r"\b([^\W\d]\w*)(\*\1\b)+", _power, str(dim))


def _power(found: re.Match[str]) -> str:
    return f"{found[1]}**{found[0].count('*') + 1}"


def leading(dim: Dim, sizes: Mapping[str, int]) -> Dim:
    """Return the few terms of a polynomial that most of its value comes from.

    Parts of numbers, such as those that truth values take, are rounded.
    """

    def size(term: Dim) -> int:
        return abs(int(Amount.of(term, sizes)))

    parts = [sign * term for sign, term in dim.parts]
    parts.sort(key=lambda part: -max(size(part), size(-part)))
    whole, said = size(dim), ZERO
    for part in parts[:MOST_TERMS]:
        if abs(whole - size(said)) <= LEFT_OUT * whole:
            break
        said += part
    return Dim((monomial, _rounded(c)) for monomial, c in said.terms)


def _rounded(coefficient: Coefficient) -> int:
    """The nearest number that is not zero."""
    return round(coefficient) or (1 if coefficient > 0 else -1)
