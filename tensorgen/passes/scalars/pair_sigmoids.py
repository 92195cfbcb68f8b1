"""The two logistic functions of one array in a product are one: the slope.

    sigmoid(t) * sigmoid(-t) = sigmoid_slope(t)

Formulas have both, for stable forms know them; code computes the slope of one
exponential, with all of its digits.
"""

from __future__ import annotations

from collections.abc import Sequence

from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Map, Node, Product, Ref
from tensorgen.ir.rebuild import rebuild, sizes_of, with_factors
from tensorgen.operators.scalar import apply, ref
from tensorgen.passes.context import Context

Labels = tuple[int, ...]


def pair_sigmoids(context: Context, roots: Sequence[Node]) -> list[Node]:
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
    waiting: dict[tuple[Node, bool, Labels], list[int]] = {}  # for the other part
    with graph.without_rewrites():
        for factor in node.factors:
            one, labels = factor
            if isinstance(one, Map) and one.function == "sigmoid" and one.order:
                t, negated = _upward(graph, one)
                if places := waiting.get((t, not negated, labels)):
                    own = apply(graph, "sigmoid_slope", ref(_named(graph, t)))
                    refs[places.pop()] = own.under(factor)
                    continue
                waiting.setdefault((t, negated, labels), []).append(len(refs))
            refs.append(factor)
        return with_factors(graph, node, refs)


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
