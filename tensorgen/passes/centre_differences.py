"""Centre: differences of rows are those of the rows less their mean.

`sum_j w[i, j] * (x[i] - x[j])` is `r[i] * x[i] - (w @ x)[i]`, which loses digits where
rows lie far from the origin compared with how far they lie from one another: what
depends on differences alone is taken of `x - mean(x)`.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Input, Node, Sum, Term
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


def _less_mean(graph: Graph, node: Node, axis: int) -> Node:
    """An array less its mean along an axis."""
    axes = range(node.order)
    rest = [a for a in axes if a != axis]
    count = graph.size(node.dims[axis])
    share = graph.map("pow", (), [(count, ()), (graph.constant(-1), ())])
    mean = graph.product(rest, [(node, axes), (share, ())])
    found = graph.sum(axes, [(1, node, axes), (-1, mean, rest)])
    name = graph.names.get(node) or (node.name if isinstance(node, Input) else None)
    if name is not None:
        graph.suggest(found, f"centred_{name}")
    return found
