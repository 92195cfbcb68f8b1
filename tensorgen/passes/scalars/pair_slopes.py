"""Two functions of one array in a product are one: the slope of a third.

    sigmoid(t) * sigmoid(-t) = sigmoid_slope(t)
    inverse_mills(t) * mills_gap(t) = mills_fall(t)

Formulas have both, for stable forms and series know them; code computes the slope of
one exponential, or ratio, with all of its digits.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Map, Node, Product, Ref
from tensorgen.ir.rebuild import rebuild, sizes_of, with_factors
from tensorgen.operators.scalar import apply, ref
from tensorgen.passes.context import Context

Labels = tuple[int, ...]
EVEN = {"sigmoid_slope"}
"""Slopes that are the same of minus the argument."""
MILLS = "inverse_mills", "mills_gap"


class _Part(NamedTuple):
    """The first or second factor of a slope of an array."""

    slope: str
    of: Node
    is_first: bool


def pair_slopes(context: Context, roots: Sequence[Node]) -> list[Node]:
    """Return `roots` with slopes in place of pairs of factors.

    Numbers are left alone. Ends: each pair leaves a factor less.
    """
    graph = context.graph
    return rebuild(graph, roots, lambda node: _paired(graph, node), plain=True)


def _paired(graph: Graph, node: Node) -> Node:
    """A product in which the two parts of a weight are one."""
    if not isinstance(node, Product):
        return node
    refs: list[Ref] = []
    waiting: dict[tuple[_Part, Labels], list[int]] = {}  # for the other part
    with graph.without_rewrites():
        for factor in node.factors:
            part, labels = _part(graph, factor.node), factor.labels
            if part is not None:
                other = part._replace(is_first=not part.is_first)
                if places := waiting.get((other, labels)):
                    t = _named(graph, part.of) if part.slope in EVEN else part.of
                    refs[places.pop()] = apply(graph, part.slope, ref(t)).under(factor)
                    continue
                waiting.setdefault((part, labels), []).append(len(refs))
            refs.append(factor)
        return with_factors(graph, node, refs)


def _part(graph: Graph, node: Node) -> _Part | None:
    """What a factor is one of two parts of, if it is that."""
    if not isinstance(node, Map) or not node.order:
        return None
    if node.function == "sigmoid":
        t, negated = _upward(graph, node)
        return _Part("sigmoid_slope", t, not negated)
    if node.function not in MILLS:
        return None
    ((of, _),) = node.args
    if isinstance(of, Map) and of.function == "finite":
        ((of, _),) = of.args
    if of.order < node.order:
        return None
    return _Part("mills_fall", of, node.function == MILLS[0])


def _upward(graph: Graph, node: Map) -> tuple[Node, bool]:
    """The argument of a function without a minus, and whether it had one."""
    t = graph.product(range(node.order), node.args)
    negated = isinstance(t, Product) and t.coefficient < 0
    return graph.scale(t, -1) if negated else t, negated


def _named(graph: Graph, t: Node) -> Node:
    """An array, or minus the array if that has a name."""
    if t not in graph.names and isinstance(t, Product):
        axes, sizes = range(t.order), sizes_of(t)
        opposite = graph.product(
            axes,
            t.factors,
            coefficient=-t.coefficient,
            constraints=t.constraints,
            sizes=sizes,
        )
        if opposite in graph.names:
            return opposite
    return t
