"""Sums whose terms nearly cancel: `exp(t) - 1`, `1 - tanh(t)**2` and their like."""

from __future__ import annotations

from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Ref, Sum, Term, constant_value
from tensorgen.operators.scalar import apply, times
from tensorgen.operators.stable.exponentials import normalised
from tensorgen.operators.stable.match import (
    Args,
    arguments,
    exponent,
    is_call,
    is_map,
    joined,
    negative,
    terms,
)


def rewritten(graph: Graph, parts: list[Term]) -> list[Term] | None:
    """Return a better list of terms, or None."""
    # Sums may be long, and few of their terms take part in any rule.
    starts = [k for k, term in enumerate(parts) if _starts(term)]
    for k in starts:
        for m, other in enumerate(parts):
            if m == k or other.coefficient * parts[k].coefficient >= 0:
                continue
            better = _beside_one(graph, parts[k], other)
            better = better or _log_softmax(graph, parts[k], other)
            if better is not None:
                rest = [t for n, t in enumerate(parts) if n not in (k, m)]
                return [*rest, better]
    return None


def _log_softmax(graph: Graph, log: Term, term: Term) -> Term | None:
    """z - logsumexp(z), where the largest entry of z is taken from both first."""
    one = log.ref
    if not is_call(one, "logsumexp"):
        return None
    ratio = -term.coefficient / log.coefficient
    z = times(graph, term.ref, coefficient=ratio)
    found = normalised(graph, "log_softmax", z, one)
    return None if found is None else Term(-log.coefficient, *found)


def _starts(term: Term) -> bool:
    """Whether a term may be the first of a pair that a rule has."""
    ref = term.ref
    return constant_value(term.node) == 1 or is_call(ref, "logsumexp")


def _beside_one(graph: Graph, one: Term, term: Term) -> Term | None:
    """c * exp(t) - c, c - c * sigmoid(t) and c - c * tanh(t)**2 without cancelling."""
    if constant_value(one.node) != 1 or one.coefficient != -term.coefficient:
        return None
    ref = term.ref
    if is_map(ref, "exp"):
        return Term(term.coefficient, *apply(graph, "expm1", *arguments(ref)))
    if is_map(ref, "sigmoid"):
        opposite = negative(graph, arguments(ref)[0])
        return Term(one.coefficient, *apply(graph, "sigmoid", opposite))
    if exponent(ref) == 2 and is_map(arguments(ref)[0], "tanh"):
        inner = arguments(arguments(ref)[0])
        return Term(one.coefficient, *apply(graph, "sech2", *inner))
    return None


def acosh_of_one_plus(graph: Graph, args: Args) -> Ref | None:
    """acosh(1 + t), which is about sqrt(2 * t) for a small t."""
    (x,) = args
    if not isinstance(x.node, Sum):
        return None
    parts = terms(x)
    ones = [c for c, part in parts if constant_value(part.node) == 1]
    if ones != [1]:
        return None
    rest = joined(graph, [p for p in parts if constant_value(p[1].node) is None])
    return apply(graph, "acosh1p", rest)
