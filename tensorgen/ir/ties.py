"""Axes that are tied: where their indices differ, a node is zero.

The derivative of what works entry by entry, or row by row, is tied, however deep in
sums and products the deltas stand that make it so.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations

from tensorgen.ir.at import At, Place
from tensorgen.ir.graph import Graph
from tensorgen.ir.groups import connected
from tensorgen.ir.nodes import Constraint, Node, Product, Sum, affine, topological

Pairs = frozenset[tuple[int, int]]


def ties(root: Node, every: bool = True) -> Pairs:
    """Return the pairs of axes of a node that are tied, the first one first.

    With `every` false those that some delta joins, in any term of sums.
    """
    known: dict[Node, Pairs] = {}
    for node in topological([root]):
        match node:
            case Product():
                known[node] = _of_product(node, known, every)
            case Sum():
                terms = (
                    {(t.labels[a], t.labels[b]) for a, b in known[t.node]}
                    for t in node.terms
                )
                ordered = ({(min(p), max(p)) for p in pairs} for pairs in terms)
                both = set.intersection if every else set.union
                known[node] = frozenset(both(*ordered))
            case _:
                known[node] = frozenset()
    return known[root]


def _of_product(node: Product, known: Mapping[Node, Pairs], every: bool) -> Pairs:
    links = [
        {ref.labels[a], ref.labels[b]}
        for ref in node.factors
        for a, b in known[ref.node]
    ]
    links += [
        {*at.form.labels}
        for at in node.constraints
        if _says_equal(at) or (at.kind == "eq" and not every)
    ]
    groups = [labels for labels, _ in connected(links)]
    return frozenset(
        (a, b)
        for a, b in combinations(range(node.order), 2)
        if any(a in group and b in group for group in groups)
    )


def _says_equal(at: Constraint) -> bool:
    """Whether a constraint says that two labels are equal, and nothing else."""
    return [type(x) for x in at.equal_atoms] == [int, int]


def along(graph: Graph, node: Node, pairs: Mapping[int, int]) -> Node:
    """Return the entries of a node at which tied axes are equal.

    `pairs` gives the axis that stands for an axis that goes.
    """
    names = [pairs.get(a, a) for a in range(node.order)]
    at = _Along(graph, dict(zip(names, node.dims, strict=True)))
    return at.of(node, tuple(affine([(a, 1)]) for a in names))


class _Along(At):
    """Nodes at equal axes, by sums and products in which deltas are met."""

    def ends(self, node: Node, place: Place) -> bool:
        """Whether no delta is deeper: entries of a map are taken where that pays."""
        return not isinstance(node, Product | Sum) or super().ends(node, place)
