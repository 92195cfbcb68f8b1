"""Logarithms: of exponentials, their products and sums, and of what is near one.

What the logarithm of one factor or of one difference is, rules say. Which factors have
one, and what sum of exponentials a value is, is known of all of it alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from tensorgen.ir.constraints import is_light
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Call, Map, Product, Ref, Sum, constant_value
from tensorgen.operators.matrices.definite import Sign, sign
from tensorgen.operators.reductions_by_blocks import kept_axes
from tensorgen.operators.scalar import apply, power, times, total
from tensorgen.operators.stable.exponential_sums import (
    log_of_positive,
    log_of_weights,
    summands,
)
from tensorgen.operators.stable.levels import levelled
from tensorgen.operators.stable.match import (
    Args,
    Rule,
    Weighted,
    arguments,
    as_power,
    elementwise_factors,
    is_call,
    is_map,
    joined,
    negative,
    renamed_call,
    terms,
)
from tensorgen.operators.stable.rules import rewritten
from tensorgen.operators.stable.summands import Summand, are_scales


def log(graph: Graph, args: Args) -> Ref | None:
    """The logarithm of a product or a sum in which exponentials stand."""
    (x,) = args
    return (
        _of_prod(graph, x)
        or _of_product(graph, x)
        or _of_entries(graph, x)
        or rewritten(graph, "sums in logarithms", "log", args)
        or _of_exponentials(graph, x)
        or rewritten(graph, "what is left", "log", args)
    )


def log1mexp(graph: Graph, args: Args) -> Ref | None:
    """log(1 - exp(t)), where -t is a gap of exponentials itself."""
    gap = _log_of_gap(graph, negative(graph, args[0]))
    return None if gap is None else apply(graph, "log_icloglog", joined(graph, gap))


def log1p(graph: Graph, args: Args) -> Ref | None:
    """log(1 + t), for a sum of exponentials t or for -sigmoid and the like."""
    whole = total(graph, [(1, Ref(graph.constant(1), ())), *terms(args[0])])
    if summands(graph, args[0]) is not None:
        return _of_exponentials(graph, whole)
    return _of_product(graph, whole)


def to_base(base: int) -> Rule:
    """The rule of the logarithm to another base: where that of `log` has a form."""

    def rule(graph: Graph, args: Args) -> Ref | None:
        found = log(graph, args)
        return found and times(graph, found, _unit(graph, base))

    return rule


def _unit(graph: Graph, base: int) -> Ref:
    """What a natural logarithm is multiplied with to be one to a base."""
    return power(graph, apply(graph, "log", Ref(graph.constant(base), ())), -1)


_BASES = {"log2": 2, "log10": 10}


def xlogx(graph: Graph, pair: Args) -> list[Ref] | None:
    """x * log(x), x * log(x / y) and x * log(y / x), 0 where x may be; in sums also.

    A reciprocal is never 0, whatever it is of: its logarithm needs no care.
    """
    x, log = pair
    if as_power(x)[1] < 0:
        return None
    node = log.node
    if isinstance(node, Sum):
        if not any(is_map(ref, "log") for _, ref in terms(log)):
            return None
        parts = [(c, ref, xlogx(graph, (x, ref))) for c, ref in terms(log)]
        if not any(is_map(ref, "log") and found for _, ref, found in parts):
            return None
        new = [(c, times(graph, *(found or (x, ref)))) for c, ref, found in parts]
        return [total(graph, new)]
    if not isinstance(node, Map) or node.function not in ("log", *_BASES):
        return None
    (y,) = arguments(log)
    if constant_value(y.node) is not None or sign(x.node) is Sign.POSITIVE:
        return None
    found = rewritten(graph, "values", "xlogy", (x, y))
    base = _BASES.get(node.function)
    return found and ([found, _unit(graph, base)] if base else [found])


def xlogy(graph: Graph, args: Args) -> Ref | None:
    """x * log(y) of a y that is surely positive."""
    x, y = args
    found = _log_of_factor(graph, y)
    return None if found is None else times(graph, x, found)


# Products


def _of_prod(graph: Graph, x: Ref) -> Ref | None:
    """log(prod(x)) = sum(log(x)), where x is surely positive."""
    node, labels = x
    if not isinstance(node, Call) or node.operator != "prod":
        return None
    (inner,) = node.args
    if sign(inner) != Sign.POSITIVE:
        return None
    kept = dict(zip(kept_axes(node), labels, strict=True))
    free = max(labels, default=-1) + 1
    names = tuple(kept.get(a, free + a) for a in range(inner.order))
    entries = apply(graph, "log", Ref(inner, names))
    sizes = dict(zip(names, inner.dims, strict=True))
    return Ref(graph.product(labels, [entries], sizes=sizes), labels)


def _of_product(graph: Graph, x: Ref) -> Ref | None:
    """The sum of the logarithms of what is surely positive, and of the rest."""
    coefficient, factors = elementwise_factors(x)
    found: list[Weighted] = []
    rest: list[Ref] = []
    for factor in factors:
        log = _log_of_factor(graph, factor)
        if log is None:
            rest.append(factor)
        else:
            found.append((Fraction(1), log))
    outer = None
    if len(rest) == 1:
        outer = _log_of_gap(graph, times(graph, *rest, coefficient=coefficient))
    if outer is None and found:
        outer = log_of_weights(graph, Summand(coefficient, tuple(rest)))
    return None if outer is None else joined(graph, [*found, *outer])


def _log_of_factor(graph: Graph, ref: Ref) -> Ref | None:
    """The logarithm of a value that is surely positive, if it has a better form."""
    base, k = as_power(ref)
    if k != 1:
        found = _log_of_factor(graph, base)
        return None if found is None else times(graph, found, coefficient=k)
    found = rewritten(graph, "factors in logarithms", "log", (ref,))
    if found is not None:
        return found
    if is_call(ref, "softmax"):
        return renamed_call(graph, "log_softmax", ref)
    parts = summands(graph, ref)
    return None if parts is None else log_of_positive(graph, parts)


def _log_of_gap(graph: Graph, ref: Ref) -> list[Weighted] | None:
    """The logarithm of a difference of two positive values, the larger one taken out.

    exp(a) - exp(b)  is exp(a) * (1 - exp(b - a)); of others there are rules.
    """
    found = rewritten(graph, "differences in logarithms", "log", (ref,))
    if found is not None:
        return terms(found)
    parts = sorted(terms(ref), key=lambda part: -part[0])
    if len(parts) != 2 or parts[0][0] * parts[1][0] > 0:
        return None
    (c, plus), (d, minus) = parts
    both = [summands(graph, part) for part in (plus, minus)]
    if not all(s and len(s) == 1 and _is_exponential(s[0]) for s in both):
        return None
    first, second = (s[0] for s in both if s)
    c, d = c * first.coefficient, d * second.coefficient
    a, b = first.exponent(graph), second.exponent(graph)
    scale = log_of_weights(graph, Summand(-d / c))
    t = joined(graph, [*terms(b), *((-k, x) for k, x in terms(a)), *scale])
    outer = log_of_weights(graph, Summand(c))
    return [*outer, (Fraction(1), a), (Fraction(1), apply(graph, "log1mexp", t))]


def _with_one_weight(
    graph: Graph, parts: Sequence[Summand], free: Sequence[Summand]
) -> list[Summand]:
    """The same sum: what has no exponentials, and may cancel, is added up first."""
    if len(free) < 2:
        return list(parts)
    weights = [times(graph, *s.weights, coefficient=s.coefficient) for s in free]
    whole = total(graph, [(1, weight) for weight in weights])
    return [Summand(weights=(whole,)), *(s for s in parts if s not in free)]


def _is_exponential(s: Summand) -> bool:
    """Whether the one summand of a value is an exponential and a positive number."""
    return s.is_plain and not s.weights and s.coefficient > 0


# Entries: slices, and what index arrays pick


def _of_entries(graph: Graph, x: Ref) -> Ref | None:
    """The entries of a logarithm for the logarithm of entries."""
    node = x.node
    if not isinstance(node, Product) or not is_light(node) or not node.inner:
        return None
    solved = len(node.constraints) == len(node.inner)
    if not solved or any(c.kind != "eq" for c in node.constraints):
        return None
    ((inner, axes),) = node.factors
    every = tuple(range(inner.order))
    found = _log_of_factor(graph, Ref(inner, every))
    if found is None or node.coefficient <= 0:
        return None
    parts = log_of_weights(graph, Summand(node.coefficient))
    for coefficient, part in terms(found):
        entries = graph.product(
            range(node.order),
            [(part.node, [axes[a] for a in part.labels])],
            constraints=node.constraints,
            sizes=dict(enumerate(node.sizes)),
        )
        parts.append((coefficient, Ref(entries, x.labels)))
    return joined(graph, parts)


# Sums


def _of_exponentials(graph: Graph, x: Ref) -> Ref | None:
    """The logarithm of a sum of exponentials, unless they only scale its terms."""
    parts = summands(graph, x, shares=True)
    if parts is None:
        return None
    found = log_of_positive(graph, parts)
    if found is not None or are_scales(x, parts):
        return found
    return _of_unsure_sum(graph, parts)


def _of_unsure_sum(graph: Graph, parts: Sequence[Summand]) -> Ref:
    """The logarithm of a sum of exponentials of which the sign is not known."""
    if len(parts) == 1 and not parts[0].sizes and not parts[0].constraints:
        (s,) = parts
        return joined(graph, [*s.exponents, *log_of_weights(graph, s)])
    numbers = [s.coefficient for s in parts if s.is_number]
    scale = sum(numbers, Fraction(0))
    free = [s for s in parts if s.is_plain and not s.exponents]
    if scale <= 0 or any(s.coefficient < 0 for s in free):
        return levelled(graph, _with_one_weight(graph, parts, free)).log(graph)
    # c * (1 + t) near 1: the difference from 1 is what counts.
    outer = log_of_weights(graph, Summand(scale))
    others = [s for s in parts if not s.is_number]
    ratios = [replace(s, coefficient=s.coefficient / scale) for s in others]
    top, near, _ = levelled(graph, [Summand(), *ratios])
    one = apply(graph, "finite_exp", negative(graph, top))
    drop = apply(graph, "expm1", negative(graph, top))
    less = total(graph, [*terms(near), (-1, one), (1, drop)])
    inner = apply(graph, "log1p", less)
    return total(graph, [*outer, (1, top), (1, inner)])
