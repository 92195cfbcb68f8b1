"""Exponentials of normalised exponents, and exponentials beside such.

`exp(z - logsumexp(z))` is `softmax(z)`: its derivatives neither overflow nor cancel.
A quotient by a sum of exponentials is multiplied by the `exp(-L)` that
`exponential_sums` makes of it, and takes L into each exponential of the numerator,
however deep it stands there. So a ratio of two such sums is a mean under a softmax
before anything is differentiated.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import permutations

from tensorgen.ir.constraints import is_light
from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import (
    Call,
    Constraint,
    Map,
    Product,
    Ref,
    Sum,
    Term,
    constant_value,
)
from tensorgen.operators.calls import over
from tensorgen.operators.elementwise import ELEMENTWISE
from tensorgen.operators.matrices.definite import Sign, sign
from tensorgen.operators.reductions_by_blocks import kept_axes
from tensorgen.operators.scalar import apply, infinity, power, times, total
from tensorgen.operators.stable.factors import opened, same
from tensorgen.operators.stable.match import (
    Args,
    arguments,
    as_exponent,
    coefficients,
    elementwise_factors,
    flat,
    is_call,
    is_map,
    joined,
    negative,
    renamed_call,
    terms,
)
from tensorgen.operators.stable.rules import fit

# exp(t)


def exp_of_sum(graph: Graph, args: Args) -> Ref | None:
    """exp(z - L) as a share of what L is the logarithm of."""
    for c, log, z in _beside_logs(graph, args[0]):
        if c > 0 and is_call(log, "log_softmax") and z is None:
            return power(graph, renamed_call(graph, "softmax", log), c)
        if c >= 0 or c.denominator != 1 or not is_log_of_sum(log):
            continue
        if z is None or c == -1:
            found = share(graph, z or _zero(graph), log)
            if found is not None:
                return power(graph, found, -c)
    return None


def _beside_logs(graph: Graph, t: Ref) -> Iterator[tuple[Fraction, Ref, Ref | None]]:
    """Yield terms that are such logarithms, and what is added to each.

    Sums may be scaled: `(z - e * L) / e` is `z / e - L`.
    """
    scale, whole = _scaled_sum(graph, t)
    parts = terms(whole)
    for k, (c, log) in enumerate(parts):
        inner = elementwise_factors(log)[1] if scale else [log]
        if not any(is_call(x, "log_softmax") or is_log_of_sum(x) for x in inner):
            continue
        if scale:
            product = opened(graph, [*scale, log])
            own, factors = elementwise_factors(product)
            c, log = c * own, factors[0] if len(factors) == 1 else product
        rest = parts[:k] + parts[k + 1 :]
        z = joined(graph, rest) if rest else None
        yield c, log, z and times(graph, z, *scale)


def _scaled_sum(graph: Graph, t: Ref) -> tuple[list[Ref], Ref]:
    """What a value multiplies a sum by, and that sum, or else the value."""
    coefficient, factors = elementwise_factors(t)
    sums = [x for x in factors if isinstance(x.node, Sum)]
    others = [x for x in factors if x not in sums]
    if len(factors) == 1 and coefficient == 1 and factors[0] != t and not sums:
        return _scaled_sum(graph, factors[0])  # in another order of axes
    if not others or len(sums) != 1:
        return [], t
    if coefficient != 1:
        others.append(Ref(graph.constant(coefficient), ()))
    return others, sums[0]


def _zero(graph: Graph) -> Ref:
    return Ref(graph.constant(0), ())


def is_log_of_sum(ref: Ref) -> bool:
    """Whether a value is the logarithm of a sum of exponentials, or a level of one."""
    node = ref.node
    if isinstance(node, Product) and len(node.factors) == 1 and is_light(node):
        return is_log_of_sum(node.factors[0])
    if isinstance(node, Call):
        return node.operator in ("logsumexp", "running_logsumexp")
    return isinstance(node, Map) and ELEMENTWISE[node.function].has("log")


def share(graph: Graph, z: Ref, log: Ref) -> Ref | None:
    """exp(z - log) where exp(z) is a term of exp(log), of two terms or of an array.

    Of two, it is the share of z in one of them, times sigmoid of that one's log-odds.
    """
    if same(graph, z, log):
        return Ref(graph.constant(1), ())
    if is_call(log, "logsumexp"):
        return normalised(graph, "softmax", z, log)
    if is_map(log, "softplus"):
        scale, first, second = 1, _zero(graph), arguments(log)[0]
    elif is_map(log, "logaddexp"):
        scale, (first, second) = 1, arguments(log)
    elif is_map(log, "log_cosh"):
        scale, first, second = 2, *arguments(log), negative(graph, *arguments(log))
    else:
        return None
    odds = total(graph, [(1, first), (-1, second)])
    for k, term in ((1, first), (-1, second)):
        found = share(graph, z, term)
        if found is not None:
            own = apply(graph, "sigmoid", times(graph, odds, coefficient=k))
            return times(graph, found, own, coefficient=scale)
    return None


def normalised(graph: Graph, operator: str, z: Ref, log: Ref) -> Ref | None:
    """The softmax of z, or its logarithm, where `log` is the logsumexp of z."""
    node = log.node
    assert isinstance(node, Call)
    (whole,) = node.args
    known = dict(zip(kept_axes(node), log.labels, strict=True))
    others = [x for x in z.labels if x not in log.labels]
    if len(known) + len(others) != whole.order or len(z.labels) != whole.order:
        return None
    gone = [a for a in range(whole.order) if a not in known]
    for order in permutations(others):
        names = {**known, **dict(zip(gone, order, strict=True))}
        labels = tuple(names[a] for a in range(whole.order))
        if _same_terms(graph, z, Ref(whole, labels)):
            return Ref(over(graph, operator, node), labels)
    return None


def _same_terms(graph: Graph, one: Ref, other: Ref) -> bool:
    """Whether two values are one, which may be sums that are scaled."""
    if graph.product(other.labels, [one]) is other.node:
        return True
    (scale, whole), (own, mine) = _scaled_sum(graph, other), _scaled_sum(graph, one)
    return (
        bool(scale)
        and scale == own
        and coefficients(terms(mine)) == coefficients(terms(whole))
    )


# Sums with logsumexp


def log_softmax(graph: Graph, parts: list[Term]) -> list[Term] | None:
    """z - logsumexp(z), which nearly cancels, among the terms of a sum."""
    # Sums may be long, and few of their terms take part in any rule.
    starts = [k for k, term in enumerate(parts) if is_call(term.ref, "logsumexp")]
    for k in starts:
        for m, other in enumerate(parts):
            if m == k or other.coefficient * parts[k].coefficient >= 0:
                continue
            better = _of_log_softmax(graph, parts[k], other)
            if better is not None:
                rest = [t for n, t in enumerate(parts) if n not in (k, m)]
                return [*rest, better]
    return None


def _of_log_softmax(graph: Graph, log: Term, term: Term) -> Term | None:
    """Two terms as one, where the largest entry of z is taken from both first."""
    ratio = -term.coefficient / log.coefficient
    z = times(graph, term.ref, coefficient=ratio)
    found = normalised(graph, "log_softmax", z, log.ref)
    return None if found is None else Term(-log.coefficient, *found)


# Products with exp(-L)


def beside_quotient(graph: Graph, pair: Args) -> list[Ref] | None:
    """F * exp(-L) with L taken into the exponentials of F."""
    factor, other = pair
    if is_map(factor, "exp") and _divides(factor):
        return None
    coefficient, parts = elementwise_factors(other)
    for k, part in enumerate(parts):
        if not is_map(part, "exp") or not _divides(part):
            continue
        if not is_map(factor, "exp") and not set(part.labels) <= set(factor.labels):
            continue
        found = absorbed(graph, factor, *arguments(part))
        if found is not None:
            rest = parts[:k] + parts[k + 1 :]
            return [times(graph, *rest, found, coefficient=coefficient)]
    return None


def _divides(ref: Ref) -> bool:
    """Whether an exponent holds `-L`, or `-exp(x)`, as a term."""
    if is_map(ref, "exp"):
        (ref,) = arguments(ref)
    return any(
        (c * _sign(part) < 0 and is_log_of_sum(part)) or _falls_as_exp(c, part)
        for c, part in flat(ref)
    )


def _sign(ref: Ref) -> Fraction:
    return ref.node.coefficient if isinstance(ref.node, Product) else Fraction(1)


def _falls_as_exp(c: Fraction, ref: Ref) -> bool:
    """Whether a term is `-exp(x)`, or that times weights of the same axes."""
    coefficient, factors = elementwise_factors(ref)
    return c * coefficient < 0 and any(
        is_map(f, "exp") and set(f.labels) >= set(ref.labels) for f in factors
    )


def absorbed(graph: Graph, ref: Ref, t: Ref, mask: Ref | None = None) -> Ref | None:
    """`ref * exp(t)` with t taken into exponentials; None where there are none.

    What a mask leaves out of an exponential is 0.
    """
    node = ref.node
    if (z := as_exponent(graph, ref)) is not None:
        if mask is not None:
            z = apply(graph, "where", mask, z, infinity(graph, -1))
        together = total(graph, [*terms(z), *flat(t)])
        return apply(graph, _exponential(t), together)
    if isinstance(node, Map) and node.function == "where":
        condition, chosen, rest = arguments(ref)
        if constant_value(rest.node) != 0:
            return None
        if mask is not None:
            condition = apply(graph, "logical_and", condition, mask)
        return absorbed(graph, chosen, t, condition)
    if (opened := fit(graph, "as exponentials", ref)) is not None:
        return _in_sum(graph, opened.whole(graph), t, mask)
    if isinstance(node, Sum):
        return _in_sum(graph, ref, t, mask)
    if isinstance(node, Product):
        return _in_product(graph, ref, t, mask)
    return None


def _exponential(t: Ref) -> str:
    """The function that takes an exponent which may lie far above its level."""
    levelled = any(is_map(part, "level") for _, part in flat(t))
    return "large_exp" if levelled else "exp"


def _in_sum(graph: Graph, ref: Ref, t: Ref, mask: Ref | None) -> Ref | None:
    found = [(k, part, absorbed(graph, part, t, mask)) for k, part in terms(ref)]
    if not any(inner for _, _, inner in found):
        return None
    if mask is not None:
        t = apply(graph, "where", mask, t, infinity(graph, -1))
    whole = apply(graph, "exp", t)
    return total(
        graph, [(k, inner or times(graph, part, whole)) for k, part, inner in found]
    )


def _in_product(graph: Graph, ref: Ref, t: Ref, mask: Ref | None) -> Ref | None:
    node = ref.node
    assert isinstance(node, Product)
    names = _names(ref, t, mask)
    factors = [Ref(n, tuple(names[a] for a in axes)) for n, axes in node.factors]
    constraints = [c.renamed(names.__getitem__) for c in node.constraints]
    sizes = {names[a]: dim for a, dim in enumerate(node.sizes)}
    for k, factor in enumerate(factors):
        held = _of_exponents(factor)
        ranges = [c for c in constraints if _is_range(c, held, ref.labels)]
        found = absorbed(graph, factor, t, _joint(graph, mask, ranges, sizes))
        if found is None:
            continue
        kept = constraints
        if not isinstance(factor.node, Sum):  # the exponential is 0 by itself there
            kept = [c for c in constraints if c not in ranges]
        labels = tuple(sorted({*ref.labels, *t.labels}))
        whole = graph.product(
            labels,
            [*factors[:k], found, *factors[k + 1 :]],
            coefficient=node.coefficient,
            constraints=kept,
            sizes={**sizes, **dict(zip(t.labels, t.node.dims, strict=True))},
        )
        return Ref(whole, labels)
    return None


def _names(ref: Ref, *others: Ref | None) -> dict[int, int]:
    """Labels of a product by its own: those of its use, and free ones."""
    node = ref.node
    assert isinstance(node, Product)
    used = [ref, *(other for other in others if other is not None)]
    free = max((x for other in used for x in other.labels), default=-1) + 1
    return dict(enumerate((*ref.labels, *range(free, free + len(node.inner)))))


def _of_exponents(ref: Ref) -> set[int]:
    """The labels of the exponents in a value, of those that it is not summed over."""
    node = ref.node
    if isinstance(node, Map):
        if node.function == "where":
            return _of_exponents(arguments(ref)[1])
        known = node.function in ("cosh", "exp", "pow", "sinh")
        return set(ref.labels) if known else set()
    if isinstance(node, Sum):
        return {x for _, part in terms(ref) for x in _of_exponents(part)}
    if isinstance(node, Product):
        inner = {x for factor in node.factors for x in _of_exponents(factor)}
        return {ref.labels[x] for x in inner if x < node.order}
    return set()


def _is_range(constraint: Constraint, held: set[int], kept: Sequence[int]) -> bool:
    """Whether it bounds labels of exponents, which are summed, by others that stay."""
    labels = set(constraint.form.labels)
    inner = labels - set(kept)
    return constraint.kind == "ge" and inner <= held and 0 < len(inner) < len(labels)


def _joint(
    graph: Graph,
    mask: Ref | None,
    ranges: Sequence[Constraint],
    sizes: Mapping[int, Dim],
) -> Ref | None:
    """A mask and constraints as one array of zeros and ones."""
    if not ranges:
        return mask
    labels = sorted({x for c in ranges for x in c.form.labels})
    dims = {x: sizes[x] for x in labels}
    node = graph.product(labels, [], constraints=ranges, sizes=dims)
    joint = Ref(node, tuple(labels))
    return joint if mask is None else apply(graph, "logical_and", mask, joint)


def beside_weight(graph: Graph, pair: Args) -> list[Ref] | None:
    """w * exp(z - L) as a share of exp(L), where w * exp(z) is a term of it."""
    exp, weight = pair
    if not is_map(exp, "exp") or is_map(weight, "exp"):
        return None
    parts = terms(arguments(exp)[0])
    logs = [k for k, (c, part) in enumerate(parts) if c == -1 and is_log_of_sum(part)]
    if len(logs) != 1 or sign(weight.node) != Sign.POSITIVE:
        return None
    rest = parts[: logs[0]] + parts[logs[0] + 1 :]
    z = total(graph, [*rest, (1, apply(graph, "log", weight))])
    found = share(graph, z, parts[logs[0]][1])
    return None if found is None else [found]
