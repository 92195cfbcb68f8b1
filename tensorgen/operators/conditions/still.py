"""Where values stand still: beyond a kink, as `maximum(x, 0)` does where x is below 0.

Whatever is a function of such a value has the slope 0 there, be its own slope infinite,
as that of `sqrt(maximum(x, 0))` is: 0 times infinity is no number. So slopes are taken
where the value moves, and of a harmless number elsewhere. At the kink itself both
sides count, as the language says.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from fractions import Fraction
from functools import reduce
from itertools import product
from typing import NamedTuple

from tensorgen.ir.constraints import is_light
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import (
    Input,
    Map,
    Node,
    Product,
    Ref,
    Sum,
    constant_value,
    topological,
)
from tensorgen.ir.vanish import parts
from tensorgen.operators.calls import apply as call
from tensorgen.operators.conditions.bounds import is_harmless, value_of
from tensorgen.operators.elementwise import ELEMENTWISE
from tensorgen.operators.scalar import apply, partial, ref, total

DEPTH_OF_ENDS = 6
"""How many operands within operands are looked at."""


class End(NamedTuple):
    """What a value is where it does not move."""

    moves: Ref
    value: Ref

    def under(self, use: Ref) -> End:
        """The same in the labels of the node's use."""
        return End(self.moves.under(use), self.value.under(use))


_BEYOND = {"relu": "greater", "maximum": "greater_equal", "minimum": "less_equal"}
"""Functions with a flat side, and the condition that is true on the other."""


def slope(graph: Graph, node: Map, place: int, varying: Container[Node]) -> Ref:
    """The derivative of a function by an argument, a number where that stands still."""
    row = ELEMENTWISE[node.function]
    x = node.args[place]
    if row.safe is None or row.safe[0] != place or is_harmless(node, x.node):
        return partial(graph, node, place)
    moved = x
    for end in _ends(graph, x.node, varying, DEPTH_OF_ENDS):
        moves, value = end.under(x)
        if not _has_slope(graph, node, place, value):
            harmless = Ref(graph.constant(row.safe[1]), ())
            moved = apply(graph, "where", moves, moved, harmless)
    return partial(graph, node, place, moved)


def _has_slope(graph: Graph, node: Map, place: int, value: Ref) -> bool:
    """Whether a function surely has a slope where an argument is a value."""
    if is_harmless(node, value.node):
        return True
    return constant_value(partial(graph, node, place, value).node) is not None


def _ends(
    graph: Graph, node: Node, varying: Container[Node], depth: int
) -> Iterator[End]:
    """What a node is where it stands still, in its axes."""

    def of(operand: Ref) -> list[End]:
        found = _ends(graph, operand.node, varying, depth - 1)
        return [end.under(operand) for end in found]

    if node not in varying or not depth:
        return
    match node:
        case Map(function="where"):
            yield from _chosen(graph, node, varying, [*map(of, node.args[1:])])
        case Map():
            places = [k for k, arg in enumerate(node.args) if arg.node in varying]
            if len(places) == 1:
                yield from _mapped(graph, node, places[0], of(node.args[places[0]]))
        case Sum():
            terms = [t for t in node.terms if t.node in varying]
            rest = [(t.coefficient, t.ref) for t in node.terms if t not in terms]
            # A variable may itself be a sum, of terms that do not vary.
            for ends in product(*(of(t.ref) for t in terms)) if terms else ():
                pairs = zip(terms, ends, strict=True)
                moved = [(t.coefficient, end.value) for t, end in pairs]
                moves = _either(graph, [end.moves for end in ends])
                yield End(moves, total(graph, [*rest, *moved]))
        case Product():
            yield from _multiplied(graph, node, varying, [*map(of, node.factors)])


def _chosen(
    graph: Graph, node: Map, varying: Container[Node], ends: Sequence[Sequence[End]]
) -> Iterator[End]:
    """A branch that does not vary, and the ends of one that does where it is taken."""
    condition, *sides = node.args
    opposite = apply(graph, "logical_not", condition)
    pairs = ((condition, opposite), (opposite, condition))
    for side, own, (taken, other) in zip(sides, ends, pairs, strict=True):
        if side.node not in varying:
            yield End(other, side)
        for moves, value in own:
            if moves not in parts(taken):
                yield End(apply(graph, "logical_or", other, moves), value)


def _mapped(graph: Graph, node: Map, place: int, ends: Sequence[End]) -> Iterator[End]:
    """A function of one argument that varies."""
    if node.function in _BEYOND:
        x, zero = node.args[place], Ref(graph.constant(0), ())
        bound = zero if node.function == "relu" else node.args[1 - place]
        yield End(apply(graph, _BEYOND[node.function], x, bound), bound)
    for moves, value in ends:
        args = [value if k == place else arg for k, arg in enumerate(node.args)]
        yield End(moves, _folded(graph, node, args))


def _folded(graph: Graph, node: Map, args: Sequence[Ref]) -> Ref:
    """A function of other arguments, a number where that is plain."""
    first, *others = (constant_value(arg.node) for arg in args)
    known: Fraction | int | None = None
    if first in (0, 1):
        known = value_of(node, int(first))
    if node.function in ("maximum", "minimum") and first is not None:
        choose = max if node.function == "maximum" else min
        known = None if others[0] is None else choose(first, others[0])
    if known is not None:
        return Ref(graph.constant(known), ())
    return apply(graph, node.function, *args)


def _multiplied(
    graph: Graph, node: Product, varying: Container[Node], ends: Sequence[Sequence[End]]
) -> Iterator[End]:
    """A product is 0 where a factor stays at 0, and still where only that varies."""
    alone = sum(factor.node in varying for factor in node.factors) == 1
    for k, own in enumerate(ends):
        for moves, value in own:
            found = _read(graph, node, moves)
            if constant_value(value.node) == 0:
                whole = graph.constant(0)
            elif alone:
                factors = list(node.factors)
                factors[k] = value
                whole = _with(graph, node, factors, node.coefficient)
            else:
                continue
            if found is not None:
                yield End(found, ref(whole))


def _read(graph: Graph, node: Product, moves: Ref) -> Ref | None:
    """Whether anything moves of what a product reads of a factor, in its axes."""
    summed = tuple(k for k, x in enumerate(moves.labels) if x >= node.order)
    if not summed:
        return moves
    if not any(isinstance(x, Input) for x in topological([moves.node])):
        return None  # of places alone: some of what is summed moves
    if not node.constraints:
        kept = tuple(x for x in moves.labels if x < node.order)
        return Ref(call(graph, "any", [moves.node], axes=summed), kept)
    return ref(_with(graph, node, [moves])) if is_light(node) else None


def _with(
    graph: Graph, node: Product, factors: Sequence[Ref], scale: Fraction | int = 1
) -> Node:
    """A product with other factors."""
    sizes = dict(enumerate(node.sizes))
    constraints = node.constraints
    axes = range(node.order)
    return graph.product(
        axes, factors, coefficient=scale, constraints=constraints, sizes=sizes
    )


def _either(graph: Graph, conditions: Sequence[Ref]) -> Ref:
    """Whether any of some conditions holds."""
    return reduce(lambda a, b: apply(graph, "logical_or", a, b), conditions)
