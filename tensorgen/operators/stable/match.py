"""What rules look for: the function of a map, its arguments, quotients, `1 + t`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

from tensorgen.ir.constraints import is_light
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Call, Map, Product, Ref, Sum, constant_value
from tensorgen.operators.calls import over
from tensorgen.operators.conditions.masks import with_views
from tensorgen.operators.elementwise import ELEMENTWISE
from tensorgen.operators.matrices.definite import Sign, sign
from tensorgen.operators.scalar import apply, times, total

Args = tuple[Ref, ...]
Rule = Callable[[Graph, Args], Ref | None]
PairRule = Callable[[Graph, Args], list[Ref] | None]
Weighted = tuple[Fraction, Ref]
"""A term of a sum: its coefficient and what it multiplies."""

_ONE = Fraction(1)  # made once: rules ask for it more often than for anything else


def is_map(ref: Ref, function: str) -> bool:
    """Whether a value is an elementwise function of others."""
    return isinstance(ref.node, Map) and ref.node.function == function


def is_call(ref: Ref, operator: str) -> bool:
    """Whether a value is a function of whole arrays."""
    return isinstance(ref.node, Call) and ref.node.operator == operator


def arguments(ref: Ref) -> Args:
    """The arguments of a map, in the labels of its use."""
    assert isinstance(ref.node, Map)
    return tuple(arg.under(ref) for arg in ref.node.args)


def is_condition(ref: Ref) -> bool:
    """Whether every entry is 0 or 1."""
    return isinstance(ref.node, Map) and ELEMENTWISE[ref.node.function].boolean


def exponent(ref: Ref) -> Fraction | None:
    """The exponent of a power with a rational exponent."""
    if isinstance(ref.node, Map) and ref.node.function == "pow":
        return constant_value(ref.node.args[1].node)
    return None


def as_power(ref: Ref) -> tuple[Ref, Fraction]:
    """The base and the rational exponent of what may be a power."""
    found = exponent(ref)
    return (ref, _ONE) if found is None else (arguments(ref)[0], found)


def as_exponent(graph: Graph, ref: Ref) -> Ref | None:
    """The t of what is exp(t): cosh, i0, and powers `x**k` of a positive x, too."""
    if is_map(ref, "exp"):
        return arguments(ref)[0]
    base, e = as_power(ref)
    if is_map(base, "exp"):
        return times(graph, *arguments(base), coefficient=e)
    for function in ("cosh", "i0"):
        if is_map(ref, function):
            return apply(graph, f"log_{function}", *arguments(ref))
    if is_map(ref, "pow") and exponent(ref) is None:
        base, k = arguments(ref)
        if sign(base.node) == Sign.POSITIVE:
            return times(graph, k, apply(graph, "log", base))
    return None


def renamed_call(graph: Graph, operator: str, ref: Ref) -> Ref:
    """The use of a call with another operator in its place."""
    node = ref.node
    assert isinstance(node, Call)
    return Ref(over(graph, operator, node), ref.labels)


def negative(graph: Graph, ref: Ref) -> Ref:
    """Return `-ref`."""
    return times(graph, ref, coefficient=-1)


def elementwise_factors(ref: Ref) -> tuple[Fraction, list[Ref]]:
    """The coefficient and the factors of a product that neither sums nor selects."""
    node = ref.node
    if not isinstance(node, Product) or node.inner or node.constraints:
        return _ONE, [ref]
    return node.coefficient, [factor.under(ref) for factor in node.factors]


def factors_as_read(graph: Graph, ref: Ref) -> tuple[Fraction, list[Ref]]:
    """The same of a product that reads entries, as `v[0] * exp(x[0])` does."""
    node = ref.node
    if not isinstance(node, Product) or not node.constraints or is_light(node):
        return elementwise_factors(ref)
    views, constraints = with_views(graph, node)
    kept = range(node.order)
    if constraints or any(x not in kept for view in views for x in view.labels):
        return elementwise_factors(ref)
    return node.coefficient, [view.under(ref) for view in views]


def terms(ref: Ref) -> list[Weighted]:
    """The terms of a sum, or the one term that anything else is."""
    node = ref.node
    if isinstance(node, Sum):
        return [(t.coefficient, t.ref.under(ref)) for t in node.terms]
    coefficient, factors = elementwise_factors(ref)
    if len(factors) != 1:
        return [(_ONE, ref)]
    if factors[0] == ref:
        return [(coefficient, ref)]
    return [(coefficient * c, part) for c, part in terms(factors[0])]


def flat(ref: Ref, depth: int = 4) -> list[Weighted]:
    """The terms of a sum, and of sums that are terms of it."""
    if not depth or not isinstance(ref.node, Sum):
        return terms(ref)
    return [(c * k, x) for c, part in terms(ref) for k, x in flat(part, depth - 1)]


def coefficients(parts: Sequence[Weighted]) -> dict[Ref, Fraction]:
    """The coefficients of terms, those of sums among them too."""
    found: dict[Ref, Fraction] = {}
    for c, ref in parts:
        for k, x in terms(ref):
            found[x] = found.get(x, Fraction(0)) + c * k
    return {x: c for x, c in found.items() if c}


def joined(graph: Graph, parts: Sequence[Weighted]) -> Ref:
    """The sum of terms; one that stands alone stays the node that it is."""
    if len(parts) == 1:
        ((coefficient, ref),) = parts
        return ref if coefficient == 1 else times(graph, ref, coefficient=coefficient)
    return total(graph, parts)
