"""Merge: a sum of sums is one sum."""

from __future__ import annotations

from tensorgen.ir.nodes import Node, Sum
from tensorgen.passes.rounds import Round


def merge_sums(known: Round, node: Node) -> Node:
    """Return a sum with the terms of sums that are used here alone."""
    if not isinstance(node, Sum):
        return node
    terms = []
    for c, inner, labels in node.terms:
        if isinstance(inner, Sum) and inner in known.private:
            terms += [
                (c * t.coefficient, t.node, tuple(labels[a] for a in t.labels))
                for t in inner.terms
            ]
        else:
            terms.append((c, inner, labels))
    dims = dict(enumerate(node.dims))
    return known.context.graph.sum(range(node.order), terms, dims)
