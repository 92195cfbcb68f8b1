"""How a value is read as a selection by the place of an operand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Map, Node, Product, Ref, topological
from tensorgen.operators.conditions.bounds import is_unsafe
from tensorgen.operators.elementwise import ELEMENTWISE
from tensorgen.operators.matrices.definite import sign
from tensorgen.operators.scalar import apply, operands, times, total
from tensorgen.operators.stable.match import (
    arguments,
    elementwise_factors,
    is_condition,
    is_map,
)
from tensorgen.passes.scalars.polynomials import (
    DEPTH_OF_POLYNOMIALS,
    depends,
    remade,
    replaced,
    vanishes,
)


class Side(NamedTuple):
    """What a selection is beyond a bound."""

    bound: Ref
    value: Ref


class Pieces(NamedTuple):
    """A selection by the place of x; it is `value` between what is below and above.

    Where x is NaN, it is `other`. Of a `size`
    and a factor, it is the factor times what it would be with the size for x.
    """

    x: Ref
    value: Ref
    below: Side | None
    above: Side | None
    other: Ref
    size: tuple[Ref, Ref] | None = None

    @property
    def sides(self) -> list[Side]:
        """What is beyond the bounds that there are."""
        return [side for side in (self.below, self.above) if side is not None]


class Cut(NamedTuple):
    """A selection by one comparison: below the bound, above it, and where x is NaN."""

    x: Ref
    bound: Ref
    lower: Ref
    upper: Ref
    other: Ref


def decided(graph: Graph, whole: Ref) -> Ref:
    """A selection whose branches do not ask again what it has asked.

    where(m, f(where(m, a, b)), c) = where(m, f(a), c), if f may be of any number.
    """
    condition, *branches = arguments(whole)
    opposite = apply(graph, "logical_not", condition)
    pairs = ((condition, opposite), (opposite, condition))
    parts = [
        _under(graph, branch, *pair)
        for branch, pair in zip(branches, pairs, strict=True)
    ]
    return whole if parts == branches else apply(graph, "where", condition, *parts)


def _under(graph: Graph, branch: Ref, holds: Ref, fails: Ref) -> Ref:
    """What a branch is where one condition holds, and its opposite does not."""
    memo: dict[Ref, Ref] = {}

    def visit(ref: Ref, depth: int) -> Ref:
        if ref not in memo:
            memo[ref] = made(ref, depth)
        return memo[ref]

    def made(ref: Ref, depth: int) -> Ref:
        if is_map(ref, "where"):
            condition, one, two = arguments(ref)
            if condition in (holds, fails):
                return visit(one if condition == holds else two, depth)
        parts = operands(ref)
        if parts is None or not depth:
            return ref
        if isinstance(ref.node, Map) and is_unsafe(ref.node, None, varies=True):
            return ref
        args = [visit(part, depth - 1) for part in parts]
        return ref if args == parts else remade(graph, ref.node, args)

    return visit(branch, DEPTH_OF_POLYNOMIALS)


def _choices(graph: Graph, whole: Ref) -> Iterator[tuple[Ref, Ref, Ref]]:
    """The ways in which a value is one of two by a condition; a factor is one, too."""
    node, zero = whole.node, Ref(graph.constant(0), ())
    if is_map(whole, "where"):
        condition, one, two = arguments(whole)
        yield condition, one, two
    if not isinstance(node, Product) or node.inner or node.constraints:
        return
    coefficient, factors = elementwise_factors(whole)
    for k, factor in enumerate(factors):
        if is_condition(factor):
            rest = factors[:k] + factors[k + 1 :]
            one = times(graph, *rest, coefficient=coefficient)
            if is_map(factor, "logical_not"):
                yield arguments(factor)[0], zero, one
            else:
                yield factor, one, zero


def _cuts(graph: Graph, whole: Ref) -> Iterator[Cut]:
    """The ways to read a value as a selection by one comparison."""
    for condition, *branches in _choices(graph, whole):
        if not isinstance(condition.node, Map):
            continue
        symbol = ELEMENTWISE[condition.node.function].numpy[4:-4]
        if symbol not in ("<", "<=", ">", ">="):
            continue
        turned, strict = symbol[0] == ">", len(symbol) == 1
        one, two = arguments(condition)
        for x, bound, low in ((one, two, not turned), (two, one, turned)):
            z = arguments(x)[0] if is_map(x, "abs") else x
            varies = any(depends(branch, z) for branch in branches)
            if x.labels and varies and not depends(bound, z):
                parts = list(branches)
                k = 0 if strict else 1
                parts[k] = _stepless(graph, branches[k], x, bound, low == strict)
                lower, upper = parts if low else parts[::-1]
                yield Cut(x, bound, lower, upper, parts[1])


def _stepless(graph: Graph, branch: Ref, x: Ref, bound: Ref, is_lower: bool) -> Ref:
    """A branch that the bound is no part of: steps at it are known there."""
    if not any(is_map(Ref(one, ()), "step") for one in topological([branch.node])):
        return branch
    known = {x: x}
    for k in (1, -1):
        step = apply(graph, "step", total(graph, [(k, bound), (-k, x)]))
        known[step] = Ref(graph.constant(int(is_lower == (k == 1))), ())
    found = replaced(graph, branch, known, x)
    return branch if found is None or not depends(found, x) else found


def readings(
    graph: Graph, whole: Ref, before: Mapping[Node, Node] | None = None
) -> list[Pieces]:
    """The ways to read a selection by the place of x, those with two bounds first.

    With what was there `before`, selections within it are read, too.
    """
    found: list[Pieces] = []
    for cut in _cuts(graph, whole):
        x, bound, lower, upper, other = cut
        if is_map(x, "abs"):
            known = sign(bound.node)
            found += [_around(graph, cut)] if known else _by_size(graph, cut)
        if before is not None:
            found += _nested(graph, cut, before)
        found.append(Pieces(x, upper, Side(bound, lower), None, other))
        found.append(Pieces(x, lower, None, Side(bound, upper), other))
    return sorted(found, key=lambda p: p.below is None or p.above is None)


def _around(graph: Graph, cut: Cut) -> Pieces:
    """A selection by `abs(z)`."""
    (z,) = arguments(cut.x)
    sides = []
    for k in (-1, 1):
        known = {
            z: z,
            cut.x: times(graph, z, coefficient=k),
            apply(graph, "sign", z): Ref(graph.constant(k), ()),
        }
        value = replaced(graph, cut.upper, known, z) or cut.upper
        sides.append(Side(times(graph, cut.bound, coefficient=k), value))
    return Pieces(z, cut.lower, sides[0], sides[1], cut.other)


def _by_size(graph: Graph, cut: Cut) -> Iterator[Pieces]:
    """A selection by `abs(z)` of what is even or odd, where the bound has no sign."""
    x, (z,) = cut.x, arguments(cut.x)
    turn, one = apply(graph, "sign", z), Ref(graph.constant(1), ())
    turned = {x: x, z: times(graph, z, coefficient=-1)}
    turned[turn] = times(graph, turn, coefficient=-1)
    sides = (cut.lower, cut.upper)
    others = [replaced(graph, side, turned, z) for side in sides]
    for factor in (None, turn):
        # As if z were its size, with its sign apart.
        known = {x: z, z: z} if factor is None else {x: z, z: z, turn: one}
        lower, upper = (replaced(graph, side, known, z) for side in sides)
        if lower is None or upper is None or None in others:
            continue
        scale = -1 if factor is None else 1
        pairs = [(a, b) for a, b in zip(sides, others, strict=True) if b is not None]
        if all(vanishes(total(graph, [(1, a), (scale, b)])) for a, b in pairs):
            other = upper if cut.other == cut.upper else lower
            if factor is not None:
                other = times(graph, z, other)  # NaN is the sign of NaN
            beyond = Side(cut.bound, upper)
            yield Pieces(z, lower, None, beyond, other, (x, factor or one))


def _nested(graph: Graph, cut: Cut, before: Mapping[Node, Node]) -> Iterator[Pieces]:
    """A selection with another one by the same x on one side of its bound."""
    x, bound, lower, upper, other = cut
    for is_upper, branch in enumerate((lower, upper)):
        inner = Ref(before.get(branch.node, branch.node), branch.labels)
        for p in readings(graph, inner):
            own = p.other if branch == other else other
            if p.x != x:
                continue
            if is_upper and p.below is None:
                yield Pieces(x, p.value, Side(bound, lower), p.above, own)
            if not is_upper and p.above is None:
                yield Pieces(x, p.value, p.below, Side(bound, upper), own)
