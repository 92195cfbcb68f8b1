"""Exponentials beside the logistic function, however deep in sums and products."""

from __future__ import annotations

from fractions import Fraction

from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Ref, Sum
from tensorgen.operators.scalar import apply, power, times, total
from tensorgen.operators.stable.exponentials import absorbed, is_log_of_sum
from tensorgen.operators.stable.factors import same
from tensorgen.operators.stable.match import (
    Args,
    arguments,
    as_exponent,
    as_power,
    elementwise_factors,
    is_map,
    negative,
    terms,
)

_MOST_PARTS = 300
"""So many parts of a numerator are looked into for what a sigmoid absorbs."""


def beside_sigmoid(graph: Graph, pair: Args) -> list[Ref] | None:
    """exp(t) * sigmoid(-t)**k = sigmoid(t) * sigmoid(-t)**(k - 1), in sums also."""
    factor, other = pair
    logistic, k = as_power(other)
    if not is_map(logistic, "sigmoid") or k < 1:
        return None
    (u,) = arguments(logistic)
    t = negative(graph, u)
    found = _odds(graph, factor, t)
    if found is None and is_log_of_sum(t):
        log = negative(graph, apply(graph, "softplus", t))
        found = absorbed(graph, factor, log)
    return None if found is None else [found, power(graph, logistic, k - 1)]


def _odds(
    graph: Graph, ref: Ref, t: Ref, known: dict[Ref, Ref | None] | None = None
) -> Ref | None:
    """`ref * sigmoid(-t)` with exp(t) * sigmoid(-t) = sigmoid(t) taken where it is.

    What is `known` of parts is not looked for again; many parts are not looked into.
    """
    known = {} if known is None else known
    if ref not in known and len(known) < _MOST_PARTS:
        known[ref] = None  # it is no part of itself
        known[ref] = _odds_anew(graph, ref, t, known)
    return known.get(ref)


def _odds_anew(
    graph: Graph, ref: Ref, t: Ref, known: dict[Ref, Ref | None]
) -> Ref | None:
    z = as_exponent(graph, ref)
    if z is not None and same(graph, t, z):
        return apply(graph, "sigmoid", t)
    if z is not None and _ratio(z, t) > 1:  # of exp(k * t) there is exp((k - 1) * t)
        left = apply(graph, "exp", total(graph, [(1, z), (-1, t)]))
        return times(graph, left, apply(graph, "sigmoid", t))
    if is_map(ref, "expm1") and same(graph, t, arguments(ref)[0]):
        return apply(graph, "tanh", times(graph, t, coefficient=Fraction(1, 2)))
    coefficient, factors = elementwise_factors(ref)
    if len(factors) < 8:
        for k, factor in enumerate(factors):
            if found := _odds(graph, factor, t, known):
                rest = factors[:k] + factors[k + 1 :]
                return times(graph, *rest, found, coefficient=coefficient)
    if isinstance(ref.node, Sum) and set(t.labels) <= set(ref.labels):
        parts = [(c, part, _odds(graph, part, t, known)) for c, part in terms(ref)]
        if any(found for _, _, found in parts):
            whole = apply(graph, "sigmoid", negative(graph, t))
            return total(
                graph, [(c, f or times(graph, part, whole)) for c, part, f in parts]
            )
    return None


def _ratio(z: Ref, t: Ref) -> Fraction:
    """The k of a z that is k * t, or 0."""
    (mine, parts), (other, others) = elementwise_factors(z), elementwise_factors(t)
    return mine / other if other and parts == others else Fraction(0)
