"""Terms of sums as products of powers, by which they are compared.

Products within products are opened, and roots, absolute values and signs are powers
of what they are taken of: `2 * (x / p)` is `(2 * x) / p`.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import NamedTuple

from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import (
    Constraint,
    Map,
    Node,
    Product,
    Ref,
    Term,
    constant_value,
    once,
)
from tensorgen.operators.scalar import apply, has_exact_power, power, times
from tensorgen.operators.stable.match import arguments

ONE = Fraction(1)

DEPTH_OF_FACTORS = 4
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
        own = self.powers.get(ref)
        whole = e if own is None else own + e
        if whole:
            self.powers[ref] = whole
        else:
            self.powers.pop(ref, None)


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
    """The factors of a term, to be read alone; None where it sums over something."""
    # Sums share terms, and each is compared with others: two times in three.
    own = once(ref.node, (factors_of, ref.labels), lambda: _factors(ref))
    if own is None or coefficient == 1:
        return own
    return replace(own, coefficient=coefficient * own.coefficient)


def _factors(ref: Ref) -> Factors | None:
    node, labels = ref
    found = Factors(ONE)
    if isinstance(node, Product) and node.constraints:
        if node.inner:
            return None
        at = labels.__getitem__
        found.constraints = tuple(c.renamed(at) for c in node.constraints)
        found.sizes = dict(zip(labels, node.dims, strict=True))
        _collect_factors(found, ref, ONE, DEPTH_OF_FACTORS)
    else:
        collect(found, ref, ONE, DEPTH_OF_FACTORS)
    return found


def collect(
    found: Factors, ref: Ref, e: Fraction, depth: int, whole: Container[Node] = ()
) -> None:
    """Multiply by a value to a power, opened as far as its depth goes.

    Nodes that are `whole` are not opened.
    """
    node = ref.node
    if node in whole:
        found.raise_by(ref, e)
        return
    match node:
        case Product() if depth and node.coefficient and not node.inner:
            if not node.constraints:
                _collect_factors(found, ref, e, depth, whole)
                return
        case Map(function="pow"):
            base, exponent = arguments(ref)
            own = constant_value(exponent.node)
            if own is not None and own.denominator == 1:
                collect(found, base, e * own, depth, whole)
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


def _collect_factors(
    found: Factors, ref: Ref, e: Fraction, depth: int, whole: Container[Node] = ()
) -> None:
    """The factors of a product to a whole power."""
    assert isinstance(ref.node, Product)
    coefficient = ref.node.coefficient
    if coefficient != 1:
        if not has_exact_power(coefficient, e):
            found.raise_by(ref, e)
            return
        found.coefficient *= coefficient**e.numerator
    for factor in ref.node.factors:
        collect(found, factor.under(ref), e, depth - 1, whole)


def built(
    graph: Graph, like: Factors, coefficient: Fraction, powers: Powers, *more: Ref
) -> Term:
    """A term with the constraints of another."""
    powers = _signs_joined(graph, powers)
    refs = [*(raised(graph, ref, e) for ref, e in powers.items()), *more]
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


def raised(graph: Graph, ref: Base, e: Fraction) -> Ref:
    """A base to a power, as it is written."""
    if isinstance(ref, Sign):
        ref = apply(graph, "sign", ref.value)
    if e == 1:
        return ref
    if e.denominator == 2:
        root = apply(graph, "sqrt", ref)
        return root if e == Fraction(1, 2) else power(graph, root, 2 * e)
    return power(graph, ref, e)


def opened(graph: Graph, factors: Iterable[Ref]) -> Ref:
    """The product of factors, each of which is opened."""
    found = Factors(ONE)
    for factor in factors:
        collect(found, factor, ONE, DEPTH_OF_FACTORS)
    return multiplied(graph, found)


def multiplied(graph: Graph, found: Factors) -> Ref:
    """The product that factors are of."""
    refs = [raised(graph, base, e) for base, e in found.powers.items()]
    return times(graph, *refs, coefficient=found.coefficient)


def over(first: Factors, second: Factors) -> Powers:
    """The powers of one product over another."""
    found = dict(first.powers)
    for ref, e in second.powers.items():
        own = found.get(ref)
        if own == e:  # most of what two terms of a derivative have
            del found[ref]
        else:
            found[ref] = -e if own is None else own - e
    return found
