"""Powers of numbers, of products and of sums of exponentials, and those that cancel.

No patterns: a rational is raised as long as it has few digits, and which factors take
part is known of all of them.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from fractions import Fraction

from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Map, Node, Product, Ref, Size, Sum, constant_value, once
from tensorgen.operators.scalar import apply, has_exact_power, power, times
from tensorgen.operators.stable.exponential_sums import log_of_positive, summands
from tensorgen.operators.stable.exponentials import is_log_of_sum
from tensorgen.operators.stable.factors import (
    DEPTH_OF_FACTORS,
    Factors,
    Sign,
    collect,
    raised,
)
from tensorgen.operators.stable.levels import levelled
from tensorgen.operators.stable.match import (
    Args,
    arguments,
    as_exponent,
    as_power,
    exponent,
    factors_as_read,
    flat,
    is_map,
)
from tensorgen.operators.stable.summands import are_scales


def root(graph: Graph, args: Args) -> Ref | None:
    """The square root of a sum of exponentials."""
    return of_exponentials(graph, args[0], Fraction(1, 2))


def pow(graph: Graph, args: Args) -> Ref | None:
    """A power with a rational exponent."""
    base, e = args[0], constant_value(args[1].node)
    if e is None:
        return None
    value = constant_value(base.node)
    if value and has_exact_power(value, e):
        return Ref(graph.constant(value**e.numerator), ())
    if is_map(base, "exp") and not _divides_as_named(graph, base, e):
        return apply(graph, "exp", times(graph, *arguments(base), coefficient=e))
    if e.denominator == 1:
        found = _integer_power(graph, base, e)
        if found is not None:
            return found
    return of_exponentials(graph, base, e)


def _integer_power(graph: Graph, base: Ref, e: Fraction) -> Ref | None:
    scale = base.node.coefficient if isinstance(base.node, Product) else Fraction(1)
    # What the user named is computed as it stands.
    as_named = e > 0 and base.node in graph.names
    if scale not in (0, 1) and has_exact_power(scale, e) and not as_named:
        rest = power(graph, times(graph, base, coefficient=1 / scale), e)
        return times(graph, rest, coefficient=scale**e.numerator)
    if e < 0 and (factors := _quotient(graph, base, graph.names)):
        return times(graph, *(power(graph, factor, e) for factor in factors))
    return None


def over_factors(graph: Graph, node: Map) -> Ref | None:
    """One over a power of a number with a name, as one over those of its factors."""
    e, ref = exponent(Ref(node, ())), node.args[0]
    if node.order or e is None or e >= 0 or e.denominator != 1:
        return None
    factors = _quotient(graph, ref)
    if not factors or factors_as_read(graph, ref)[0] != 1:
        return None
    return times(graph, *(power(graph, factor, e) for factor in factors))


def _quotient(graph: Graph, ref: Ref, whole: Container[Node] = ()) -> list[Ref]:
    """The factors of an elementwise product in which something divides; else none.

    What is `whole` and over sizes has none: nothing in it cancels but these.
    """
    factors = factors_as_read(graph, ref)[1]
    if len(factors) < 2:  # the value itself, or its diagonal
        return []
    below = [f for f in factors if (exponent(f) or 0) < 0]
    if ref.node in whole:
        below = [f for f in below if not _is_size(f)]
    return factors if below else []


def _is_size(ref: Ref) -> bool:
    """Whether a value is a power of a size, or of its root."""
    base = as_power(ref)[0]
    return isinstance((arguments(base)[0] if is_map(base, "sqrt") else base).node, Size)


def of_exponentials(graph: Graph, base: Ref, e: Fraction) -> Ref | None:
    """A power of a product of exponentials and sums of such: exp(e * L)."""
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


def _divides_as_named(graph: Graph, ref: Ref, e: Fraction) -> bool:
    """Whether an exponential is divided by as it stands: one with a name, of no levels.

    Elsewhere `x / exp(t)` is `x * exp(-t)`; beside what has been computed once that is
    another exponential, and the two cancel where nobody sees it.
    """
    if e >= 0 or e.denominator != 1 or ref.node not in graph.names:
        return False
    exponent = times(graph, *arguments(ref), coefficient=e)
    return not any(is_log_of_sum(part) for _, part in flat(exponent))


def _of_factor(graph: Graph, ref: Ref, e: Fraction) -> list[Ref] | None:
    if is_map(ref, "exp"):
        named = _divides_as_named(graph, ref, e)
        return None if named else [power(graph, ref, e)]
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
    if _is_of_named(graph, ref.node):
        return None
    top, rest, _ = levelled(graph, parts)
    scale = apply(graph, "exp", times(graph, top, coefficient=e))
    return [scale, power(graph, rest, e)]


def _is_of_named(graph: Graph, node: Node) -> bool:
    """Whether all that a sum adds up has names: it is computed as it stands."""
    return isinstance(node, Sum) and all(x.node in graph.names for x in node.terms)


def powers(graph: Graph, pair: Args) -> list[Ref] | None:
    """x**-a * x**b = x**(b - a), and 1 where a = b: the derivative of `s * g(x / s)`.

    Where x is a factor of what divides, `(x * y)**-a * x**b`, `y**-a` stays beside it.
    Factors may be slices: `pi / (pi * x[1:])` is `1 / x[1:]`.
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
    if inside.node in graph.names and _is_size(base):
        return None
    coefficient, factors = factors_as_read(graph, inside)
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
    What has a name is opened last, and not for the sake of a size that cancels, nor an
    array for that of a number.
    """
    quotient = pair[0].node
    if not divides_inside(quotient):
        return None
    first, second = (_read(graph, ref, graph.names) for ref in pair)
    if next(_cancelling(first, second), None) is None:
        if not divides(quotient):
            return None
        first, second = (_read(graph, ref) for ref in pair)
        arrays = any(ref.node.order for ref in pair)
        if not any(
            x.order if arrays else not isinstance(x, Size)
            for x in _cancelling(first, second)
        ):
            return None
    for base, e in second.powers.items():
        first.raise_by(base, e)
    found = [raised(graph, base, e) for base, e in first.powers.items()]
    number = Ref(graph.constant(first.coefficient * second.coefficient), ())
    return [number, *found]


def _cancelling(first: Factors, second: Factors) -> Iterator[Node]:
    """The values whose powers cancel where two products meet."""
    for x, e in first.powers.items():
        if e * second.powers.get(x, 0) < 0:
            yield (x.value if isinstance(x, Sign) else x).node


def _read(graph: Graph, ref: Ref, whole: Container[Node] = ()) -> Factors:
    """A value as a product of powers of what it reads, entry by entry."""
    if ref.node in whole:
        return Factors(Fraction(1), {ref: Fraction(1)})
    coefficient, factors = factors_as_read(graph, ref)
    found = Factors(coefficient)
    for factor in factors:
        collect(found, factor, Fraction(1), DEPTH_OF_FACTORS, whole)
    return found


def divides(node: Node) -> bool:
    """Whether a node is an elementwise product in which something divides."""
    if not isinstance(node, Product):
        return False
    return once(node, divides, lambda: any(map(_is_below, node.factors)))


def divides_inside(node: Node) -> bool:
    """Whether something divides in a product, or in products of which it is one."""
    if not isinstance(node, Product):
        return False
    inner = [ref.node for ref in node.factors]
    return once(
        node, divides_inside, lambda: divides(node) or any(map(divides_inside, inner))
    )


def _is_below(ref: Ref) -> bool:
    return (exponent(ref) or 0) < 0
