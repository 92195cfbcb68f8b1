"""Share: two factors that several products multiply entry by entry are one array.

`sum_j K[i, j] * D[i, j]` and `sum_j K[i, j] * D[i, j] * x[j]` both need `K * D`.
Whatever the order of a contraction, factors with the same labels meet at the cost of
their entries, so meeting first costs nothing. Vectors are left alone: what stands
beside them costs more, and formulas read better whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Node, Product, Ref, topological
from tensorgen.ir.rebuild import rebuild, with_factors
from tensorgen.passes.context import Context
from tensorgen.passes.cost import CostModel
from tensorgen.prices.table import CALL, ENTRY

Pair = tuple[Node, Node, tuple[int, ...]]
"""Two nodes, and for each axis of the second the axis of the first that it meets."""


def share_factors(context: Context, roots: Sequence[Node]) -> list[Node]:
    """Return `roots` with repeated pairs of factors computed once, largest first.

    Ends: each round leaves fewer factors over all products, or is the last.
    """
    graph, current = context.graph, list(roots)
    while savings := _savings(current, context.cost):
        before = current
        current = rebuild(graph, current, lambda node: _with(graph, node, savings))
        if current == before:
            break
    return current


def _savings(roots: Sequence[Node], cost: CostModel) -> dict[Pair, float]:
    """What each pair saves, for those that are worth a statement."""
    users: dict[Pair, set[Node | None]] = {}
    for node in topological(roots):
        if isinstance(node, Product):
            # Multiples of a pair alone are one array already, scaled.
            plain = len(node.factors) == 2 and not (node.inner or node.constraints)
            for pair, _ in _pairs(node):
                users.setdefault(pair, set()).add(None if plain else node)
    saved = {
        pair: (len(using) - 1) * ENTRY.planned * cost.size(pair[0].dims)
        for pair, using in users.items()
    }
    return {pair: entries for pair, entries in saved.items() if entries > CALL.planned}


def _pairs(node: Product) -> Iterator[tuple[Pair, tuple[int, int]]]:
    """The pairs of factors with the same labels, and their places."""
    for k, m in combinations(range(len(node.factors)), 2):
        (a, first), (b, second) = node.factors[k], node.factors[m]
        if len(first) < 2 or len(first) != len(second):
            continue
        if {*first} != {*second} or len({*first}) < len(first):
            continue
        if a.serial > b.serial:
            (a, first), (b, second) = (b, second), (a, first)
            k, m = m, k
        yield (a, b, tuple(first.index(x) for x in second)), (k, m)


def _with(graph: Graph, node: Node, savings: Mapping[Pair, float]) -> Node:
    """A product with products of pairs in their places, the largest saving first."""
    if not isinstance(node, Product):
        return node
    found = [(pair, at) for pair, at in _pairs(node) if pair in savings]
    if not found:
        return node
    pair, places = max(found, key=lambda at: savings[at[0]])
    a, b, meets = pair
    both = graph.product(range(a.order), [(a, range(a.order)), (b, meets)])
    rest = [ref for k, ref in enumerate(node.factors) if k not in places]
    shared = Ref(both, node.factors[places[0]].labels)
    whole = with_factors(graph, node, [*rest, shared])
    return node if whole is node else _with(graph, whole, savings)
