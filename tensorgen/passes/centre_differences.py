"""Centre: differences of rows are those of the rows less their mean.

`sum_j w[i, j] * (x[i] - x[j])` is `r[i] * x[i] - (w @ x)[i]`, which loses digits where
rows lie far from the origin compared with how far they lie from one another: what
depends on differences alone is taken of `x - mean(x)`.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Input, Label, Node, Ref, Sum, Term
from tensorgen.passes.views import compares, is_sparse


def centred(graph: Graph, node: Sum) -> Sequence[Term]:
    """Return the terms of a sum, those that are compared row by row centred."""
    terms = list(node.terms)
    if not compares(node):
        return terms
    for m, k in combinations(range(len(terms)), 2):
        axis = _compared(terms[m], terms[k])
        if axis is not None:
            rows = _less_mean(graph, terms[k].node, axis)
            terms[m], terms[k] = (terms[x]._replace(node=rows) for x in (m, k))
    return terms


def _compared(one: Term, other: Term) -> int | None:
    """The axis along which one row of an array is taken from another one."""
    opposite = one.coefficient + other.coefficient == 0
    if one.node is not other.node or not opposite:
        return None
    places = enumerate(zip(one.labels, other.labels, strict=True))
    apart = [a for a, (x, y) in places if x != y]
    if len(apart) != 1:
        return None
    return None if is_sparse(one.node) else apart[0]


def less_mean(graph: Graph, ref: Ref, of: Ref, entry: Label) -> Ref:
    """A matrix less the mean of the rows of one whose entries have the same label."""
    axis = next(a for a, x in enumerate(of.labels) if x != entry)
    if ref.node is of.node and ref.labels[1 - axis] == entry:
        return Ref(_less_mean(graph, ref.node, axis), ref.labels)
    mean, own = _mean(graph, of.node, axis), ref.labels
    return Ref(graph.sum(own, [(1, *ref), (-1, mean, (entry,))]), own)


def _mean(graph: Graph, node: Node, axis: int) -> Node:
    """The mean along an axis."""
    axes = range(node.order)
    rest = [a for a in axes if a != axis]
    count = graph.size(node.dims[axis])
    share = graph.map("pow", (), [(count, ()), (graph.constant(-1), ())])
    return graph.product(rest, [(node, axes), (share, ())])


def _less_mean(graph: Graph, node: Node, axis: int) -> Node:
    """An array less its mean along an axis."""
    axes = range(node.order)
    rest = [a for a in axes if a != axis]
    mean = _mean(graph, node, axis)
    found = graph.sum(axes, [(1, node, axes), (-1, mean, rest)])
    name = graph.names.get(node) or (node.name if isinstance(node, Input) else None)
    if name is not None:
        graph.suggest(found, f"centred_{name}")
    return found
