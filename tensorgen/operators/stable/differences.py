"""Differences of products that nearly cancel, as derivatives of quotients leave them.

Two terms of a sum are compared factor by factor. What both have stays; the rest is
known to differ by less than either of them:

    b**p - u * b**(p - 1)      is (b - u) * b**(p - 1), for a sum b with the term u
    sigmoid(t) - sigmoid(-t)   is tanh(t / 2)
    1 + erf(t), 1 - erf(t)     are erfc(-t), erfc(t)
    mean(a * b) - mean(a) * mean(b)   is mean((a - mean(a)) * (b - mean(b)))

The first makes `1 / (1 + x)**2` of the derivative of `x / (1 + x)`, and `1 / s**3` of
that of `x / s` with `s = sqrt(1 + x**2)`. Each rule makes one term of two, so that
recognition ends.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product
from typing import NamedTuple, TypeGuard

from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import (
    Constraint,
    Map,
    Product,
    Ref,
    Sum,
    Term,
    constant_value,
)
from tensorgen.operators.scalar import apply, has_exact_power, power, times, total
from tensorgen.operators.stable.match import arguments, is_map

MOST = 12
"""Longer sums are left alone: they are not what the derivative of a quotient is."""

ONE = Fraction(1)

DEPTH = 4
"""How many products within products are looked through."""


class Sign(NamedTuple):
    """The sign of a value: to be compared, its size is the value times its sign."""

    value: Ref


Base = Ref | Sign
Powers = dict[Base, Fraction]


@dataclass
class Factors:
    """A term as a product of powers under constraints, in the labels of its sum."""

    coefficient: Fraction
    powers: Powers = field(default_factory=dict)
    constraints: tuple[Constraint, ...] = ()
    sizes: dict[int, Dim] = field(default_factory=dict)

    def raise_by(self, ref: Base, e: Fraction) -> None:
        """Multiply by a power."""
        self.powers[ref] = self.powers.get(ref, Fraction(0)) + e
        if not self.powers[ref]:
            del self.powers[ref]


def rewritten(graph: Graph, terms: list[Term]) -> list[Term] | None:
    """Return a better list of terms, or None."""
    if not 2 <= len(terms) <= MOST:
        return None
    found = [factors_of(term.ref, term.coefficient) for term in terms]
    starts = [k for k, factors in enumerate(found) if factors and _starts(factors)]
    for k, m in product(starts, range(len(terms))):
        first, second = found[m], found[k]
        if k == m or first is None or second is None:
            continue
        if first.constraints != second.constraints:
            continue
        difference = _difference(first, second)
        for rule in (_rest, _opposite, _covariance, _quotient):
            better = rule(graph, first, second, difference)
            if better is not None:
                return [*(t for n, t in enumerate(terms) if n not in (k, m)), better]
    return None


def _starts(factors: Factors) -> bool:
    """Whether a term may be the second one of a rule."""
    if sum(e for ref, e in factors.powers.items() if _sums(ref)) == 2:
        return True
    return any(
        _is(ref, "erf")
        or _is(ref, "ndtr")
        or _is(ref, "sigmoid")
        or (isinstance(ref, Ref) and isinstance(ref.node, Sum))
        for ref, e in factors.powers.items()
    )


# Terms as products of powers


def same(graph: Graph, a: Ref, b: Ref) -> bool:
    """Whether two aligned refs are one value, in whatever order of axes."""
    if set(a.labels) != set(b.labels):
        return False
    if graph.product(b.labels, [a]) is b.node:
        return True
    # Numbers may stand at another depth: 2 * (x / p) is (2 * x) / p.
    mine, other = factors_of(a), factors_of(b)
    return mine is not None and mine == other


def factors_of(ref: Ref, coefficient: Fraction = ONE) -> Factors | None:
    """The factors of a term; None where it sums over something."""
    node, labels = ref
    found = Factors(coefficient)
    if isinstance(node, Product) and node.constraints:
        if node.inner:
            return None
        at = labels.__getitem__
        found.constraints = tuple(c.renamed(at) for c in node.constraints)
        found.sizes = dict(zip(labels, node.dims, strict=True))
        _collect_factors(found, ref, Fraction(1), DEPTH)
    else:
        _collect(found, ref, Fraction(1), DEPTH)
    return found


def _collect(found: Factors, ref: Ref, e: Fraction, depth: int) -> None:
    node = ref.node
    match node:
        case Product() if depth and node.coefficient and not node.inner:
            if not node.constraints:
                _collect_factors(found, ref, e, depth)
                return
        case Map(function="pow"):
            base, exponent = arguments(ref)
            own = constant_value(exponent.node)
            if own is not None and own.denominator == 1:
                _collect(found, base, e * own, depth)
                return
            if own is not None:
                found.raise_by(base, e * own)
                return
        case Map(function="sqrt"):
            found.raise_by(arguments(ref)[0], e / 2)
            return
        case Map(function="abs") if e.denominator == 1:
            (x,) = arguments(ref)
            found.raise_by(x, e)
            if e % 2:
                found.raise_by(Sign(x), Fraction(1))
            return
        case Map(function="sign"):
            found.raise_by(Sign(arguments(ref)[0]), e)
            return
    found.raise_by(ref, e)


def _collect_factors(found: Factors, ref: Ref, e: Fraction, depth: int) -> None:
    """The factors of a product to a whole power."""
    assert isinstance(ref.node, Product)
    if not has_exact_power(ref.node.coefficient, e):
        found.raise_by(ref, e)
        return
    found.coefficient *= ref.node.coefficient**e.numerator
    for factor in ref.node.factors:
        _collect(found, factor.under(ref), e, depth - 1)


def _is(ref: Base, function: str) -> TypeGuard[Ref]:
    return isinstance(ref, Ref) and is_map(ref, function)


def _built(
    graph: Graph, like: Factors, coefficient: Fraction, powers: Powers, *more: Ref
) -> Term:
    """A term with the constraints of another."""
    powers = _signs_joined(graph, powers)
    refs = [*(_power(graph, ref, e) for ref, e in powers.items()), *more]
    labels = tuple(sorted({*like.sizes, *(x for ref in refs for x in ref.labels)}))
    node = graph.product(labels, refs, constraints=like.constraints, sizes=like.sizes)
    return Term(coefficient, node, labels)


def _signs_joined(graph: Graph, powers: Powers) -> Powers:
    """Write x * sign(x) as abs(x), which was taken apart to be compared."""
    joined = Factors(Fraction(1), dict(powers))
    for ref, e in powers.items():
        if isinstance(ref, Sign) and e == 1 and powers.get(ref.value, 0) >= 1:
            joined.raise_by(ref, Fraction(-1))
            joined.raise_by(ref.value, Fraction(-1))
            joined.raise_by(apply(graph, "abs", ref.value), Fraction(1))
    return joined.powers


def _power(graph: Graph, ref: Base, e: Fraction) -> Ref:
    if isinstance(ref, Sign):
        ref = apply(graph, "sign", ref.value)
    if e == 1:
        return ref
    if e.denominator == 2:
        root = apply(graph, "sqrt", ref)
        return root if e == Fraction(1, 2) else power(graph, root, 2 * e)
    return power(graph, ref, e)


def _difference(first: Factors, second: Factors) -> Powers:
    """The powers of one product over another."""
    found = dict(first.powers)
    for ref, e in second.powers.items():
        own = found.get(ref)
        if own == e:  # most of what two terms of a derivative have
            del found[ref]
        else:
            found[ref] = -e if own is None else own - e
    return found


# Rules of two terms


def _rest(
    graph: Graph, first: Factors, second: Factors, difference: Powers
) -> Term | None:
    """c * A + c * A * erf(t) = c * A * erfc(-t), and the same with minus.

    Likewise c * A - c * A * ndtr(t) = c * A * ndtr(-t).
    """
    if len(difference) != 1 or abs(second.coefficient) != abs(first.coefficient):
        return None
    ((ref, e),) = difference.items()
    if e != -1 or not (_is(ref, "erf") or _is(ref, "ndtr")):
        return None
    (t,) = arguments(ref)
    adds, negative = second.coefficient == first.coefficient, times(
        graph, t, coefficient=-1
    )
    if _is(ref, "erf"):
        rest = apply(graph, "erfc", negative if adds else t)
    elif not adds:
        rest = apply(graph, "ndtr", negative)
    else:
        return None
    return _built(graph, first, first.coefficient, first.powers, rest)


def _opposite(
    graph: Graph, first: Factors, second: Factors, difference: Powers
) -> Term | None:
    """c * A * sigmoid(t) - c * A * sigmoid(-t) = c * A * tanh(t / 2)."""
    if len(difference) != 2 or first.coefficient != -second.coefficient:
        return None
    if sorted(difference.values()) != [-1, 1]:
        return None
    plus, minus = sorted(difference, key=lambda ref: -difference[ref])
    if not _is(plus, "sigmoid") or not _is(minus, "sigmoid"):
        return None
    (t,), (u,) = arguments(plus), arguments(minus)
    if times(graph, t, coefficient=-1) != times(graph, u):
        return None
    common = Factors(first.coefficient, dict(second.powers))
    common.raise_by(minus, Fraction(-1))
    if isinstance(t.node, Product) and t.node.coefficient < 0:
        t, common.coefficient = u, -common.coefficient
    rest = apply(graph, "tanh", times(graph, t, coefficient=Fraction(1, 2)))
    return _built(graph, first, common.coefficient, common.powers, rest)


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
    scale = [_power(graph, base, -e) for base, e in count.powers.items()]
    means = [times(graph, ref, *scale, coefficient=count.coefficient) for ref in parts]
    centered = [
        total(graph, [(1, _entry(graph, part)), (-1, mean)])
        for part, mean in zip(summands, means, strict=True)
    ]
    left, right = centered[0], centered[-1]
    alike = left == right
    pair = power(graph, left, 2) if alike else times(graph, left, right)
    labels = tuple(label for label in pair.labels if label < _INNER)
    found = Ref(graph.product(labels, [pair]), labels)
    rest = {base: e for base, e in first.powers.items() if base != whole}
    return _built(graph, first, first.coefficient, rest, found)


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
        _collect(found, factor.under(Ref(node, labels)), Fraction(1), DEPTH)
    return found


def _is_within(summand: Factors) -> bool:
    """Whether nothing could be taken out of the sum."""
    refs = (x.value if isinstance(x, Sign) else x for x in summand.powers)
    return all(max(ref.labels, default=0) >= _INNER for ref in refs)


def _entry(graph: Graph, summand: Factors) -> Ref:
    powers = [_power(graph, base, e) for base, e in summand.powers.items()]
    return times(graph, *powers, coefficient=summand.coefficient)


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
) -> Term | None:
    """c * A * b**p - c * A * u * b**(p - 1) = c * A * (b - u) * b**(p - 1), p not 1."""
    for base, e in difference.items():
        if e != 1 or not isinstance(base, Ref) or not isinstance(base.node, Sum):
            continue
        if not second.powers.get(base, 0):
            continue
        extra = {ref: -d for ref, d in difference.items() if ref != base}
        rest = _without(graph, base, extra, -second.coefficient / first.coefficient)
        if rest is not None and all(d > 0 for d in extra.values()):
            common = {r: d for r, d in second.powers.items() if r not in extra}
            for ref, d in extra.items():
                left = second.powers.get(ref, Fraction(0)) - d
                common.update({ref: left} if left else {})
            return _built(graph, first, first.coefficient, common, rest)
    return None


def _without(graph: Graph, base: Ref, powers: Powers, scale: Fraction) -> Ref | None:
    """A sum without the term that is `scale` times a product of powers."""
    assert isinstance(base.node, Sum)
    for k, term in enumerate(base.node.terms):
        found = factors_of(term.ref.under(base), term.coefficient)
        if found is None or found.constraints:
            continue
        if found.powers == powers and found.coefficient == scale:
            rest = [t for n, t in enumerate(base.node.terms) if n != k]
            return total(graph, [(t.coefficient, t.ref.under(base)) for t in rest])
    return None
