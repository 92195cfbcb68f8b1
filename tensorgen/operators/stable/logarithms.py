"""Logarithms: of exponentials, their products and sums, and of what is near one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from tensorgen.ir.constraints import is_light
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Call, Product, Ref, Sum, constant_value
from tensorgen.operators.calls import kept_axes
from tensorgen.operators.matrices.definite import Sign, sign
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
    as_exponent,
    as_power,
    elementwise_factors,
    is_call,
    is_map,
    joined,
    negative,
    renamed_call,
    terms,
)
from tensorgen.operators.stable.numbers import ratio_log
from tensorgen.operators.stable.summands import Summand, are_scales


def log(graph: Graph, args: Args) -> Ref | None:
    """The logarithm of a product or a sum in which exponentials stand."""
    (x,) = args
    for rule in (_of_power, _of_prod, _of_product, _of_entries, _of_root, _of_sum):
        found = rule(graph, x)
        if found is not None:
            return found
    return None


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
        if found is None:
            return None
        unit = apply(graph, "log", Ref(graph.constant(base), ()))
        inverse = apply(graph, "pow", unit, Ref(graph.constant(-1), ()))
        return times(graph, found, inverse)

    return rule


def xlogy(graph: Graph, args: Args) -> Ref | None:
    """x * log(y) of a y that is surely positive, or has x as a factor."""
    x, y = args
    if (ratio := ratio_log(graph, x, y)) is not None:
        return ratio
    value = constant_value(y.node)
    if value is not None and value > 0:
        return times(graph, x, apply(graph, "log", y))
    found = _log_of_factor(graph, y)
    return None if found is None else times(graph, x, found)


# Products


def _of_power(graph: Graph, x: Ref) -> Ref | None:
    """log(x**k) = k * log(x), where x is surely positive."""
    base, k = as_power(x)
    if k == 1 or sign(base.node) != Sign.POSITIVE:
        return None
    return times(graph, apply(graph, "log", base), coefficient=k)


def _of_root(graph: Graph, x: Ref) -> Ref | None:
    """log(t + sqrt(1 + t**2)) = asinh(t), which cancels where t is negative."""
    parts = terms(x)
    for k, (coefficient, root) in enumerate(parts):
        if coefficient != 1 or not is_map(root, "sqrt") or len(parts) < 2:
            continue
        t = joined(graph, parts[:k] + parts[k + 1 :])
        one = (Fraction(1), Ref(graph.constant(1), ()))
        whole = total(graph, [one, (Fraction(1), power(graph, t, 2))])
        if arguments(root)[0] == whole:
            return apply(graph, "asinh", t)
    return None


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
    outer = _log_of_difference(graph, coefficient, *rest) if len(rest) == 1 else None
    if outer is None and found:
        outer = log_of_weights(graph, Summand(coefficient, tuple(rest)))
    return None if outer is None else joined(graph, [*found, *outer])


def _log_of_factor(graph: Graph, ref: Ref) -> Ref | None:
    """The logarithm of a value that is surely positive, if it has a better form."""
    base, k = as_power(ref)
    if k != 1:
        found = _log_of_factor(graph, base)
        return None if found is None else times(graph, found, coefficient=k)
    if is_map(ref, "exp"):
        return arguments(ref)[0]
    if is_map(ref, "sigmoid"):
        (t,) = arguments(ref)
        if isinstance(t.node, Product) and t.node.coefficient < 0:
            return negative(graph, apply(graph, "softplus", negative(graph, t)))
        return apply(graph, "log_sigmoid", t)
    if is_map(ref, "ndtr"):
        return apply(graph, "log_ndtr", *arguments(ref))
    if is_map(ref, "cosh") or is_map(ref, "i0"):
        return as_exponent(graph, ref)
    if is_call(ref, "softmax"):
        return renamed_call(graph, "log_softmax", ref)
    parts = summands(graph, ref)
    return None if parts is None else log_of_positive(graph, parts)


def _log_of_difference(
    graph: Graph, coefficient: Fraction, ref: Ref
) -> list[Weighted] | None:
    """log(c * expm1(t)) and log(c * sinh(t)), of one sign each, and other gaps."""
    if isinstance(ref.node, Sum):
        return _log_of_gap(graph, coefficient, ref)
    if is_map(ref, "expm1"):
        (t,), shift, half = arguments(ref), Fraction(1), Fraction(1)
    elif is_map(ref, "sinh"):
        (t,), shift, half = arguments(ref), Fraction(1, 2), Fraction(1, 2)
        t = times(graph, t, coefficient=2 if coefficient > 0 else -2)
        coefficient = abs(coefficient)
    else:
        return None
    found = log_of_weights(graph, Summand(abs(coefficient) * half))
    if coefficient > 0:
        found.append((shift, t))
        t = negative(graph, t)
    return [*found, _log1mexp(graph, t)]


def _log1mexp(graph: Graph, t: Ref) -> Weighted:
    """log(1 - exp(t)), where t may be -exp(s), or a gap of exponentials itself."""
    inner = negative(graph, t)
    if is_map(inner, "exp"):
        return Fraction(1), apply(graph, "log_icloglog", *arguments(inner))
    gap = _log_of_gap(graph, Fraction(1), inner)
    if gap is not None:
        return Fraction(1), apply(graph, "log_icloglog", joined(graph, gap))
    return Fraction(1), apply(graph, "log1mexp", t)


def _log_of_gap(graph: Graph, coefficient: Fraction, ref: Ref) -> list[Weighted] | None:
    """log(f(a) - f(b)) of two positive values, the larger one taken out.

    exp(a) - exp(b)           is exp(a) * (1 - exp(b - a))
    sigmoid(a) - sigmoid(b)   is sigmoid(a) * sigmoid(-b) * (1 - exp(b - a))
    tanh(a) - tanh(b)         is 2 * (sigmoid(2 * a) - sigmoid(2 * b))
    ndtr(a) - ndtr(b)         is a function of both and a - b, and so is that of erf
    """
    parts = sorted(terms(ref), key=lambda part: -part[0] * coefficient)
    if len(parts) != 2 or parts[0][0] * parts[1][0] > 0:
        return None
    (c, plus), (d, minus) = parts
    between = _between(graph, parts)
    if between is not None:
        outer = log_of_weights(graph, Summand(coefficient * between[0]))
        return [*outer, (Fraction(1), between[1])]
    logistic = _of_logistic(graph, plus, minus) if c == -d else None
    if logistic is not None:
        c, (a, b) = c * logistic[0], logistic[1:]
        d = -c
        sides = (a, negative(graph, b))
        found = [(Fraction(1), apply(graph, "log_sigmoid", side)) for side in sides]
    else:
        both = [summands(graph, part) for part in (plus, minus)]
        if not all(s and len(s) == 1 and _is_exponential(s[0]) for s in both):
            return None
        first, second = (s[0] for s in both if s)
        c, d = c * first.coefficient, d * second.coefficient
        a, b = first.exponent(graph), second.exponent(graph)
        found = [(Fraction(1), a)]
    scale = log_of_weights(graph, Summand(-d / c))
    t = joined(graph, [*terms(b), *((-k, x) for k, x in terms(a)), *scale])
    outer = log_of_weights(graph, Summand(coefficient * c))
    return [*outer, *found, _log1mexp(graph, t)]


def _of_logistic(
    graph: Graph, plus: Ref, minus: Ref
) -> tuple[Fraction, Ref, Ref] | None:
    """k, a and b, where a difference is k * (sigmoid(a) - sigmoid(b))."""
    for function, k in (("sigmoid", 1), ("tanh", 2)):
        if is_map(plus, function) and is_map(minus, function):
            (a,), (b,) = arguments(plus), arguments(minus)
            a, b = (times(graph, x, coefficient=k) for x in (a, b))
            return Fraction(k), a, b
    return None


def _with_one_weight(
    graph: Graph, parts: Sequence[Summand], free: Sequence[Summand]
) -> list[Summand]:
    """The same sum: what has no exponentials, and may cancel, is added up first."""
    if len(free) < 2:
        return list(parts)
    weights = [times(graph, *s.weights, coefficient=s.coefficient) for s in free]
    whole = total(graph, [(1, weight) for weight in weights])
    return [Summand(weights=(whole,)), *(s for s in parts if s not in free)]


_NORMAL = (("ndtr", 1, 1, 1), ("erf", 1, 2, 2), ("erfc", -1, 2, 2))
"""Functions that are constant + k * c * ndtr(sqrt(s) * x), with k, c and s."""


def _between(graph: Graph, parts: Sequence[Weighted]) -> Weighted | None:
    """How many times the probability that a normal number lies between two others."""
    (c, plus), (d, minus) = parts
    for function, side, count, square in _NORMAL:
        if c + d or not is_map(plus, function) or not is_map(minus, function):
            continue
        unit = power(graph, Ref(graph.constant(square), ()), Fraction(1, 2))
        a, b = (times(graph, *arguments(x), unit) for x in (plus, minus)[::side])
        if side < 0:
            c = -c
        width = joined(graph, [*terms(a), *((-k, x) for k, x in terms(b))])
        return count * abs(c), apply(graph, "log_ndtr_between", a, b, width)
    return None


def _is_exponential(s: Summand) -> bool:
    """Whether it is an exponential and a number that is not negative."""
    return s.is_plain and not s.weights and bool(s.exponents) and s.coefficient > 0


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


def _of_sum(graph: Graph, x: Ref) -> Ref | None:
    found = _of_exponentials(graph, x)
    if found is not None or not isinstance(x.node, Sum):
        return found
    one, rest = _split(graph, x)
    return apply(graph, "log1p", rest) if one == 1 else None


def _of_exponentials(graph: Graph, x: Ref) -> Ref | None:
    """The logarithm of a sum of exponentials, unless they only scale its terms."""
    parts = summands(graph, x, shares=True)
    if parts is None:
        return None
    found = log_of_positive(graph, parts)
    if found is not None or are_scales(x, parts):
        return found
    return _of_unsure_sum(graph, parts)


def _split(graph: Graph, x: Ref) -> tuple[Fraction, Ref]:
    """The number in a sum, and the sum without it."""
    numbers, others = [Fraction(0)], []
    for c, part in terms(x):
        value = constant_value(part.node)
        if value is None:
            others.append((c, part))
        else:
            numbers.append(c * value)
    return sum(numbers, Fraction(0)), joined(graph, others)


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
