"""Where functions are surely finite, and what may be infinite: who needs a guard."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import inf
from typing import assert_never

from tensorgen.ir.constraints import is_light
from tensorgen.ir.nodes import (
    Call,
    Constant,
    Input,
    Iota,
    Map,
    Node,
    Product,
    Size,
    Sum,
    constant_value,
    once,
)
from tensorgen.operators.elementwise import ELEMENTWISE
from tensorgen.operators.matrices.definite import DEPTH_OF_SIGNS, Sign, sign

FINITE = "finite"
"""The property of an input that cannot be infinite, by what it was computed of."""


def is_polynomial(node: Map) -> bool:
    """Whether a power has a whole exponent that is not negative."""
    if node.function != "pow":
        return False
    exponent = constant_value(node.args[1].node)
    return exponent is not None and exponent.denominator == 1 and exponent >= 0


def is_unsafe(node: Map, value: int | None, varies: bool) -> bool:
    """Whether a function, or its derivative, may be infinite where nothing is read.

    `value` is the argument there that matters, if known; no derivative is taken of what
    does not vary.
    """
    row = ELEMENTWISE[node.function]
    if row.has("overflows"):
        return varies and value is None and not _is_bounded(node.args[0].node)
    if row.safe is None:
        return False
    place, number = row.safe
    if value is not None and (value == number or (number == 1 and value > 0)):
        return False
    return not is_harmless(node, node.args[place].node)


def is_harmless(node: Map, x: Node) -> bool:
    """Whether all is finite where the argument that matters to a function is `x`."""
    safe = ELEMENTWISE[node.function].safe
    if safe is None or is_polynomial(node):
        return True
    _, number = safe
    return number == 1 and _is_away_from_zero(x)


def _is_away_from_zero(node: Node, depth: int = DEPTH_OF_SIGNS) -> bool:
    """Whether all entries exceed a positive number, as those of `1 + x**2` do."""
    value = constant_value(node)
    if value is not None:
        return value > 0
    match node:
        case Constant() | Size() | Input():
            return sign(node) == Sign.POSITIVE
        case Map(function="pow", args=(base, _)) if depth:
            return _is_away_from_zero(base.node, depth - 1)
        case Map(function="sqrt" | "cbrt", args=(base,)) if depth:
            return _is_away_from_zero(base.node, depth - 1)
        case Map(function="maximum", args=args) if depth:
            return any(_is_away_from_zero(x.node, depth - 1) for x in args)
        case Map(function="minimum", args=args) if depth:
            return all(_is_away_from_zero(x.node, depth - 1) for x in args)
        case Sum(terms=terms) if depth:
            return all(t.coefficient > 0 and sign(t.node) for t in terms) and any(
                _is_away_from_zero(t.node, depth - 1) for t in terms
            )
        case Product() if depth and node.coefficient > 0:
            whole = not (node.inner or node.constraints)
            return whole and all(
                _is_away_from_zero(f.node, depth - 1) for f in node.factors
            )
    return False


def _is_bounded(node: Node, depth: int = DEPTH_OF_SIGNS) -> bool:
    """Whether all entries stay below a number, as those of `-x**2` do."""
    if constant_value(node) is not None or not depth:
        return constant_value(node) is not None

    def every(nodes: Sequence[Node]) -> bool:
        return all(_is_bounded(x, depth - 1) for x in nodes)

    match node:
        case Map(function="minimum", args=args):
            return any(_is_bounded(x.node, depth - 1) for x in args)
        case Map(function="maximum" | "where", args=args):
            return every([x.node for x in args[-2:]])
        case Map(function=function):
            return ELEMENTWISE[function].has("bounded")
        case Product(factors=(factor,)) if node.coefficient > 0 and not node.inner:
            return every([factor.node])
        case Product() if node.coefficient < 0:
            return all(sign(f.node) for f in node.factors)
        case Sum(terms=terms):
            rising = [t.node for t in terms if t.coefficient > 0]
            falling = [t.node for t in terms if t.coefficient < 0]
            return every(rising) and all(map(sign, falling))
    return False


def value_of(node: Map, value: int | None) -> int | None:
    """What a function is at 0 or at 1, where that is plain."""
    if node.function == "pow" and value == 0:
        return 0 if is_polynomial(node) else None
    row = ELEMENTWISE[node.function]
    kept = (value == 0 and row.has("keeps0")) or (value == 1 and row.has("keeps1"))
    return value if kept else None


def may_be_infinite(node: Node, data: bool = True) -> bool:
    """Whether entries may be infinite though all that is contracted below is finite.

    Data may say `-inf` of what is impossible, as may a logarithm of 0; in a sum of
    products, as in `X @ w`, it would leave no number that could be told of. Without
    `data`, only what is written infinite counts, and extrema of no entries.
    """
    return _may_be_infinite(node, data, DEPTH_OF_SIGNS)


def _may_be_infinite(node: Node, data: bool, depth: int) -> bool:
    if not depth:
        return data
    own = (may_be_infinite, data, depth)
    return once(node, own, lambda: _is_infinite(node, data, depth - 1))


def _is_infinite(node: Node, data: bool, depth: int) -> bool:
    def some(nodes: Iterable[Node]) -> bool:
        return any(_may_be_infinite(x, data, depth) for x in nodes)

    match node:
        case Input():
            return data and node.index is None and FINITE not in node.properties
        case Constant():
            return node.name == "inf"
        case Size() | Iota() | Call(operator="softmax" | "unit" | "any"):
            return False
        case Sum(terms=terms):
            return some(t.node for t in terms)
        case Product(factors=factors):
            contracts = node.inner and not is_light(node) and len(factors) > 1
            return not contracts and some(f.node for f in factors)
        case Map(args=args):
            return not _is_between(node, data) and (
                (data and _is_infinite_at_zero(node))
                or some(x.node for x in args[node.function == "where" :])
            )
        case Call(operator="max_by_key" | "min_by_key" | "supremum"):
            return True
        case Call(args=args):
            return some(args)
        case _:
            assert_never(node)


def _is_between(node: Map, data: bool) -> bool:
    """Whether a function is a number at both infinities, and so everywhere.

    Of what is written infinite, mostly `-inf`, only that end matters.
    """
    row = ELEMENTWISE[node.function]
    ends = row.ends if data else row.ends[:1]
    return row.boolean or all(x is not None and abs(x) < inf for x in ends)


def _is_infinite_at_zero(node: Map) -> bool:
    """Whether a function is infinite where its argument is 0, as that may be."""
    row = ELEMENTWISE[node.function]
    if row.safe != (0, 1) or row.has("keeps0") or is_polynomial(node):
        return False
    return not _is_away_from_zero(node.args[0].node)
