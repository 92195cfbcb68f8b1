"""What elementwise expressions are in one of their operands: lines, squares, zero."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Map, Node, Product, Ref, Sum, children, constant_value
from tensorgen.operators.scalar import apply, times, total
from tensorgen.operators.stable.match import (
    arguments,
    as_power,
    elementwise_factors,
    is_map,
)

MOST_TERMS = 64
"""What has more terms when it is multiplied out is not compared."""

Monomial = frozenset[tuple[Ref, Fraction]]
"""A product of powers."""


def depends(ref: Ref, x: Ref) -> bool:
    """Whether x is among what a value is made of."""
    waiting, seen = [ref.node], {ref.node}
    while waiting:
        node = waiting.pop()
        if node is x.node:
            return True
        # What was made before x is not made of it.
        new = [c for c in children(node) if c.serial >= x.node.serial]
        waiting += [c for c in new if c not in seen]
        seen.update(new)
    return False


def beside(ref: Ref, x: Ref) -> frozenset[Node]:
    """What a value reads beside x, but for numbers.

    Sums and products are as finite as what they are made of: they are looked through.
    """
    if ref == x or constant_value(ref.node) is not None:
        return frozenset()
    is_open = depends(ref, x) or isinstance(ref.node, Sum | Product)
    parts = _operands(ref) if is_open else None
    if parts is None:
        return frozenset([ref.node])
    return frozenset[Node]().union(*(beside(part, x) for part in parts))


def replaced(graph: Graph, ref: Ref, known: Mapping[Ref, Ref], x: Ref) -> Ref | None:
    """A value with others for `known` operands; None if x is read otherwise."""
    if ref in known:
        return known[ref]
    if not depends(ref, x):
        return ref
    node = ref.node
    parts = _operands(ref)
    if parts is None:
        return None
    found = [replaced(graph, part, known, x) for part in parts]
    args = [part for part in found if part is not None]
    if len(args) < len(parts):
        return None
    if isinstance(node, Sum):
        pairs = zip(node.terms, args, strict=True)
        return total(graph, [(term.coefficient, part) for term, part in pairs])
    if isinstance(node, Product):
        return times(graph, *args, coefficient=node.coefficient)
    assert isinstance(node, Map)
    return _mapped(graph, node.function, args)


def _mapped(graph: Graph, function: str, args: Sequence[Ref]) -> Ref:
    """A function of new arguments; the larger or smaller one where it is known."""
    if function in ("minimum", "maximum"):
        one, two = args
        values = [constant_value(arg.node) for arg in args]
        if one == two or (is_map(one, function) and two in arguments(one)):
            return one
        if values[0] is not None and values[1] is not None:
            first = (
                values[0] <= values[1]
                if function == "minimum"
                else values[0] >= values[1]
            )
            return one if first else two
    return apply(graph, function, *args)


def _operands(ref: Ref) -> list[Ref] | None:
    """The operands of what is made entry by entry, in the labels of its use."""
    node = ref.node
    if isinstance(node, Sum):
        return [term.ref.under(ref) for term in node.terms]
    if isinstance(node, Product) and not (node.inner or node.constraints):
        return [factor.under(ref) for factor in node.factors]
    if isinstance(node, Map):
        return [arg.under(ref) for arg in node.args]
    return None


def affine(graph: Graph, ref: Ref, x: Ref) -> tuple[Ref, Ref] | None:
    """The s and k of what is `s * x + k`, neither of which reads x."""
    zero, one = (Ref(graph.constant(k), ()) for k in (0, 1))
    if ref == x:
        return one, zero
    if not depends(ref, x):
        return zero, ref
    node, parts = ref.node, _operands(ref)
    if parts is None or isinstance(node, Map):
        return None
    if isinstance(node, Product):
        inner = [part for part in parts if depends(part, x)]
        found = affine(graph, inner[0], x) if len(inner) == 1 else None
        if found is None:
            return None
        rest = [part for part in parts if part != inner[0]]
        scale = times(graph, *rest, coefficient=node.coefficient)
        return times(graph, scale, found[0]), times(graph, scale, found[1])
    assert isinstance(node, Sum)
    lines = [affine(graph, part, x) for part in parts]
    known = [line for line in lines if line is not None]
    if len(known) < len(lines):
        return None
    both = list(zip(node.terms, known, strict=True))
    slope = total(graph, [(term.coefficient, s) for term, (s, _) in both])
    return slope, total(graph, [(term.coefficient, k) for term, (_, k) in both])


def square(graph: Graph, ref: Ref, x: Ref) -> Ref | None:
    """The a of what is `a * x**2`."""
    coefficient, factors = elementwise_factors(ref)
    if isinstance(ref.node, Sum):
        return None
    own = [factor for factor in factors if depends(factor, x)]
    if [as_power(factor) for factor in own] != [(x, Fraction(2))]:
        return None
    rest = [factor for factor in factors if factor not in own]
    return times(graph, *rest, coefficient=coefficient)


def vanishes(ref: Ref) -> bool:
    """Whether a value is 0, as a polynomial of what it is made of."""
    found = _expanded(ref)
    return found is not None and not any(found.values())


def _expanded(ref: Ref) -> dict[Monomial, Fraction] | None:
    """A value multiplied out; None where that has many terms."""
    node, value = ref.node, constant_value(ref.node)
    found: dict[Monomial, Fraction] = {}
    if value is not None:
        return {frozenset(): value}
    if isinstance(node, Sum):
        for term in node.terms:
            inner = _expanded(term.ref.under(ref))
            for key, c in (inner or {}).items():
                found[key] = found.get(key, Fraction(0)) + term.coefficient * c
            if inner is None or len(found) > MOST_TERMS:
                return None
        return found
    if isinstance(node, Product) and not (node.inner or node.constraints):
        found = {frozenset(): node.coefficient}
        for factor in node.factors:
            own = _expanded(factor.under(ref))
            if own is None or len(own) * len(found) > MOST_TERMS:
                return None
            found = _multiplied(found, own)
        return found
    base, exponent = as_power(ref)
    whole = exponent.denominator == 1 and 1 < exponent <= 4
    inner = _expanded(base) if whole else None
    if inner is None:
        return {frozenset([(base, exponent)]): Fraction(1)}
    found = {frozenset(): Fraction(1)}
    for _ in range(int(exponent)):
        if len(inner) * len(found) > MOST_TERMS:
            return None
        found = _multiplied(found, inner)
    return found


def _multiplied(
    one: Mapping[Monomial, Fraction], two: Mapping[Monomial, Fraction]
) -> dict[Monomial, Fraction]:
    found: dict[Monomial, Fraction] = {}
    for a, x in one.items():
        for b, y in two.items():
            powers = dict(a)
            for base, exponent in b:
                powers[base] = powers.get(base, Fraction(0)) + exponent
            key = frozenset((base, e) for base, e in powers.items() if e)
            found[key] = found.get(key, Fraction(0)) + x * y
    return found
