"""Expressions as text that knows its precedence, its axes and what its entries are.

Parentheses are set where a reader needs them: `@` always stands apart from `*`
and `-`, because `2 * A @ x` means `(2 * A) @ x`, which is rarely what is meant.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum
from fractions import Fraction
from typing import Literal

from tensorgen.ir.nodes import Label

SHORT = 12  # characters of an exact number or quotient
WRITABLE = 10**20  # whole numbers beyond are rounded: nobody reads their digits


class Level(IntEnum):
    """How tightly the outermost operation of a text binds."""

    COMPARE = 0
    BIT = 1
    SUM = 2
    MATMUL = 3
    TERM = 4
    UNARY = 5
    POWER = 6
    ATOM = 7


Kind = Literal["float", "bool", "int"]


@dataclass(frozen=True, slots=True)
class Expr:
    """A NumPy expression; `labels[a]` is the label of the array's axis `a`.

    An array may lack labels of the value that it stands for: it then broadcasts.
    `weak` marks Python numbers, which never widen a dtype; `base` names the variable
    whose memory the value shares; `upright` is the text before a mere `.T`. `turned`
    writes the value anew with its axes in another order, `applied` tells of a vector
    which matrix it is applied to which vector. A `boxed` scalar is an array without
    axes, as `np.where` makes it. A `symmetric` one equals itself with its last two
    axes swapped. A `sliding` array is a view of more entries than it
    has memory, which is not to be copied.
    """

    text: str
    level: Level = Level.ATOM
    labels: tuple[Label, ...] = ()
    kind: Kind = "float"
    weak: bool = False
    base: str | None = None
    upright: tuple[str, Level] | None = None
    boxed: bool = False
    sliding: bool = False
    symmetric: bool = False
    turned: Callable[[tuple[Label, ...]], Expr] | None = field(
        default=None, compare=False
    )
    applied: Applied | None = field(default=None, compare=False)

    @property
    def is_name(self) -> bool:
        """Whether the text is one variable."""
        return self.text.isidentifier()

    def at(self, minimum: Level) -> str:
        """The text, in parentheses if it binds less tightly than `minimum`."""
        return self.text if self.level >= minimum else f"({self.text})"

    def becoming(
        self, text: str, labels: tuple[Label, ...], level: Level = Level.ATOM
    ) -> Expr:
        """The same entries in another layout: a view of whatever this is."""
        view = Expr(text, level, labels, self.kind, self.weak, self.base)
        return replace(view, sliding=True) if self.sliding else view

    def bearing(self, labels: tuple[Label, ...]) -> Expr:
        """The same array under the labels `labels`, axis by axis."""
        if labels == self.labels:
            return self
        if len(set(self.labels)) < len(labels):
            return replace(self, labels=labels, turned=None)
        return self.renamed(dict(zip(self.labels, labels, strict=True)).__getitem__)

    def renamed(self, name: Callable[[Label], Label]) -> Expr:
        """The same array under other labels."""
        labels, turned = tuple(map(name, self.labels)), self.turned
        if len(set(labels)) < len(labels):
            turned = None  # a diagonal is taken of what the text gives
        elif turned is not None:
            turned = _renamed(turned, dict(zip(labels, self.labels, strict=True)), name)
        return replace(self, labels=labels, turned=turned)


@dataclass(frozen=True, slots=True)
class Applied:
    """A vector as `matrix @ vector`, or as the solution of that system."""

    matrix: Expr
    vector: Expr
    solves: bool = False


def _renamed(
    turned: Callable[[tuple[Label, ...]], Expr],
    old: dict[Label, Label],
    name: Callable[[Label], Label],
) -> Callable[[tuple[Label, ...]], Expr]:
    return lambda labels: turned(tuple(old[x] for x in labels)).renamed(name)


def number(value: Fraction) -> Expr:
    """A rational as a Python literal, or as a quotient where that alone is short."""
    if value < 0:
        positive = number(-value)
        level = Level.UNARY if positive.level == Level.ATOM else positive.level
        return replace(positive, text=f"-{positive.text}", level=level)
    if value.denominator == 1 and value.numerator <= 2**53:
        return Expr(str(value.numerator), weak=True)
    if short := decimal(value):
        return Expr(short, weak=True)
    rounded = _float(value)
    if max(value.numerator, value.denominator) > WRITABLE:
        text = repr(rounded) if math.isfinite(rounded) else "math.inf"
        return Expr(text, weak=True)
    if value.denominator == 1:
        return Expr(f"{value.numerator}.0", weak=True)
    p, q = (number(Fraction(k)) for k in (value.numerator, value.denominator))
    quotient = f"{p.text} / {q.text}"
    if len(quotient) > SHORT:
        return Expr(repr(rounded), weak=True)
    return Expr(quotient, Level.TERM, weak=True)


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


def literal(expr: Expr) -> Fraction | None:
    """The value of an expression that is a plain number."""
    try:
        return Fraction(expr.text) if expr.weak else None
    except ValueError:
        return None


def same_axes(parts: Sequence[Expr]) -> tuple[Label, ...]:
    """The labels of operands that are aligned with each other: those of the widest."""
    return max((part.labels for part in parts), key=len, default=())


def power(base: Expr, exponent: Fraction) -> Expr:
    """`base` to a positive rational power."""
    if exponent == 1:
        return base
    e = number(exponent)
    top = e.at(Level.ATOM)
    plain = base.level == Level.ATOM and "(" not in base.text and "[" not in base.text
    # Black's own convention: simple operands hug the operator.
    operator = "**" if plain and e.level == Level.ATOM else " ** "
    text = f"{base.at(Level.ATOM)}{operator}{top}"
    return Expr(text, Level.POWER, base.labels, weak=base.weak)


def product(
    coefficient: Fraction, above: Sequence[Expr], below: Sequence[Expr] = ()
) -> Expr:
    """`coefficient * above / below` of operands that broadcast as they stand."""
    labels = same_axes([*above, *below])
    if not below:
        coefficient, above = _folded(coefficient, above)
    weak = all(part.weak for part in (*above, *below))
    if coefficient == 1 and len(above) == 1 and not below:
        return above[0]
    sign, value = ("-", -coefficient) if coefficient < 0 else ("", coefficient)
    head, foot = _split(value, bool(below))
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
    if len(numerator) == 1 and not denominator:
        level = Level.UNARY if sign else numerator[0].level
        if sign and numerator[0].level < Level.UNARY:
            level = Level.TERM
    else:
        level = Level.TERM
    return Expr(text, level, labels, weak=weak)


def _folded(
    coefficient: Fraction, above: Sequence[Expr]
) -> tuple[Fraction, list[Expr]]:
    """Multiply the plain numbers among the operands into the coefficient."""
    rest = []
    for part in above:
        value = literal(part)
        if value is None:
            rest.append(part)
        else:
            coefficient *= value
    return coefficient, rest


def _split(value: Fraction, divides: bool) -> tuple[Fraction, int]:
    """Write a positive coefficient as a number before and an integer below."""
    p, q = value.numerator, value.denominator
    if q == 1:
        return value, 1
    if p == 1 and (divides or decimal(value) is None):
        return Fraction(1), q
    return value, 1


def total(terms: Sequence[tuple[int, Expr]]) -> Expr:
    """The sum of signed operands that broadcast as they stand, in this order."""
    if len(terms) == 1 and terms[0][0] > 0:
        return terms[0][1]
    text, level = "", Level.SUM
    for sign, part in terms:
        if not text and sign > 0:
            text, level = part.at(Level.SUM), part.level
        elif not text:
            negative = product(Fraction(-1), [part])
            text, level = negative.text, negative.level
        else:
            joint = "+" if sign > 0 else "-"
            text += f" {joint} {part.at(Level.MATMUL)}"
            level = Level.SUM
    parts = [part for _, part in terms]
    weak = all(part.weak for part in parts)
    return Expr(text or "0", level, same_axes(parts), weak=weak)


def matmul(left: Expr, right: Expr, labels: tuple[Label, ...]) -> Expr:
    """`left @ right`; a chain stands without parentheses where it runs leftwards."""
    first = left.text if left.level == Level.MATMUL else left.at(Level.POWER)
    text = f"{first} @ {right.at(Level.POWER)}"
    vector = len(left.labels) == 2 and len(right.labels) == 1
    applied = Applied(left, right) if vector else None
    return Expr(text, Level.MATMUL, labels, applied=applied)
