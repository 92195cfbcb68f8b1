"""What elementwise expressions are in one of their operands: lines, squares, zero."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Map, Node, Product, Ref, Sum, children, constant_value
from tensorgen.operators.scalar import apply, operands, times, total
from tensorgen.operators.stable.match import (
    arguments,
    as_power,
    elementwise_factors,
    is_map,
)

DEPTH_OF_POLYNOMIALS = 24
"""How many operands within operands are looked at."""

MOST_TERMS = 64
"""What has more terms when it is multiplied out is not compared."""

Monomial = frozenset[tuple[Ref, Fraction]]
"""A product of powers."""

Polynomial = Mapping[Monomial, Fraction]


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
    found: set[Node] = set()
    level = [ref]
    for depth in range(DEPTH_OF_POLYNOMIALS + 1):
        below: dict[Ref, None] = {}
        for one in level:
            if one == x or constant_value(one.node) is not None:
                continue
            is_open = depends(one, x) or isinstance(one.node, Sum | Product)
            parts = operands(one) if is_open and depth < DEPTH_OF_POLYNOMIALS else None
            below.update(dict.fromkeys(parts or ()))
            if parts is None:
                found.add(one.node)
        level = [*below]
    return frozenset(found)


def replaced(graph: Graph, ref: Ref, known: Mapping[Ref, Ref], x: Ref) -> Ref | None:
    """A value with others for `known` operands; None if x is read otherwise."""
    memo: dict[Ref, Ref | None] = dict(known)

    def visit(ref: Ref, depth: int) -> Ref | None:
        if ref not in memo:
            memo[ref] = rebuilt(ref, depth) if depends(ref, x) else ref
        return memo[ref]

    def rebuilt(ref: Ref, depth: int) -> Ref | None:
        node, parts = ref.node, operands(ref)
        if parts is None or not depth or node is x.node:
            return None  # at other entries, it may be
        found = [visit(part, depth - 1) for part in parts]
        args = [part for part in found if part is not None]
        return remade(graph, node, args) if len(args) == len(parts) else None

    return visit(ref, DEPTH_OF_POLYNOMIALS)


def remade(graph: Graph, node: Node, args: Sequence[Ref]) -> Ref:
    """The elementwise operation that a node is, of other operands."""
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
        if one == two or (is_map(one, function) and two in arguments(one)):
            return one
        x, y = (constant_value(arg.node) for arg in args)
        if x is not None and y is not None:
            return one if (x <= y) == (function == "minimum") else two
    return apply(graph, function, *args)


def affine(graph: Graph, ref: Ref, x: Ref) -> tuple[Ref, Ref] | None:
    """The s and k of what is `s * x + k`, neither of which reads x."""
    zero, one = (Ref(graph.constant(k), ()) for k in (0, 1))
    memo: dict[Ref, tuple[Ref, Ref] | None] = {x: (one, zero)}

    def visit(ref: Ref, depth: int) -> tuple[Ref, Ref] | None:
        if ref not in memo:
            memo[ref] = line(ref, depth) if depends(ref, x) else (zero, ref)
        return memo[ref]

    def line(ref: Ref, depth: int) -> tuple[Ref, Ref] | None:
        node, parts = ref.node, operands(ref)
        if parts is None or not depth or node is x.node:
            return None  # at other entries, it may be
        if isinstance(node, Sum):
            known = [visit(part, depth - 1) for part in parts]
            lines = [each for each in known if each is not None]
            if len(lines) < len(known):
                return None
            both = list(zip(node.terms, lines, strict=True))
            slope = total(graph, [(term.coefficient, s) for term, (s, _) in both])
            return slope, total(graph, [(term.coefficient, k) for term, (_, k) in both])
        inner = [part for part in parts if depends(part, x)]
        if not isinstance(node, Product) or len(inner) > 1:
            return None
        found = visit(inner[0], depth - 1)
        rest = [part for part in parts if part != inner[0]]
        scale = times(graph, *rest, coefficient=node.coefficient)
        return found and (times(graph, scale, found[0]), times(graph, scale, found[1]))

    return visit(ref, DEPTH_OF_POLYNOMIALS)


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
    memo: dict[Ref, Polynomial | None] = {}

    def expanded(ref: Ref, depth: int) -> Polynomial | None:
        """A value multiplied out; None where that has many terms."""
        if ref not in memo:
            memo[ref] = made(ref, depth)
        return memo[ref]

    def made(ref: Ref, depth: int) -> Polynomial | None:
        node, value = ref.node, constant_value(ref.node)
        if value is not None:
            return {frozenset(): value}
        if isinstance(node, Sum) and depth:
            parts = [
                _scaled(expanded(term.ref.under(ref), depth - 1), term.coefficient)
                for term in node.terms
            ]
            return _added(parts)
        base, exponent = as_power(ref)
        product: Polynomial | None = {frozenset(): Fraction(1)}
        if isinstance(node, Product) and not (node.inner or node.constraints) and depth:
            product = {frozenset(): node.coefficient}
            factors = [factor.under(ref) for factor in node.factors]
        elif exponent.denominator == 1 and 1 < exponent <= 4 and depth:
            factors = [base] * int(exponent)
        else:
            return {frozenset([(base, exponent)]): Fraction(1)}
        for factor in factors:
            product = _multiplied(product, expanded(factor, depth - 1))
        return product

    found = expanded(ref, DEPTH_OF_POLYNOMIALS)
    return found is not None and not any(found.values())


def _scaled(given: Polynomial | None, scale: Fraction) -> Polynomial | None:
    return None if given is None else {key: scale * c for key, c in given.items()}


def _added(parts: Sequence[Polynomial | None]) -> Polynomial | None:
    found: dict[Monomial, Fraction] = {}
    for part in parts:
        for key, c in (part or {}).items():
            found[key] = found.get(key, Fraction(0)) + c
        if part is None or len(found) > MOST_TERMS:
            return None
    return found


def _multiplied(one: Polynomial | None, two: Polynomial | None) -> Polynomial | None:
    if one is None or two is None or len(one) * len(two) > MOST_TERMS:
        return None
    found: dict[Monomial, Fraction] = {}
    for a, x in one.items():
        for b, y in two.items():
            powers = dict(a)
            for base, exponent in b:
                powers[base] = powers.get(base, Fraction(0)) + exponent
            key = frozenset((base, e) for base, e in powers.items() if e)
            found[key] = found.get(key, Fraction(0)) + x * y
    return found
