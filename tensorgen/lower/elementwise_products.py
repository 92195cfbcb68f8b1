"""Elementwise products: coefficients, quotients, powers, masks, broadcasting."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from tensorgen.arrays import operations as ops
from tensorgen.ir.nodes import Label
from tensorgen.lower.axes import aligned, natural_order, ordered
from tensorgen.lower.operands import (
    Operand,
    as_float,
    literal,
    made,
    number,
    power,
    product,
)

SAFE_POWER = 16
"""Python's powers of sizes, which have 63 bits, raise OverflowError beyond this one."""
LONGEST_CHAIN = 8
"""The largest power of an array that is written as products.

In NumPy a power takes as long as thirty of them where entries are negative. Each rounds
once, so the result is the exact power of a base within half a unit of its last place.
"""


class Factor(NamedTuple):
    """An operand of a product, to a rational power."""

    operand: Operand
    exponent: Fraction = Fraction(1)

    @property
    def is_mask(self) -> bool:
        """Whether the factor selects rather than scales."""
        return self.operand.kind == "bool" and self.exponent > 0


def raised(base: Operand, exponent: Fraction) -> list[Operand]:
    """What makes `base` to a positive power when it is multiplied.

    A square root is one. Small powers of arrays are squares of squares: libraries are
    quick at these alone. They under- and overflow where the power itself does.
    """
    if base.weak and exponent > SAFE_POWER:
        found = made(ops.FloatPower(), (), base, number(exponent))
        return [made(ops.Python("float"), (), found)]
    if exponent == Fraction(1, 2) and not base.weak:
        return [made(ops.Elementwise("sqrt"), base.labels, base)]
    if base.array.order and exponent in range(2, LONGEST_CHAIN + 1):
        return _chain(base, exponent.numerator)
    return [power(base, exponent)]


def _chain(base: Operand, exponent: int) -> list[Operand]:
    """`x**7` as `(x**2) ** 2`, `x**2` and `x`: the fewest products, for up to 14."""
    parts = [base] * (exponent % 2)
    if exponent > 1:
        parts = _chain(power(base, Fraction(2)), exponent // 2) + parts
    return parts


def multiply(
    factors: Sequence[Factor],
    coefficient: Fraction = Fraction(1),
    want: Sequence[Label] | None = None,
) -> Operand:
    """The elementwise product of `factors`, aligned by labels.

    What masks exclude never reaches the result, so it may be infinite or NaN.
    """
    masks = [factor.operand for factor in factors if factor.is_mask]
    rest = [factor for factor in factors if not factor.is_mask]
    if not masks:
        return _scaled(_merged(rest), coefficient, want)
    mask = conjunction(masks, want)
    if not rest and coefficient == 1:
        return mask
    body = _scaled(_merged(rest), coefficient, want)
    if literal(body) is not None:
        return product(coefficient, [as_float(mask)])
    return select(mask, body, want)


def select(
    mask: Operand, body: Operand, want: Sequence[Label] | None = None
) -> Operand:
    """`body` where the mask holds, else 0; places of entries stay whole numbers."""
    target = natural_order([body, mask], want)
    parts = [aligned(part, target) for part in (mask, body)]
    found = made(ops.Elementwise("where"), target, *parts, number(0))
    return found if body.kind == "int" else as_float(found)


def conjunction(
    masks: Sequence[Operand], want: Sequence[Label] | None = None
) -> Operand:
    """The mask that holds where all of `masks` do."""
    unique = list(dict.fromkeys(masks))
    if len(unique) == 1:
        return unique[0]
    target = natural_order(unique, want)
    return made(ops.Conjunction(), target, *(aligned(mask, target) for mask in unique))


def _merged(factors: Sequence[Factor]) -> list[Factor]:
    """Equal factors as powers; masks below a fraction line as numbers."""
    total: dict[tuple[Operand, bool], Fraction] = {}
    for operand, exponent in factors:
        key = (as_float(operand), exponent > 0)
        total[key] = total.get(key, Fraction(0)) + exponent
    return [Factor(operand, exponent) for (operand, _), exponent in total.items()]


class _Group:
    """Factors with the same labels, which are multiplied before they broadcast."""

    def __init__(self) -> None:
        self.above: list[Operand] = []
        self.below: list[Operand] = []


def _scaled(
    factors: Sequence[Factor], coefficient: Fraction, want: Sequence[Label] | None
) -> Operand:
    target = natural_order([factor.operand for factor in factors], want)
    groups: dict[frozenset[Label], _Group] = {frozenset(): _Group()}
    for operand, exponent in factors:
        group = groups.setdefault(frozenset(operand.labels), _Group())
        parts = raised(ordered(operand, target), abs(exponent))
        (group.above if exponent > 0 else group.below).extend(parts)
    scalars = groups.pop(frozenset())
    scaled = bool(abs(coefficient) != 1 or scalars.above)
    wide = _in_order(list(groups.values()), target, scaled)
    coefficient, above, below = _scalars(scalars, coefficient, bool(wide))
    if len(wide) == 1:
        return product(coefficient, above + wide[0].above, below + wide[0].below)
    if outer := _outer(wide, target, coefficient, above, below):
        return outer
    for group in wide:
        if group.above:
            joint = product(Fraction(1), group.above, group.below)
            above.append(aligned(joint, target))
        else:
            below += [aligned(part, target) for part in group.below]
    return product(coefficient, above, below).bearing(target)


def _in_order(
    wide: list[_Group], target: Sequence[Label], scaled: bool
) -> list[_Group]:
    """What scales rows before a matrix, what scales columns after it.

    A coefficient stands before the smallest operand, which it then costs least.
    """

    def place(group: _Group) -> tuple[int, int]:
        labels = (group.above + group.below)[0].labels
        return min(target.index(label) for label in labels), len(labels)

    wide.sort(key=place)
    if scaled and wide:
        first = min(wide, key=lambda group: (not group.above, place(group)[1]))
        wide.remove(first)
        wide.insert(0, first)
    return wide


def _scalars(
    scalars: _Group, coefficient: Fraction, followed: bool
) -> tuple[Fraction, list[Operand], list[Operand]]:
    """What stands before and below the arrays.

    A quotient of scalars is taken first, at the cost of one number, unless it may
    be a Python division by a size that is zero.
    """
    above, below = scalars.above, scalars.below
    strong = any(not part.weak for part in above)
    safe = all(not part.weak for part in below)
    if followed and below and (strong or (safe and coefficient not in (1, -1))):
        return Fraction(1), [product(coefficient, above, below)], []
    return coefficient, list(above), list(below)


def _outer(
    wide: Sequence[_Group],
    target: Sequence[Label],
    coefficient: Fraction,
    above: Sequence[Operand],
    below: Sequence[Operand],
) -> Operand | None:
    """`np.outer` for two vectors; scalars scale one of them, which is less work."""
    if len(wide) != 2 or len(target) != 2 or not all(g.above for g in wide):
        return None
    first, second = wide
    sides = [
        product(coefficient, [*above, *first.above], [*below, *first.below]),
        product(Fraction(1), second.above, second.below),
    ]
    if any(len(side.labels) != 1 for side in sides):
        return None
    sides.sort(key=lambda side: target.index(side.labels[0]))
    return made(ops.Outer(), tuple(target), *sides)
