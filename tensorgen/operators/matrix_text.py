"""The text of matrix expressions, as one would write them in NumPy."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction

from tensorgen.ir.formula_text import LARGEST_DENOMINATOR, number
from tensorgen.operators import matrix_terms as matrices

_ONES = re.compile(r"ones\((.*)\)")

Text = tuple[str, int]
"""A text, and how tightly it holds together."""


def enclosed(text: str, level: int, wanted: int) -> str:
    """A text, in parentheses where it holds together less than is `wanted`."""
    return text if level >= wanted else f"({text})"


def tight(x: matrices.Expression, level: int) -> str:
    """Write an expression so that it holds together as much as a level asks."""
    return enclosed(*written(x), level)


def written(x: matrices.Expression) -> Text:
    """Write an expression."""
    match x:
        case matrices.Symbol(text=text, level=level, is_turned=is_turned):
            return (
                (f"{enclosed(text, level, matrices.ATOM)}.T", matrices.ATOM)
                if is_turned
                else (text, level)
            )
        case matrices.Applied(function=function, args=args, is_turned=is_turned):
            inside = ", ".join(written(arg)[0] for arg in args)
            return f"{function}({inside})" + ".T" * is_turned, matrices.ATOM
        case matrices.Row(vector=vector):
            return written(vector)
        case matrices.Spread(vector=vector, axis=axis):
            if axis == 1:
                return written(vector)
            return f"{tight(vector, matrices.ATOM)}[:, None]", matrices.ATOM
        case matrices.Diagonal(vector=vector):
            return f"diag({written(vector)[0]})", matrices.ATOM
        case matrices.Turned(inner=inner):
            return f"{tight(inner, matrices.ATOM)}.T", matrices.ATOM
        case matrices.Entrywise(powers=powers):
            return _times(Fraction(1), powers, None)
        case matrices.Term():
            return _term(x)
        case matrices.Terms(terms=terms):
            return _sum(terms), matrices.SUM


def _term(x: matrices.Term) -> Text:
    if not x.dims and x.factors:
        return _chain(x.factors)
    if x.coefficient < 0:
        text, level = _term(matrices.Term(-x.coefficient, x.powers, x.factors, x.dims))
        return f"-{enclosed(text, level, matrices.TIMES)}", min(level, matrices.TIMES)
    single = len(x.factors) == 1 and isinstance(x.factors[0], matrices.Entrywise)
    if single and isinstance(x.factors[0], matrices.Entrywise):
        return _times(x.coefficient, (*x.powers, *x.factors[0].powers), None)
    return _times(x.coefficient, x.powers, _chain(x.factors) if x.factors else None)


def _times(size: Fraction, powers: Sequence[matrices.Power], body: Text | None) -> Text:
    """A number, powers and what comes last, divisors below one line."""
    above = [_power(base, e) for base, e in powers if e > 0]
    above += [body] if body is not None else []
    below = [_power(base, -e) for base, e in powers if e < 0]
    if (above or below) and 1 < size.denominator <= LARGEST_DENOMINATOR:
        below.append((str(size.denominator), matrices.ATOM))
        size = Fraction(size.numerator)
    if size != 1 or not above:
        above.insert(0, (number(size), matrices.ATOM))
    if len(above) == 1 and not below:
        return above[0]
    # Chains need no brackets at the end, and a factor of theirs may come before.
    last = len(above) - 1
    texts = [
        (
            text
            if k == last and level == matrices.MATMUL and body
            else enclosed(text, level, matrices.POWER)
        )
        for k, (text, level) in enumerate(above)
    ]
    text = " * ".join(texts)
    if below:
        under = [enclosed(*one, matrices.POWER) for one in below]
        text += f" / {under[0]}" if len(under) == 1 else f" / ({' * '.join(under)})"
    return text, matrices.TIMES


def _power(base: matrices.Expression, exponent: Fraction) -> Text:
    if exponent == 1:
        return written(base)
    text = number(exponent)
    shown = text if text.isdigit() else f"({text})"
    return f"{tight(base, matrices.ATOM)}**{shown}", matrices.POWER


def _chain(factors: Sequence[matrices.Expression]) -> Text:
    """A chain; a column times a row is an outer product."""
    if len(factors) == 1:
        return written(factors[0])
    for at, x in enumerate(factors):
        if isinstance(x, matrices.Row) and at:
            sides = (
                _chain(factors[:at])[0],
                _chain(matrices.turned_chain(factors[at:]))[0],
            )
            counts = [_ONES.fullmatch(side) for side in sides]
            if all(counts):
                return f"ones(({', '.join(c[1] for c in counts if c)}))", matrices.ATOM
            return f"outer({', '.join(sides)})", matrices.ATOM
    return " @ ".join(tight(x, matrices.POWER) for x in factors), matrices.MATMUL


def _sum(terms: Sequence[matrices.Expression]) -> str:
    text = ""
    for x in in_order(terms):
        own = matrices.parts_of(x)
        if is_negative := own.coefficient < 0:
            positive = matrices.Term(
                -own.coefficient, own.powers, own.factors, own.dims
            )
            body = enclosed(*_term(positive), matrices.TIMES)
        else:
            body = tight(x, matrices.TIMES)
        body = f"({body})" if body.startswith("-") else body
        sign = "-" if is_negative else "+"
        text += f" {sign} {body}" if text else "-" * is_negative + body
    return text


def in_order(terms: Sequence[matrices.Expression]) -> list[matrices.Expression]:
    """Terms as one writes them: what is subtracted last, `A` before `A.T`."""
    found = list(terms)
    for k, x in enumerate(terms):
        mirror = matrices.turned(x)
        if mirror in found[k + 1 :] and matrices.turns(mirror) < matrices.turns(x):
            at = found.index(mirror)
            found[k], found[at] = mirror, x
    return sorted(found, key=lambda x: matrices.parts_of(x).coefficient < 0)
