"""Numbers and sizes as text."""

from __future__ import annotations

import math
from fractions import Fraction

from tensorgen.arrays.places import Limit
from tensorgen.arrays.templates import Level, Text
from tensorgen.ir.dims import Dim

SHORT = 12  # characters of an exact number or quotient
WRITABLE = 10**20  # whole numbers beyond are rounded: nobody reads their digits


def number(value: Fraction) -> Text:
    """A rational as a Python literal, or as a quotient where that alone is short."""
    if value < 0:
        text, level = number(-value)
        return Text(f"-{text}", Level.UNARY if level == Level.ATOM else level)
    if value.denominator == 1 and value.numerator <= 2**53:
        return Text(str(value.numerator))
    if short := decimal(value):
        return Text(short)
    rounded = _float(value)
    if max(value.numerator, value.denominator) > WRITABLE:
        return Text(repr(rounded) if math.isfinite(rounded) else "math.inf")
    if value.denominator == 1:
        return Text(f"{value.numerator}.0")
    p, q = (number(Fraction(k)).text for k in (value.numerator, value.denominator))
    quotient = f"{p} / {q}"
    return Text(repr(rounded)) if len(quotient) > SHORT else Text(quotient, Level.TERM)


def decimal(value: Fraction) -> str | None:
    """The shortest decimal literal, if it is short and exact."""
    text = repr(_float(value))
    short = text != "inf" and len(text) <= SHORT
    return text if short and Fraction(text) == value else None


def _float(value: Fraction) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf


def split(value: Fraction, divides: bool) -> tuple[Fraction, int]:
    """Write a positive coefficient as a number before and an integer below."""
    p, q = value.numerator, value.denominator
    if q == 1:
        return value, 1
    if p == 1 and (divides or decimal(value) is None):
        return Fraction(1), q
    return value, 1


def size(dim: Dim) -> Text:
    """A size as a Python integer, without a sign in front if possible."""
    dim, below = dim.whole
    if below > 1:
        top = size(dim).text
        text = top if len(dim.terms) == 1 else f"({top})"
        return Text(f"{text} // {below}", Level.TERM)
    text = ""
    level = Level.ATOM
    terms = sorted(dim.terms, key=lambda term: (not term[0], term[1] < 0))
    if terms and terms[0][1] < 0:  # `1 - k`, but `n - k + 1`
        terms.sort(key=lambda term: term[1] < 0)
    for monomial, coefficient in terms:
        count = abs(coefficient)
        factors = [str(count)] * (count != 1 or not monomial) + list(monomial)
        body = " * ".join(factors)
        if text:
            text += f" {'-' if coefficient < 0 else '+'} {body}"
            level = Level.SUM
        else:
            text = f"-{body}" if coefficient < 0 else body
            level = Level.TERM if len(factors) > 1 else Level.ATOM
            if coefficient < 0:
                level = min(level, Level.UNARY)
    return Text(text or "0", level)


def limit(place: Limit) -> str:
    """A position, within its bounds."""
    text = size(place.position).text
    if place.clipped:
        text = f"max({text}, 0)"
    if place.most is not None:
        text = f"min({text}, {size(place.most).text})"
    return text


def shape(dims: tuple[Dim, ...]) -> str:
    """A shape as an argument: a number for a vector, else a tuple."""
    sizes = [size(dim).text for dim in dims]
    return sizes[0] if len(sizes) == 1 else f"({', '.join(sizes)})"


def axis_argument(axes: tuple[int, ...], order: int = 0) -> str:
    """The argument of a reduction over `axes` of an array of `order` axes."""
    if len(axes) == order:
        return ""
    return f"axis={axes[0] if len(axes) == 1 else axes}"
