"""Differences of products that nearly cancel, as derivatives of quotients leave them.

Two terms of a sum are compared factor by factor. What both have stays; the rest is
known to differ by less than either of them:

    b**p - u * b**(p - 1)      is (b - u) * b**(p - 1), for a sum b with the term u
    sigmoid(t) - sigmoid(-t)   is tanh(t / 2), and so on: rules of pairs of terms
    mean(a * b) - mean(a) * mean(b)   is mean((a - mean(a)) * (b - mean(b)))

The first makes `1 / (1 + x)**2` of the derivative of `x / (1 + x)`, and `1 / s**3` of
that of `x / s` with `s = sqrt(1 + x**2)`. Each rule makes one term of two, or takes u
out of one of them, so that recognition ends.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import TypeGuard

from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Product, Ref, Sum, Term, constant_value, once
from tensorgen.ir.remarks import Remark
from tensorgen.operators.scalar import power, times, total
from tensorgen.operators.stable.factors import (
    DEPTH_OF_FACTORS,
    Base,
    Factors,
    Powers,
    Sign,
    built,
    collect,
    factors_of,
    multiplied,
    over,
    raised,
)
from tensorgen.operators.stable.rules import ends_a_pair, pair_of_terms

MOST = 12
"""Longer sums are left alone: they are not what the derivative of a quotient is."""

CENTRED = Remark(
    "about the mean, for digits",
    r"\w - .*(?:\.sum\(.* / |@|mean)",
    ("var", "std", "centered"),
)


def rewritten(graph: Graph, terms: list[Term]) -> list[Term] | None:
    """Return a better list of terms, or None."""
    if not 2 <= len(terms) <= MOST:
        return None
    found = [factors_of(term.ref, term.coefficient) for term in terms]
    starts = [
        k for k, factors in enumerate(found) if factors and _starts(graph, factors)
    ]
    for k, m in product(starts, range(len(terms))):
        first, second = found[m], found[k]
        if k == m or first is None or second is None:
            continue
        if first.constraints != second.constraints:
            continue
        # Sums meet in the same pairs, of which most are in no rule.
        ratio = (second.coefficient / first.coefficient).as_integer_ratio()
        pair = (terms[m].ref, terms[k].labels, ratio)
        tried: set[object] = once(terms[k].node, rewritten, set)
        if pair in tried:
            continue
        difference = over(first, second)
        others = [t for n, t in enumerate(terms) if n not in (k, m)]
        for rule in (_by_rule, _covariance):
            better = rule(graph, first, second, difference)
            if better is not None:
                return [*others, better]
        parts = _quotient(graph, first, second, difference)
        if parts is not None:
            return [*others, *parts]
        tried.add(pair)
    opened = _opened(graph, terms)
    return None if opened is None else rewritten(graph, opened)


def _opened(graph: Graph, terms: list[Term]) -> list[Term] | None:
    """Multiply out a term with a sum of quotients, which may cancel against others."""
    for k, term in enumerate(terms):
        found = factors_of(term.ref, term.coefficient)
        for base, e in found.powers.items() if found else ():
            if e != 1 or not isinstance(base, Ref) or not isinstance(base.node, Sum):
                continue
            inner = [(t.coefficient, t.ref.under(base)) for t in base.node.terms]
            if found and all(_divides(ref) for _, ref in inner):
                rest = {ref: d for ref, d in found.powers.items() if ref != base}
                parts = [
                    built(graph, found, found.coefficient * c, rest, ref)
                    for c, ref in inner
                ]
                return [*terms[:k], *parts, *terms[k + 1 :]]
    return None


def _divides(ref: Ref) -> bool:
    """Whether a sum divides in a term."""
    found = factors_of(ref)
    return found is not None and any(
        e < 0 and isinstance(base, Ref) and isinstance(base.node, Sum)
        for base, e in found.powers.items()
    )


def _starts(graph: Graph, factors: Factors) -> bool:
    """Whether a term may be the second one of a rule."""
    if sum(e for ref, e in factors.powers.items() if _sums(ref)) == 2:
        return True
    return any(
        isinstance(ref, Ref) and (isinstance(ref.node, Sum) or ends_a_pair(ref))
        for ref in factors.powers
    )


# Rules of two terms


def _by_rule(
    graph: Graph, first: Factors, second: Factors, difference: Powers
) -> Term | None:
    """c * A * p + d * A * q, where a rule says what p + d / c * q is."""
    plus = [(ref, e) for ref, e in difference.items() if e > 0]
    minus = [(ref, -e) for ref, e in difference.items() if e < 0]
    if len(minus) != 1 or len(plus) > 1:
        return None
    if any(isinstance(ref, Sign) for ref in difference):
        return None
    ((base, e),) = minus
    p = raised(graph, *plus[0]) if plus else Ref(graph.constant(1), ())
    ratio = second.coefficient / first.coefficient
    found = pair_of_terms(graph, (p, raised(graph, base, e)), ratio)
    common = Factors(first.coefficient, dict(second.powers))
    common.raise_by(base, -e)
    return found and built(graph, first, common.coefficient, common.powers, found)


def _covariance(
    graph: Graph, first: Factors, second: Factors, difference: Powers
) -> Term | None:
    """c * A * (sum(a * b) - sum(a) * sum(b) / n), whose sums are over the same n."""
    sums = [(e, ref) for ref, e in difference.items() if _sums(ref)]
    if sorted(e for e, _ in sums) not in ([-2, 1], [-1, -1, 1]):
        return None
    (whole,) = (ref for e, ref in sums if e == 1)
    parts = [ref for e, ref in sums if e < 0]
    count = Factors(-second.coefficient / first.coefficient)
    for base, e in difference.items():
        if not _sums(base):
            count.raise_by(base, e)
    if count != _count(graph, whole):
        return None
    summands = [_summand(ref) for ref in parts]
    joint = Factors(Fraction(1))
    for part in (summands * 2)[:2]:
        joint.coefficient *= part.coefficient
        for base, e in part.powers.items():
            joint.raise_by(base, e)
    if joint != _summand(whole) or not all(map(_is_within, summands)):
        return None
    scale = [raised(graph, base, -e) for base, e in count.powers.items()]
    means = [times(graph, ref, *scale, coefficient=count.coefficient) for ref in parts]
    centered = [
        total(graph, [(1, multiplied(graph, part)), (-1, mean)])
        for part, mean in zip(summands, means, strict=True)
    ]
    for ref in centered:
        graph.remark(ref.node, CENTRED)
    left, right = centered[0], centered[-1]
    alike = left == right
    pair = power(graph, left, 2) if alike else times(graph, left, right)
    labels = tuple(label for label in pair.labels if label < _INNER)
    found = Ref(graph.product(labels, [pair]), labels)
    rest = {base: e for base, e in first.powers.items() if base != whole}
    return built(graph, first, first.coefficient, rest, found)


_INNER = 1_000_000
"""The first label of what is summed, above all others."""


def _sums(ref: Base) -> TypeGuard[Ref]:
    """Whether a value is a sum over some axes."""
    node = ref.node if isinstance(ref, Ref) else None
    return isinstance(node, Product) and bool(node.inner) and not node.constraints


def _summand(ref: Ref) -> Factors:
    """What is summed, as a product of powers."""
    node = ref.node
    assert isinstance(node, Product)
    labels = (*ref.labels, *range(_INNER, _INNER + len(node.inner)))
    found = Factors(node.coefficient)
    for factor in node.factors:
        collect(found, factor.under(Ref(node, labels)), Fraction(1), DEPTH_OF_FACTORS)
    return found


def _is_within(summand: Factors) -> bool:
    """Whether nothing could be taken out of the sum."""
    refs = (x.value if isinstance(x, Sign) else x for x in summand.powers)
    return all(max(ref.labels, default=0) >= _INNER for ref in refs)


def _count(graph: Graph, ref: Ref) -> Factors:
    """How many terms a sum has: 1 over it, as a product of powers."""
    node = ref.node
    assert isinstance(node, Product)
    found = Factors(Fraction(1))
    for dim in node.inner:
        size = graph.size(dim)
        value = constant_value(size)
        if value is None:
            found.raise_by(Ref(size, ()), Fraction(1))
        elif value:
            found.coefficient /= value
    return found


def _quotient(
    graph: Graph, first: Factors, second: Factors, difference: Powers
) -> list[Term] | None:
    """c * A * b**p - k * A * u * b**(p - 1), where b - u has a term less.

    It is (c - k) * A * b**p + k * A * (b - u) * b**(p - 1). Where k is less than c, no
    digit is lost but in the derivative; so of quotients, whose p is at most 0.
    """
    for base, e in difference.items():
        if e != 1 or not isinstance(base, Ref) or not isinstance(base.node, Sum):
            continue
        extra = {ref: -d for ref, d in difference.items() if ref != base}
        found = _without(graph, base, extra)
        if found is None:
            continue
        scale, rest = found
        share = -second.coefficient / first.coefficient / scale
        if not (share == 1 or (0 < share < 1 and first.powers.get(base, 0) <= 0)):
            continue
        common = {r: d for r, d in second.powers.items() if r not in extra}
        for ref, d in extra.items():
            left = second.powers.get(ref, Fraction(0)) - d
            common.update({ref: left} if left else {})
        better = [built(graph, first, share * first.coefficient, common, rest)]
        if share < 1:
            left = (1 - share) * first.coefficient
            better.append(built(graph, first, left, first.powers))
        return better
    return None


def _without(graph: Graph, base: Ref, powers: Powers) -> tuple[Fraction, Ref] | None:
    """The coefficient of a product of powers in a sum, and the sum without it."""
    assert isinstance(base.node, Sum)
    for k, term in enumerate(base.node.terms):
        found = factors_of(term.ref.under(base), term.coefficient)
        if found is None or found.constraints:
            continue
        if found.powers == powers:
            rest = [t for n, t in enumerate(base.node.terms) if n != k]
            whole = total(graph, [(t.coefficient, t.ref.under(base)) for t in rest])
            return found.coefficient, whole
    return None
