"""Gather by key: entries of index arrays that are to be equal meet at what they are.

`sum_k w[k] * delta(g[i], g[k])` compares all pairs. What has one key is added up once,
`G[a] = sum_k w[k] * delta(a, g[k])`, and read where it is needed, `G[g[i]]`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tensorgen.ir.constraints import index_bound
from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Constraint, Label, Lookup, Node, Product, delta
from tensorgen.passes.cost import CostModel
from tensorgen.passes.views import Name

KEY = "key"

Gathered = tuple[Node, Callable[[Node], Node]]
"""What is added up by key, and the product that reads it, whoever computes it."""


def gather_by_key(graph: Graph, node: Product, cost: CostModel) -> Gathered | None:
    """Return what is added up by key, and what reads it; None without keys.

    Fires where the labels of one of two index arrays are summed, nothing but its own
    factors has them, and arguments give how many keys there are. Ends: the product has
    one delta of two index arrays less.
    """
    for constraint in node.constraints:
        sides = _sides(constraint, cost)
        for own, other in (sides, sides[::-1]) if sides else ():
            apart = _apart(node, constraint, own, other)
            if apart is not None:
                return _gathered(graph, node, constraint, own, other, apart)
    return None


def _sides(constraint: Constraint, cost: CostModel) -> tuple[Lookup, Lookup] | None:
    """The two entries that a delta says are equal."""
    kind, (terms, const) = constraint
    if kind != "eq" or const != 0 or [abs(c) for _, c in terms] != [1, 1]:
        return None
    (first, c), (second, d) = terms
    if not (isinstance(first, Lookup) and isinstance(second, Lookup)) or c != -d:
        return None
    size = index_bound(first.node)
    known = size is not None and size == index_bound(second.node) and cost.knows(size)
    return (first, second) if known else None


def _apart(
    node: Product, constraint: Constraint, own: Lookup, other: Lookup
) -> set[Label] | None:
    """The labels that are summed by key: all that deltas join to those of an entry."""
    labels: set[Label] = set(own.labels)
    rest = [set(c.form.labels) for c in node.constraints if c != constraint]
    while joined := [x for x in rest if not x.isdisjoint(labels)]:
        labels.update(*joined)
        rest = [x for x in rest if x not in joined]
    free = labels.isdisjoint(other.labels) and min(labels, default=0) >= node.order
    return labels if free else None


def _gathered(
    graph: Graph,
    node: Product,
    constraint: Constraint,
    own: Lookup,
    other: Lookup,
    labels: set[Label],
) -> Gathered:
    """The sums by key of the factors that have some labels, and what is left."""

    def has(xs: Sequence[Label]) -> bool:
        return not labels.isdisjoint(xs)

    size = index_bound(own.node)
    assert size is not None
    inside = [ref for ref in node.factors if has(ref.labels)]
    outside = [ref for ref in node.factors if not has(ref.labels)]
    rest = [c for c in node.constraints if c != constraint]
    within = [c for c in rest if has(c.form.labels)]
    beside = [c for c in rest if not has(c.form.labels)]
    needed = {*range(node.order), *other.labels}
    needed.update(*(ref.labels for ref in outside), *(c.form.labels for c in beside))
    present = {x for ref in inside for x in ref.labels}
    kept: list[Name] = [KEY, *sorted(present & needed)]
    everything: dict[Name, Dim] = {**dict(enumerate(node.sizes)), KEY: size}
    used = {x for c in within for x in c.form.labels} | {*own.labels, *present, KEY}
    sums = graph.product(
        kept,
        inside,
        constraints=[*within, delta({KEY: 1, own: -1})],
        sizes={x: d for x, d in everything.items() if x in used},
    )
    left = {x: d for x, d in everything.items() if x in needed or x == KEY}

    def reading(sums: Node) -> Node:
        return graph.product(
            range(node.order),
            [*outside, (sums, kept)],
            coefficient=node.coefficient,
            constraints=[*beside, delta({KEY: 1, other: -1})],
            sizes=left,
        )

    return sums, reading
