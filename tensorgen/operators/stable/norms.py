"""Norms: roots and powers of sums of squares, which would leave the range.

Of the sides of a hypotenuse it does not matter which comes first. No rules of scalars:
it is asked what is summed over which axes.
"""

from __future__ import annotations

from fractions import Fraction

from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Call, Product, Ref, constant_value
from tensorgen.operators.calls import apply as call
from tensorgen.operators.matrices.definite import Sign, sign
from tensorgen.operators.scalar import apply, power, times
from tensorgen.operators.stable.match import (
    Args,
    Rule,
    arguments,
    elementwise_factors,
    exponent,
    is_call,
)


def root(graph: Graph, args: Args) -> Ref | None:
    """The square root of a sum of squares: its norm."""
    return _power_of_norm(graph, args[0], Fraction(1, 2))


def pow(graph: Graph, args: Args) -> Ref | None:
    """Odd powers of that root, and even powers of a norm."""
    base, e = args[0], constant_value(args[1].node)
    if e is None:
        return None
    if e.denominator == 2:
        return _power_of_norm(graph, base, e)
    if not is_call(base, "norm") or e % 2:
        return None
    if e < 0 and base.node in graph.names:  # it is there, and derivatives divide by it
        return None
    return power(graph, _squares(graph, base), e / 2)


def _squares(graph: Graph, norm: Ref) -> Ref:
    """The square of a norm: the sum of squares that it is the root of."""
    node = norm.node
    assert isinstance(node, Call)
    (x,), params = node.args, dict(node.params)
    axes = params["axes"]
    assert isinstance(axes, tuple)
    kept = [axis for axis in range(x.order) if axis not in axes]
    return Ref(graph.product(kept, [(x, range(x.order))] * 2), norm.labels)


def _power_of_norm(graph: Graph, ref: Ref, e: Fraction) -> Ref | None:
    """(c * w * sum(x**2))**e: norm(x)**(2 * e) and powers of positive c and w."""
    scale, factors = elementwise_factors(ref)
    lengths = [_length(graph, factor) for factor in factors]
    if scale <= 0 or not any(lengths):
        return None
    roots = []
    for factor, length in zip(factors, lengths, strict=True):
        if length is not None:
            scale *= length[0]
            roots.append(power(graph, length[1], 2 * e))
        elif sign(factor.node) == Sign.POSITIVE:
            roots.append(power(graph, factor, e))
        else:
            return None
    return times(graph, *roots, power(graph, Ref(graph.constant(scale), ()), e))


def _length(graph: Graph, ref: Ref) -> tuple[Fraction, Ref] | None:
    """The c and norm(x) of what is c * sum(x**2)."""
    node = ref.node
    if not isinstance(node, Product) or not node.inner or node.constraints:
        return None
    inner = {*range(node.order, len(node.sizes))}
    scale, factors = node.coefficient, list(node.factors)
    if len(factors) == 1:
        inside, factors = elementwise_factors(factors[0])
        scale *= inside
    x = _base_of_square(factors)
    if scale <= 0 or x is None or not inner <= {*x.labels}:
        return None
    if len({*x.labels}) < len(x.labels):
        return None
    axes = tuple(axis for axis, label in enumerate(x.labels) if label in inner)
    kept = tuple(ref.labels[label] for label in x.labels if label not in inner)
    return scale, Ref(call(graph, "norm", [x.node], axes=axes), kept)


def _base_of_square(factors: list[Ref]) -> Ref | None:
    match factors:
        case [factor] if exponent(factor) == 2:
            return arguments(factor)[0]
        case [first, second] if first == second:
            return first
    return None


def ordered(function: str) -> Rule:
    """The rule f(y, x) = f(x, y), so that one statement computes both."""

    def rule(graph: Graph, args: Args) -> Ref | None:
        first, second = args
        if (first.node.serial, first.labels) <= (second.node.serial, second.labels):
            return None
        return apply(graph, function, second, first)

    return rule
