"""Terms of fewer axes are added up before they are spread over the others.

    A[i, j] + b[i] - c[i] + s = A[i, j] + (b[i] - c[i] + s)

Each addition to the whole array is a pass over it, each to a vector is none.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Node, Sum, Term
from tensorgen.ir.rebuild import rebuild
from tensorgen.passes.context import Context
from tensorgen.passes.views import is_sparse


def add_narrow(context: Context, roots: Sequence[Node]) -> list[Node]:
    """Return `roots` with the terms of sums that lack the same labels as one term.

    Ends: a sum has fewer terms.
    """
    graph = context.graph

    def visit(node: Node) -> Node:
        return _gathered(graph, node) if isinstance(node, Sum) else node

    return rebuild(graph, roots, visit)


def _gathered(graph: Graph, node: Sum) -> Node:
    kept: list[Term] = []
    narrow: list[Term] = []
    for term in node.terms:
        whole = len(term.labels) == node.order or is_sparse(term.node)
        (kept if whole else narrow).append(term)
    groups: dict[frozenset[int], list[Term]] = {}
    for term in sorted(narrow, key=lambda term: -len(term.labels)):
        # What has fewer axes yet joins the first that has them all.
        fitting = (own for own in groups if own.issuperset(term.labels))
        own = next(fitting, frozenset(term.labels))
        groups.setdefault(own, []).append(term)
    if all(len(group) == 1 for group in groups.values()) or len([*kept, *groups]) < 2:
        return node
    with graph.without_rewrites():  # which have seen the sum as a whole
        for group in groups.values():
            labels = group[0].labels
            kept.append(Term(Fraction(1), graph.sum(labels, group), labels))
        return graph.sum(range(node.order), kept)
