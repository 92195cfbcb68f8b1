"""Numbers of a spec, exact: the text `1e-3` is one thousandth."""

from __future__ import annotations

import re
from fractions import Fraction

_NUMBER = re.compile(
    r"[+-]?(?:[0-9][0-9_]*(?:\.[0-9]*)?|\.[0-9]+)(?:[eE](?P<exponent>[+-]?[0-9]+))?"
)
_LONGEST = 400
_LARGEST_EXPONENT = 330


def read_number(text: str) -> Fraction | None:
    """Return the number that `text` spells, or None where it spells none.

    It may be a quotient, `1/2`.
    """
    above, sign, below = text.partition("/")
    number, divisor = _decimal(above.strip()), _decimal(below.strip() if sign else "1")
    if number is None or not divisor:
        return None
    quotient = number / divisor
    return quotient if abs(quotient) < 2**1024 else None


def _decimal(text: str) -> Fraction | None:
    """Return the number that a text without a quotient spells, if any.

    What no float64 can come near is none either: the exact form of `1e999999999`
    would fill the memory.
    """
    match = _NUMBER.fullmatch(text)
    if match is None or len(text) > _LONGEST:
        return None
    if abs(int(match["exponent"] or 0)) > _LARGEST_EXPONENT:
        return None
    return Fraction(text.replace("_", ""))
