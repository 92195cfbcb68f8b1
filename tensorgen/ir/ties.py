"""Axes that are tied: where their indices differ, a node is zero.

The derivative of what works entry by entry, or row by row, is tied, however deep in
sums and products the deltas stand that make it so.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from itertools import combinations

from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.groups import connected
from tensorgen.ir.nodes import Constraint, Label, Node, Product, Sum, topological

Pairs = frozenset[tuple[int, int]]


def ties(root: Node) -> Pairs:
    """Return the pairs of axes of a node that are tied, the first one first."""
    known: dict[Node, Pairs] = {}
    for node in topological([root]):
        match node:
            case Product():
                known[node] = _of_product(node, known)
            case Sum():
                terms = (
                    {(t.labels[a], t.labels[b]) for a, b in known[t.node]}
                    for t in node.terms
                )
                ordered = ({(min(p), max(p)) for p in pairs} for pairs in terms)
                known[node] = frozenset(set.intersection(*ordered))
            case _:
                known[node] = frozenset()
    return known[root]


def _of_product(node: Product, known: Mapping[Node, Pairs]) -> Pairs:
    links = [
        {ref.labels[a], ref.labels[b]}
        for ref in node.factors
        for a, b in known[ref.node]
    ]
    links += [{*at.form.labels} for at in node.constraints if _says_equal(at)]
    groups = [labels for labels, _ in connected(links)]
    return frozenset(
        (a, b)
        for a, b in combinations(range(node.order), 2)
        if any(a in group and b in group for group in groups)
    )


def _says_equal(at: Constraint) -> bool:
    """Whether a constraint says that two labels are equal, and nothing else."""
    terms, const = dict(at.form.terms), at.form.const
    plain = all(isinstance(label, int) for label in terms)
    return (
        plain and at.kind == "eq" and sorted(terms.values()) == [-1, 1] and const == 0
    )


def along(graph: Graph, node: Node, pairs: Mapping[int, int]) -> Node:
    """Return the entries of a node at which tied axes are equal.

    `pairs` gives the axis that stands for an axis that goes.
    """
    found, _ = _entries(graph, node, [pairs.get(a, a) for a in range(node.order)])
    return found


def _entries(
    graph: Graph, node: Node, labels: Sequence[Hashable], depth: int = 0
) -> tuple[Node, tuple[Hashable, ...]]:
    """A node by labels of which some occur twice, and by which it is then.

    What a product sums over bears its `depth`: labels of products around it are others.
    """
    kept = tuple(dict.fromkeys(labels))
    if len(kept) == len(labels):
        return node, kept
    sizes: dict[Hashable, Dim] = dict(zip(labels, node.dims, strict=True))
    name = dict(enumerate(labels))
    if isinstance(node, Sum):
        terms = []
        for t in node.terms:
            theirs = [name[x] for x in t.labels]
            part, own = _entries(graph, t.node, theirs, depth + 1)
            terms.append((t.coefficient, part, own))
        return graph.sum(kept, terms, sizes), kept
    if not isinstance(node, Product):
        return graph.product(kept, [(node, labels)]), kept

    def inner(label: Label) -> Hashable:
        return name.get(label, ("inner", depth, label))

    sizes |= {inner(k): dim for k, dim in enumerate(node.sizes)}
    factors = [
        _entries(graph, ref.node, [inner(x) for x in ref.labels], depth + 1)
        for ref in node.factors
    ]
    found = graph.product(
        kept,
        factors,
        coefficient=node.coefficient,
        constraints=[at.renamed(inner) for at in node.constraints],
        sizes=sizes,
    )
    return found, kept
