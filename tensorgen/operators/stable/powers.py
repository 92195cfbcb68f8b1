"""Powers: of numbers, of powers, of products and of sums of exponentials."""

from __future__ import annotations

from fractions import Fraction

from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Node, Product, Ref, Size, constant_value, once
from tensorgen.operators.scalar import (
    apply,
    evaluate,
    has_exact_power,
    power,
    times,
)
from tensorgen.operators.stable.exponential_sums import log_of_positive, summands
from tensorgen.operators.stable.factors import (
    DEPTH_OF_FACTORS,
    Factors,
    collect,
    raised,
)
from tensorgen.operators.stable.levels import levelled
from tensorgen.operators.stable.match import (
    Args,
    arguments,
    as_exponent,
    as_power,
    elementwise_factors,
    exponent,
    factors_as_read,
    is_condition,
    is_map,
)
from tensorgen.operators.stable.summands import are_scales

_INVERSES = (
    ("expm1", "rexpm1"),
    ("rexpm1", "expm1"),
    ("sinh", "csch"),
    ("csch", "sinh"),
)
"""Functions and 1 over them."""


def root(graph: Graph, args: Args) -> Ref | None:
    """The square root of a square, or of a sum of exponentials."""
    if exponent(args[0]) == 2:
        return apply(graph, "abs", arguments(args[0])[0])
    return of_exponentials(graph, args[0], Fraction(1, 2))


def pow(graph: Graph, args: Args) -> Ref | None:
    """A power with a rational exponent."""
    base, e = args[0], constant_value(args[1].node)
    if e is None:
        return None
    if e == 1:
        return base
    value = constant_value(base.node)
    if e == 0 or value == 1:
        return Ref(graph.constant(1), ())
    if value and has_exact_power(value, e):
        return Ref(graph.constant(value**e.numerator), ())
    if e == Fraction(1, 2):
        return apply(graph, "sqrt", base)
    if e.denominator == 1:
        found = _integer_power(graph, base, e)
        if found is not None:
            return found
    return of_exponentials(graph, base, e)


def _integer_power(graph: Graph, base: Ref, e: Fraction) -> Ref | None:
    if is_condition(base) and e > 0:
        return base
    if is_map(base, "abs") and e % 2 == 0:
        return power(graph, arguments(base)[0], e)
    for function, inverse in _INVERSES:
        if is_map(base, function) and e < 0:
            return power(graph, apply(graph, inverse, *arguments(base)), -e)
    inner = exponent(base)
    if inner is not None and inner.denominator == 1:
        return power(graph, arguments(base)[0], inner * e)
    scale = base.node.coefficient if isinstance(base.node, Product) else Fraction(1)
    if scale not in (0, 1) and has_exact_power(scale, e):
        rest = power(graph, times(graph, base, coefficient=1 / scale), e)
        return times(graph, rest, coefficient=scale**e.numerator)
    if e < 0 and (factors := _quotient(graph, base)):
        return times(graph, *(power(graph, factor, e) for factor in factors))
    return None


def _quotient(graph: Graph, ref: Ref) -> list[Ref]:
    """The factors of an elementwise product in which something divides; else none."""
    factors = factors_as_read(graph, ref)[1]
    if factors == [ref]:
        return []
    return factors if any((exponent(f) or 0) < 0 for f in factors) else []


def of_exponentials(graph: Graph, base: Ref, e: Fraction) -> Ref | None:
    """A power of a product of exponentials and sums of such: exp(e * L)."""
    if is_map(base, "exp"):
        return apply(graph, "exp", times(graph, arguments(base)[0], coefficient=e))
    if e > 0 and e.denominator == 1:
        return None
    coefficient, factors = factors_as_read(graph, base)
    taken = [_of_factor(graph, factor, e) for factor in factors]
    if not any(taken):
        return None
    found = [part for parts in taken if parts for part in parts]
    rest = [f for f, parts in zip(factors, taken, strict=True) if not parts]
    others = power(graph, times(graph, *rest, coefficient=coefficient), e)
    return times(graph, *found, others)


def _of_factor(graph: Graph, ref: Ref, e: Fraction) -> list[Ref] | None:
    if is_map(ref, "exp"):
        return [power(graph, ref, e)]
    parts = summands(graph, ref)
    if parts is None:
        return None
    if is_map(ref, "cosh") or is_map(ref, "i0"):
        log = as_exponent(graph, ref)
    else:
        log = log_of_positive(graph, parts)
    if log is not None:
        return [apply(graph, "exp", times(graph, log, coefficient=e))]
    if e.denominator != 1 or is_map(ref, "sinh") or are_scales(ref, parts):
        return None
    top, rest, _ = levelled(graph, parts)
    scale = apply(graph, "exp", times(graph, top, coefficient=e))
    return [scale, power(graph, rest, e)]


