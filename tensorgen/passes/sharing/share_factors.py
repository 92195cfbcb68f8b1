"""Share: two factors that several products multiply entry by entry are one array.

`sum_j K[i, j] * D[i, j]` and `sum_j K[i, j] * D[i, j] * x[j]` both need `K * D`.
Whatever the order of a contraction, factors with the same labels meet at the cost of
their entries, so meeting first costs nothing. Vectors are left alone: what stands
beside them costs more, and formulas read better whole.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from itertools import combinations

from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Node, Product, Ref, topological
from tensorgen.ir.patterns import product_pattern
from tensorgen.ir.rebuild import rebuild, with_factors
from tensorgen.passes.context import Context
from tensorgen.passes.cost import CostModel
from tensorgen.prices.price_table import CALL, ENTRY


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


def _savings(roots: Sequence[Node], cost: CostModel) -> dict[Hashable, float]:
    """What each pair saves, for those that are worth a statement."""
    users: dict[Hashable, set[Node | None]] = {}
    sizes: dict[Hashable, float] = {}
    for node in topological(roots):
        if isinstance(node, Product):
            # Multiples of a pair alone are one array already, scaled.
            plain = len(node.factors) == 2 and not (node.inner or node.constraints)
            for pair, (place, _) in _pairs(node):
                users.setdefault(pair, set()).add(None if plain else node)
                sizes[pair] = cost.size(node.factors[place].node.dims)
    saved = {
        pair: (len(using) - 1) * ENTRY.planned * sizes[pair]
        for pair, using in users.items()
    }
    return {pair: entries for pair, entries in saved.items() if entries > CALL.planned}


def _pairs(node: Product) -> Iterator[tuple[Hashable, tuple[int, int]]]:
    """What transposes of two factors with the same labels share, and their places."""
    for places in combinations(range(len(node.factors)), 2):
        first, second = (node.factors[k] for k in places)
        labels = {*first.labels}
        if labels != {*second.labels} or len(first.labels) != len(second.labels):
            continue
        if len(labels) == len(first.labels) > 1:
            yield product_pattern((first, second), labels).key, places


def _with(graph: Graph, node: Node, savings: Mapping[Hashable, float]) -> Node:
    """A product with products of pairs in their places, the largest saving first."""
    if not isinstance(node, Product):
        return node
    found = [(pair, places) for pair, places in _pairs(node) if pair in savings]
    if not found:
        return node
    _, places = max(found, key=lambda at: savings[at[0]])
    refs = sorted((node.factors[k] for k in places), key=lambda ref: ref.node.serial)
    labels = refs[0].labels
    shared = Ref(graph.product(labels, refs), labels)
    rest = [ref for k, ref in enumerate(node.factors) if k not in places]
    whole = with_factors(graph, node, [*rest, shared])
    return node if whole is node else _with(graph, whole, savings)
