"""Texts of formulas that know how tightly they hold together."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate

LARGEST_DENOMINATOR = 8  # denominators up to this one are written out
WRITABLE = 10**20  # whole numbers beyond are rounded: nobody reads their digits

SUM, PRODUCT, POWER, ATOM = range(4)  # how tightly a text holds together
Text = tuple[str, int]

# A minus, or the sign of a sum: `sum_j x[j]`, where `sum_j` may be a name as well.
_STARTS = re.compile(r"-|sum_(?!\w+($|[\[)]| [-+*/@]))")
_ENTRY = re.compile(r"\w+(\[[^\[\]]*(\[[^\[\]]*\][^\[\]]*)*\])?")  # x, x[i], x[row[i]]


def assembled(
    coefficient: Fraction,
    summed: Sequence[str],
    over: Sequence[str],
    under: Sequence[Text],
    conditions: Sequence[str] = (),
) -> Text:
    """Join a coefficient, a sign of summation with conditions, factors and divisors."""
    if under and 1 < coefficient.denominator <= LARGEST_DENOMINATOR:
        under = [(str(coefficient.denominator), ATOM), *under]
        coefficient = Fraction(coefficient.numerator)
    over, below = _powers(over), _below(under)
    plain = summed and not conditions and not below
    if plain and len(over) == 1 and _is_sum(over[0]):
        inner, _, rest = over[0][5:-1].partition(" ")
        summed, over = [*summed, inner], [rest]
    sign = "-" if coefficient < 0 else ""
    size = abs(coefficient)
    letters = ",".join(summed)
    if conditions:
        letters = f"{{{letters}: {', '.join(conditions)}}}"
    sigma = f"sum_{letters} " if summed else ""
    factors = list(over)
    if below and not factors:
        factors = [number(size)]
        size = Fraction(1)
    body = " * ".join(factors)
    if below:
        body += f" / {below}"
    if not body:
        tight = ATOM if size.denominator == 1 and not sign else PRODUCT
        return f"{sign}{sigma}{number(size)}", tight
    if size != 1:
        return f"{sign}{number(size)} * {sigma}{body}", PRODUCT
    if len(factors) > 1 or below or sigma or sign:
        return f"{sign}{sigma}{body}", PRODUCT
    return body, ATOM if _ENTRY.fullmatch(body) else POWER


def added(terms: Sequence[tuple[str, str]]) -> Text:
    """Terms with their signs, one after the other."""
    if len(terms) == 1 and terms[0][0] == "+":
        return terms[0][1], PRODUCT
    text = "".join(f" {sign} {body}" for sign, body in terms).removeprefix(" + ")
    return (f"-{text[3:]}" if text.startswith(" - ") else text) or "0", SUM


_MOST_APART = 2


def gathered(terms: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """The same, where many that have the same numbers in front have these outside.

    `lam * a + lam * b - lam * c` is `lam * (a + b - c)`.
    """
    groups: dict[str, list[tuple[str, str]]] = {}
    for sign, body in terms:
        front = _FRONT.match(body)
        groups.setdefault(front[0] if front else body, []).append((sign, body))
    found = []
    for start, own in groups.items():
        if len(own) <= _MOST_APART:
            found += own
            continue
        first = own[0][0]
        inside = [("+" if x == first else "-", body[len(start) :]) for x, body in own]
        found.append((first, f"{start}({added(inside)[0]})"))
    return sorted(found, key=lambda term: term[0] == "-")


_FRONT = re.compile(r"([\w.]+(/\d+)? \* )+")


def is_call(spelled: str) -> bool:
    """Whether a function is spelled as the call of one, such as `exp({0})`."""
    return re.fullmatch(r"\w+\((\{\d\}(, )?)+\)", spelled) is not None


def filled(spelled: str, parts: Sequence[Text]) -> Text:
    """A function by what it is; arguments of a call need no parentheses."""
    bare = [text for text, _ in parts]
    text = spell(spelled, bare, [tight(part, ATOM) for part in parts])
    whole = SUM if " - " in re.sub(r"\(.*\)", "", spelled) else PRODUCT
    return text, ATOM if is_call(spelled) else whole


def spell(spelled: str, bare: Sequence[str], tight: Sequence[str]) -> str:
    """Fill in arguments: bare where a call has nothing else in it, tight elsewhere."""
    alone = re.sub(r"(?<=\w\()\{(\d)\}(?=\))", r"{bare[\1]}", spelled)
    several = re.sub(r"\{(\d)\}", r"{bare[\1]}", spelled)
    return (several if is_call(spelled) else alone).format(*tight, bare=bare)


def _is_sum(text: str) -> bool:
    """Whether all of a text is a sum in parentheses, without conditions."""
    starts = text.startswith("(sum_") and not text.startswith("(sum_{")
    return starts and _STARTS.match(text, 1) is not None and _is_enclosed(text)


def bare_text(text: str) -> str:
    """A text without parentheses around all of it."""
    return text[1:-1] if _is_enclosed(text) else text


def _is_enclosed(text: str) -> bool:
    """Whether one pair of parentheses holds all of a text."""
    depths = accumulate((c == "(") - (c == ")") for c in text)
    return text.startswith("(") and list(depths).index(0) == len(text) - 1


def _below(under: Sequence[Text]) -> str:
    """Join divisors; a product among them needs no parentheses of its own."""
    if len(under) == 1:
        return tight(under[0], POWER)
    flat = [
        level == PRODUCT and " / " not in text and not _STARTS.match(text)
        for text, level in under
    ]
    texts = [
        text if plain else tight((text, level), POWER)
        for (text, level), plain in zip(under, flat, strict=True)
    ]
    return f"({' * '.join(_powers(texts))})" if texts else ""


def number(value: Fraction) -> str:
    """Return a rational as a person writes it: 2, 1/2, 2/3, 0.001."""
    if max(abs(value.numerator), value.denominator) > WRITABLE:
        try:
            return repr(float(value))
        except OverflowError:
            return "inf" if value > 0 else "-inf"
    if value.denominator <= LARGEST_DENOMINATOR:
        return str(value)
    decimal = repr(float(value))
    return decimal if Fraction(decimal) == value or len(str(value)) > 12 else str(value)


def _powers(factors: Sequence[str]) -> list[str]:
    """Write a factor that occurs twice as its square."""
    count = {text: factors.count(text) for text in factors}
    return [text if c == 1 else f"{_grouped(text)}**{c}" for text, c in count.items()]


def _grouped(text: str) -> str:
    whole = _ENTRY.fullmatch(text) or _is_enclosed(text)
    return text if whole else f"({text})"


def tight(text: Text, level: int) -> str:
    """Put a text into parentheses where it holds together less than `level` asks."""
    sigma = level == PRODUCT and _STARTS.match(text[0])
    return f"({text[0]})" if text[1] < level or sigma else text[0]