def powers(graph: Graph, pair: Args) -> list[Ref] | None:
    """x**-a * x**b = x**(b - a), and 1 where a = b: the derivative of `s * g(x / s)`.

    Where x is a factor of what divides, `(x * y)**-a * x**b`, `y**-a` stays beside it.
    At 0, where the quotient is no number, the result is that of the limit.
    """
    inverse, other = pair
    first = exponent(inverse)
    if first is None or first >= 0:
        return None
    base, second = as_power(other)
    (inside,) = arguments(inverse)[:1]
    if base == inside:
        return [power(graph, base, first + second)]
    coefficient, factors = elementwise_factors(inside)
    found = [f for f in factors if as_power(f)[0] == base]
    if not found or first.denominator != 1:
        return None
    factors.remove(found[0])
    rest = times(graph, *factors, coefficient=coefficient)
    left = as_power(found[0])[1] * first + second
    return [power(graph, rest, first), power(graph, base, left)]


def cancelled(graph: Graph, pair: Args) -> list[Ref] | None:
    """A quotient beside another product, opened where a power in both cancels.

    Derivatives of a quotient's logarithm, `(p / q) * (q / p**2)`, are made of these.
    """
    quotient, other = pair
    if not divides(quotient.node):
        return None
    first, second = _read(graph, quotient), _read(graph, other)
    if not any(e * second.powers.get(base, 0) < 0 for base, e in first.powers.items()):
        return None
    for base, e in second.powers.items():
        first.raise_by(base, e)
    found = [raised(graph, base, e) for base, e in first.powers.items()]
    number = Ref(graph.constant(first.coefficient * second.coefficient), ())
    return [number, *found]


def _read(graph: Graph, ref: Ref) -> Factors:
    """A value as a product of powers of what it reads, entry by entry."""
    coefficient, factors = factors_as_read(graph, ref)
    found = Factors(coefficient)
    for factor in factors:
        collect(found, factor, Fraction(1), DEPTH_OF_FACTORS)
    return found


def divides(node: Node) -> bool:
    """Whether a node is an elementwise product in which something divides."""
    if not isinstance(node, Product):
        return False
    return once(node, divides, lambda: any(map(_is_below, node.factors)))


def _is_below(ref: Ref) -> bool:
    return (exponent(ref) or 0) < 0


# Derivatives of powers: `y * x**(y - 1)` is 0 where y is. There it must not look at x,
# for 0 times an infinite `0**-1` is no number; a known exponent needs no such care.


def slope(graph: Graph, args: Args) -> Ref | None:
    """power_slope(x, y) = y * x**(y - 1), for a y that is known and not 0."""
    exponent = args[1].node
    value = constant_value(exponent)
    if value == 0:
        return Ref(graph.constant(0), ())
    sure = isinstance(exponent, Size) and exponent.value.is_positive()
    return evaluate(graph, "y * x**(y - 1)", args) if value or sure else None


def curve(graph: Graph, args: Args) -> Ref | None:
    """power_curve(x, y) = y * (y - 1) * x**(y - 2), for a y that is known."""
    value = constant_value(args[1].node)
    if value is None:
        return None
    if value in (0, 1):
        return Ref(graph.constant(0), ())
    return evaluate(graph, "y * (y - 1) * x**(y - 2)", args)


def squared_log(graph: Graph, pair: Args) -> list[Ref] | None:
    """xlogy(a, x) * log(x) = xlogy(xlogy(a, x), x), which is 0 where a is."""
    product, log = pair
    if not is_map(product, "xlogy") or not is_map(log, "log"):
        return None
    (base,) = arguments(log)
    if arguments(product)[1] != base:
        return None
    return [apply(graph, "xlogy", product, base)]


def signed(graph: Graph, pair: Args) -> list[Ref] | None:
    """An odd power of an absolute value, times the sign."""
    first, second = pair
    if not is_map(second, "sign"):
        return None
    base, e = as_power(first)
    if e.denominator != 1 or e % 2 == 0 or not is_map(base, "abs"):
        return None
    (inside,) = arguments(base)
    if arguments(second) != (inside,):
        return None
    return [power(graph, inside, e)]
