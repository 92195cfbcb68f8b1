"""Elementwise arithmetic with NumPy's broadcasting, and the matrix product."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import log2

from tensorgen.ir.dims import tuple_text
from tensorgen.ir.nodes import Map, Node, Product, constant_value
from tensorgen.operators.elementwise import ELEMENTWISE
from tensorgen.operators.functions.array import (
    Array,
    Build,
    Misuse,
    Place,
    align,
    by_axis,
    number,
    product,
    union,
)
from tensorgen.operators.scalar import has_exact_power

# Where float64 ends, as a power of two.
_LARGEST = 1024
# What exact numbers may have above and below the line.
_MOST_BITS = 4096


def total(build: Build, terms: Sequence[tuple[int | Fraction, Array]]) -> Array:
    """Return `sum(coefficient * array)`, broadcasting."""
    arrays = [array for _, array in terms]
    shape, aligned = align(build, arrays, "'+'")
    batch = union(arrays)
    out = (*batch, *range(len(shape)))
    refs = [
        (coefficient, array.node, array.labels(labels))
        for (coefficient, _), (array, labels) in zip(terms, aligned, strict=True)
    ]
    return Array(build.graph.sum(out, refs, by_axis(shape)), batch)


def times(
    build: Build,
    factors: Sequence[Array],
    coefficient: int | Fraction = 1,
    what: str = "'*'",
    places: Sequence[Place] | None = None,
) -> Array:
    """Return `coefficient * prod(factors)`, elementwise and broadcasting."""
    shape, aligned = align(build, factors, what, places)
    return product(
        build, range(len(shape)), aligned, coefficient=coefficient, sizes=by_axis(shape)
    )


def elementwise(
    build: Build,
    name: str,
    args: Sequence[Array],
    what: str | None = None,
    places: Sequence[Place] | None = None,
) -> Array:
    """Return a row of the table of elementwise functions, broadcasting."""
    shape, aligned = align(build, args, what or f"'{name}'", places)
    if name == "pow":
        _check_power(*(constant_value(array.node) for array in args))
    batch = union(args)
    out = (*batch, *range(len(shape)))
    refs = [(array.node, array.labels(labels)) for array, labels in aligned]
    return Array(build.graph.map(name, out, refs, by_axis(shape)), batch)


def power(
    build: Build, base: Array, exponent: Array, places: Sequence[Place] | None = None
) -> Array:
    """Return `base ** exponent`; rational numbers to integers are exact."""
    b, e = constant_value(base.node), constant_value(exponent.node)
    if e is not None and not exponent.order:
        if e == 1:
            return base
        if b is not None and (b or e >= 0) and has_exact_power(b, e):
            node = build.graph.constant(b ** int(e), base.node.dims)
            return Array(node, base.batch)
    return elementwise(build, "pow", [base, exponent], "'**'", places)


def _check_power(base: Fraction | None, exponent: Fraction | None) -> None:
    """Refuse powers of numbers that are not real, or overflow.

    Python would make complex numbers of them, and count their digits.
    """
    if base and exponent is not None:
        if base < 0 and exponent.denominator != 1:
            cubic = exponent.denominator == 3
            hint = "cbrt(x) is the real cube root of any x" if cubic else None
            raise Misuse("this power of a negative number is not real", (), hint)
        numerator, denominator = abs(base.numerator), base.denominator
        digits = exponent * Fraction(log2(numerator) - log2(denominator))
        if digits >= _LARGEST:
            raise Misuse("this power is outside the range of float64")


def is_representable(node: Node) -> bool:
    """Whether the number that a value is, or is scaled by, is within float64.

    An exact number that squares itself again and again would fill the memory.
    """
    if not isinstance(node, Product):
        return True
    numerator, denominator = node.coefficient.as_integer_ratio()
    above, below = numerator.bit_length(), denominator.bit_length()
    if above - below > _LARGEST or max(above, below) > _MOST_BITS:
        return False
    return abs(node.coefficient) < 1 << _LARGEST


def reciprocal(build: Build, x: Array) -> Array:
    """Return `1 / x`; a rational number stays one."""
    return power(build, x, number(build, -1))


def matmul(
    build: Build,
    a: Array,
    b: Array,
    what: str = "'@'",
    places: Sequence[Place] = ("a", "b"),
) -> Array:
    """Return `a @ b` as NumPy has it: vectors, matrices and stacks of matrices."""
    shapes = list(zip(places, map(tuple_text, (a.shape, b.shape)), strict=True))
    if not a.order or not b.order:
        raise Misuse(f"{what} needs an axis on both sides", shapes, "a scalar takes *")
    columns = int(b.order > 1)
    if a.shape[-1] != b.shape[-1 - columns]:
        raise Misuse(f"shapes do not match in {what}", shapes, _transposed(a, b))
    rows = int(a.order > 1)
    lead, ((a, x), (b, y)) = align(build, (a, b), what, places, (rows + 1, columns + 1))
    out = (*range(len(lead)), *("row",) * rows, *("column",) * columns)
    return product(
        build,
        out,
        [
            (a, (*x, *("row",) * rows, "inner")),
            (b, (*y, "inner", *("column",) * columns)),
        ],
        sizes=by_axis(lead),
    )


def _transposed(a: Array, b: Array) -> str | None:
    """Suggest the transpose that would fit, if just one does."""
    left = a.order == 2 and a.shape[0] == b.shape[max(b.order - 2, 0)]
    right = b.order == 2 and a.shape[-1] == b.shape[1]
    if left and not right:
        return "the left side would fit transposed: .T"
    if right and not left:
        return "the right side would fit transposed: .T"
    return None


def is_condition(node: Node) -> bool:
    """Whether the entries are 0 or 1 by construction."""
    if isinstance(node, Map):
        return ELEMENTWISE[node.function].boolean
    return (
        isinstance(node, Product)
        and node.coefficient in (0, 1)
        and len(node.inner) <= sum(c.kind == "eq" for c in node.constraints)
        and all(is_condition(factor.node) for factor in node.factors)
    )
