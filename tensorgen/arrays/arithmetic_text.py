"""Sums, products and powers as text, in as few parentheses as a reader needs."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from tensorgen.arrays.number_text import number, split
from tensorgen.arrays.templates import Level, Text


def power(base: Text, exponent: Fraction) -> Text:
    """`base` to a rational power."""
    e = number(exponent)
    plain = base.level == Level.ATOM and "(" not in base.text and "[" not in base.text
    # Black's own convention: simple operands hug the operator.
    operator = "**" if plain and e.level == Level.ATOM else " ** "
    return Text(f"{base.at(Level.ATOM)}{operator}{e.at(Level.ATOM)}", Level.POWER)


def product(
    coefficient: Fraction, above: Sequence[Text], below: Sequence[Text]
) -> Text:
    """`coefficient * above / below`."""
    sign, value = ("-", -coefficient) if coefficient < 0 else ("", coefficient)
    head, foot = split(value, bool(below))
    first = [number(head)] if head != 1 or not above else []
    last = [number(Fraction(foot))] if foot != 1 else []
    numerator = [*first, *above]
    # `2 * (a * b)` needs no parentheses; `2 * (-a)` and `a * (b * c)` keep theirs.
    alone = len(above) == 1 and above[0].level == Level.TERM
    least = Level.POWER if sign and numerator[0].level == Level.UNARY else Level.TERM
    parts = [
        part.at(least if k == 0 else Level.TERM if alone else Level.UNARY)
        for k, part in enumerate(numerator)
    ]
    text = sign + " * ".join(parts)
    denominator = [*last, *below]
    if len(denominator) == 1:
        text += f" / {denominator[0].at(Level.UNARY)}"
    elif denominator:
        inner = " * ".join(
            part.at(Level.TERM if k == 0 else Level.UNARY)
            for k, part in enumerate(denominator)
        )
        text += f" / ({inner})"
    if len(numerator) > 1 or denominator:
        return Text(text, Level.TERM)
    if not sign:
        return Text(text, numerator[0].level)
    return Text(text, Level.TERM if numerator[0].level < Level.UNARY else Level.UNARY)


def total(terms: Sequence[tuple[int, Text]]) -> Text:
    """The sum of signed operands, in this order."""
    text, level = "", Level.SUM
    for sign, part in terms:
        if text and part.text[0] == "-" and part.level in (Level.TERM, Level.UNARY):
            sign, part = -sign, part._replace(text=part.text[1:])
        if not text and sign > 0:
            text, level = part.at(Level.SUM), part.level
        elif not text:
            text, level = product(Fraction(-1), [part], [])
        else:
            joint = "+" if sign > 0 else "-"
            text += f" {joint} {part.at(Level.MATMUL)}"
            level = Level.SUM
    return Text(text, level)
