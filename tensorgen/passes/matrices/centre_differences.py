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
from tensorgen.operators.stable.differences import CENTRED
from tensorgen.passes.views import compares, is_sparse


def centred(graph: Graph, node: Sum) -> Sequence[Term]:
    """Return the terms of a sum, those that are compared row by row less a mean."""
    terms = list(node.terms)
    if not compares(node):
        return terms
    for m, k in combinations(range(len(terms)), 2):
        row = _row(terms[m], terms[k])
        if row is not None:
            of = terms[m].ref
            for x in (m, k):
                rows = less_mean(graph, terms[x].ref, of, row)
                terms[x] = terms[x]._replace(node=rows.node)
    return terms


def _row(one: Term, other: Term) -> Label | None:
    """The label of the rows of an array from which those of another are taken."""
    if one.coefficient + other.coefficient != 0 or one.node.order != other.node.order:
        return None
    if any(len({*term.labels}) < term.node.order for term in (one, other)):
        return None
    own, their = {*one.labels} - {*other.labels}, {*other.labels} - {*one.labels}
    if len(own) != 1 or len(their) != 1:
        return None
    return None if is_sparse(one.node) or is_sparse(other.node) else own.pop()


def less_mean(graph: Graph, ref: Ref, of: Ref, row: Label) -> Ref:
    """An array less the mean of the rows of another, whose label there is `row`."""
    axis = of.labels.index(row)
    rest = [label for label in of.labels if label != row]
    same = ref.node is of.node and [*ref.labels[:axis], *ref.labels[axis + 1 :]] == rest
    node, labels = ref.node, ref.labels
    mean = _mean(graph, of.node, axis)
    found = graph.sum(labels, [(1, node, labels), (-1, mean, rest)])
    graph.remark(found, CENTRED)
    name = graph.names.get(node) or (node.name if isinstance(node, Input) else None)
    if name is not None:
        graph.suggest(found, f"{name}_{'centred' if same else 'shifted'}")
    return Ref(found, labels)


def _mean(graph: Graph, node: Node, axis: int) -> Node:
    axes = range(node.order)
    rest = [a for a in axes if a != axis]
    count = graph.size(node.dims[axis])
    share = graph.map("pow", (), [(count, ()), (graph.constant(-1), ())])
    return graph.product(rest, [(node, axes), (share, ())])
