"""Selections whose branches meet are functions of clipped arguments.

    where(x <= b, f(x), s * x + k) = f(t) + s * (x - t)    with t = minimum(x, b)

if f(b) = s * b + k, and likewise below a bound, or beyond two: `abs(x) <= c` has -c for
the other one. On the near side of the bound x - t is exactly 0, and f never sees what
lies beyond. A clip is one pass over memory, where a selection by a mask that nobody can
predict waits for a branch at each entry. Derivatives are stated by then: a minimum
would share them among equals, a selection does not. No pattern: that branches meet at a
bound is computed.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from fractions import Fraction
from types import MappingProxyType
from typing import NamedTuple

from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Node, Product, Ref, children, constant_value, topological
from tensorgen.ir.rebuild import rebuild, with_factors
from tensorgen.operators.matrices.definite import sign
from tensorgen.operators.scalar import apply, times, total
from tensorgen.operators.stable.match import negative
from tensorgen.operators.stable.rules import fit
from tensorgen.passes.context import Context
from tensorgen.passes.scalars.polynomials import (
    affine,
    beside,
    depends,
    replaced,
    square,
    vanishes,
)
from tensorgen.passes.scalars.selections import Pieces, Side, readings


class Line(NamedTuple):
    """`slope * x + k` beyond a bound, which `keeps` digits if 0 is not there."""

    bound: Ref
    slope: Ref
    keeps: bool

    @property
    def is_level(self) -> bool:
        """Whether it is a constant."""
        return constant_value(self.slope.node) == 0


def clip_selections(context: Context, roots: Sequence[Node]) -> list[Node]:
    """Return `roots` with clips in place of selections whose branches meet.

    Ends: each selection is looked at once, alone and within another.
    """
    graph = context.graph
    before: dict[Node, Node] = {}  # selections, by what has been made of them
    made: set[Node] = set()

    def visit(node: Node) -> Node:
        if isinstance(node, Product) and node.inner:
            return _opened(graph, node, made)
        bounded = fit(graph, "clips", Ref(node, tuple(range(node.order))))
        found = bounded.whole(graph) if bounded else _clipped(graph, node, before)
        if found is None:
            return node
        sizes = dict(enumerate(node.dims))
        new = graph.product(range(node.order), [found], sizes=sizes)
        before[new] = node
        if isinstance(new, Product):
            # Coefficients move to whoever sums.
            made.add(graph.product(range(new.order), new.factors, sizes=sizes))
        return new

    # Who reads a selection would see the exponentials that it has hidden.
    return rebuild(graph, roots, visit, plain=True)


def _opened(
    graph: Graph,
    node: Product,
    made: Collection[Node],
    before: Mapping[Node, Node] = MappingProxyType({}),
) -> Node:
    """A product of what has been made, or was there `before`, as one of its factors."""
    factors: list[Ref] = []
    for ref in node.factors:
        match before.get(ref.node, ref.node) if ref.node in made else None:
            case Product(coefficient=1, factors=own, inner=(), constraints=()):
                factors += [factor.under(ref) for factor in own]
            case _:
                factors.append(ref)
    return with_factors(graph, node, factors)


def _clipped(graph: Graph, node: Node, before: Mapping[Node, Node]) -> Ref | None:
    found = _as_selection(graph, node, before)
    if found is None and isinstance(node, Product):
        # By a clip that x itself multiplies, which may be infinite: 0 beside it is 0.
        earlier = _opened(graph, node, before.keys(), before)
        found = None if earlier is node else _as_selection(graph, earlier, before)
    return found


def _as_selection(graph: Graph, node: Node, before: Mapping[Node, Node]) -> Ref | None:
    for pieces in readings(graph, Ref(node, tuple(range(node.order))), before):
        found = _joined(graph, pieces)
        if found is not None and pieces.size is not None:
            size, factor = pieces.size
            found = replaced(graph, found, {pieces.x: size}, pieces.x)
            found = found and times(graph, factor, found)
        if found is not None:
            return found
    return None


def _joined(graph: Graph, p: Pieces) -> Ref | None:
    """The selection by the clipped x; None where branches do not meet."""
    below = _line(graph, p, p.below, -1) if p.below else None
    above = _line(graph, p, p.above, 1) if p.above else None
    lines = [line for line in (below, above) if line is not None]
    if len(lines) < len(p.sides) or not _reads_alike(graph, p):
        return None
    if below and above and not sign(_difference(graph, above.bound, below.bound).node):
        return None
    t = _clip(graph, p, below, above)
    inside = t and replaced(graph, p.value, {p.x: t}, p.x)
    if t is None or inside is None:
        return None
    rising = [line for line in lines if not line.is_level]
    curve = square(graph, p.value, p.x)
    if curve and len(rising) == len(lines):
        slopes = [times(graph, curve, x.bound, coefficient=2) for x in lines]
        pairs = zip(slopes, lines, strict=True)
        if all(vanishes(_difference(graph, s, line.slope)) for s, line in pairs):
            # A square that goes on with its slope, a * t**2 + 2 * a * t * (x - t).
            rest = total(graph, [(1, p.x), (-Fraction(1, 2), t)])
            return times(graph, curve, t, rest, coefficient=2)
    inner = beside(p.value, p.x)
    if not all(x.keeps and beside(x.slope, p.x) <= inner for x in rising):
        return None
    if below and above and rising and below.slope == negative(graph, above.slope):
        gap = apply(graph, "abs", _difference(graph, p.x, t))
        return total(graph, [(1, inside), (1, times(graph, above.slope, gap))])
    zero = Ref(graph.constant(0), ())
    parts = [(1, inside)]
    for line in rising:
        away = _difference(graph, p.x, line.bound)
        function = "maximum" if line is above else "minimum"
        beyond = apply(graph, function, away, zero)
        parts.append((1, times(graph, line.slope, beyond)))
    return total(graph, parts)


def _reads_alike(graph: Graph, p: Pieces) -> bool:
    """Whether beyond a bound nothing is read that was not: it may be NaN there.

    What is made of a bound alone is finite where the bound is. One that leaves 0 inside
    leaves all inside where it is infinite.
    """
    inside = beside(p.value, p.x)
    for k, side in ((-1, p.below), (1, p.above)):
        others = inside - beside(side.value, p.x) if side else ()
        known: set[Node] = set()
        if side and sign(times(graph, side.bound, coefficient=k).node):
            known = set(topological([side.bound.node]))
        read = [x for x in topological(others) if not children(x)]
        if not all(x in known or constant_value(x) is not None for x in read):
            return False
    return True


def _line(graph: Graph, p: Pieces, side: Side, k: int) -> Line | None:
    """What is above (k = 1) or below a bound, if it is a line that meets the rest."""
    if depends(side.bound, p.x):
        return None
    found = affine(graph, side.value, p.x)
    if found is None:
        return None
    slope, const = found
    near = replaced(graph, p.value, {p.x: side.bound}, p.x)
    if near is None:
        return None
    far = total(graph, [(1, times(graph, slope, side.bound)), (1, const)])
    if not vanishes(_difference(graph, near, far)):
        return None
    # What is far from 0 must not be subtracted from what is near.
    away = times(graph, side.bound, coefficient=k)
    return Line(side.bound, slope, bool(sign(away.node)))


def _clip(
    graph: Graph, p: Pieces, below: Line | None, above: Line | None
) -> Ref | None:
    """The x between its bounds, which is NaN only where the selection would be."""
    lines = [line for line in (below, above) if line is not None]
    # What is compared with NaN is selected like what lies elsewhere.
    for line in lines:
        if not (depends(p.other, line.bound) or _is_number(graph, line.bound)):
            return None
    if depends(p.other, p.x):
        if below and above:
            return apply(graph, "clamp", p.x, below.bound, above.bound)
        return apply(graph, "maximum" if below else "minimum", p.x, lines[0].bound)
    # NaN goes first where it has been selected as a constant.
    ways = [("fmax", "maximum", p.below), ("fmin", "minimum", p.above)]
    ways.sort(key=lambda way: way[2] is None or way[2].value != p.other)
    (function, _, first), (_, then, last) = ways
    if first is None or first.value != p.other or not _is_number(graph, first.bound):
        return None
    if not all(line.is_level for line in lines):
        return None
    t = apply(graph, function, p.x, first.bound)
    return apply(graph, then, t, last.bound) if last else t


def _is_number(graph: Graph, bound: Ref) -> bool:
    """Whether a bound is never NaN: it is stated, or promised to have a sign."""
    return any(sign(x.node) for x in (bound, negative(graph, bound)))


def _difference(graph: Graph, one: Ref, two: Ref) -> Ref:
    return total(graph, [(1, one), (-1, two)])
