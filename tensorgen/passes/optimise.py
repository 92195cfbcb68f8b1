"""All passes, in order; the plan that the cost model prefers wins."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Node
from tensorgen.passes.cost import CostModel
from tensorgen.passes.flatten_products import flatten_products
from tensorgen.passes.fuse_elementwise import fuse_elementwise
from tensorgen.passes.gather_steady import cost_of_a_call, gather_steady
from tensorgen.passes.order_contractions import order_contractions
from tensorgen.passes.pair_transposes import pair_transposes
from tensorgen.passes.rates import Rates
from tensorgen.passes.share_factors import share_factors
from tensorgen.passes.stored import Compressed
from tensorgen.passes.take_diagonals import take_diagonals
from tensorgen.passes.use_symmetry import use_symmetry

Compress = Callable[[Graph, Node, CostModel, Node], Compressed]
"""What is kept of a derivative tensor, flattened and as it was before."""

NOTHING: Mapping[int, Compress] = {}


@dataclass(frozen=True)
class Plan:
    """What to compute for a list of roots.

    `parts` has the nodes of each root: itself, or the arrays that its structure in
    `tensors` keeps. `formulas` has each root in the form that reads best.
    """

    parts: tuple[tuple[Node, ...], ...]
    tensors: tuple[Compressed | None, ...]
    formulas: tuple[Node, ...]

    @property
    def roots(self) -> tuple[Node, ...]:
        """All nodes to compute, in order."""
        return tuple(node for part in self.parts for node in part)


def optimise(
    graph: Graph,
    candidates: Sequence[Sequence[Node]],
    hints: Mapping[str, int],
    cross_country: bool,
    compressed: Mapping[int, Compress] = NOTHING,
    rates: Rates | None = None,
) -> Plan:
    """Return the cheapest plan among equivalent lists of roots.

    The roots at the positions `compressed` are derivative tensors, of which only what
    these functions keep is computed. Without `cross_country` products keep the shape
    that their mode gave them, nothing is compressed, and only the order within each is
    chosen.
    With `rates`, what changes less often is computed apart, where that pays.
    """
    cost = CostModel(hints)
    plans = []
    attempt = graph.effort.attempt
    for given in candidates:
        roots = take_diagonals(graph, given)
        shapes = [roots]
        if cross_country:
            flat = attempt(partial(flatten_products, graph, roots, cost), roots)
            shapes.insert(0, use_symmetry(graph, flat))
        for k, shape in enumerate(shapes):
            keep = compressed if cross_country and k == 0 else NOTHING
            plans.append(_plan(graph, shape, roots, cost, keep, rates))

    def price(plan: Plan) -> float:
        if rates is None:
            return cost.total(plan.roots)
        return cost_of_a_call(plan.roots, rates, cost)

    # Less to store comes first; the first of equals, so that ties depend on nothing.
    return min(plans, key=lambda plan: (_held(plan, cost), price(plan)))


def _plan(
    graph: Graph,
    roots: Sequence[Node],
    derived: Sequence[Node],
    cost: CostModel,
    compressed: Mapping[int, Compress],
    rates: Rates | None,
) -> Plan:
    attempt = graph.effort.attempt
    tensors: list[Compressed | None] = [None] * len(roots)
    for k, compress in compressed.items():
        found = partial(compress, graph, roots[k], cost, derived[k])
        tensors[k] = attempt(found, None)
    parts = [
        (node,) if tensor is None else tensor.arrays
        for node, tensor in zip(roots, tensors, strict=True)
    ]
    nodes = [node for part in parts for node in part]
    if rates is not None:
        nodes = attempt(partial(gather_steady, graph, nodes, rates, cost), nodes)
    nodes = attempt(partial(share_factors, graph, nodes, cost), nodes)
    nodes = _ordered(graph, nodes, cost)
    if rates is not None:  # fusing has joined what is elementwise
        nodes = attempt(partial(gather_steady, graph, nodes, rates, cost), nodes)
    final = iter(nodes)
    return Plan(
        tuple(tuple(next(final) for _ in part) for part in parts),
        tuple(tensors),
        tuple(roots),
    )


def _ordered(graph: Graph, nodes: Sequence[Node], cost: CostModel) -> list[Node]:
    """The nodes with an order in each product, and no transpose computed anew.

    Transposes are looked for before, where that pays, and again among the products
    that the order has made.
    """
    nodes = list(nodes)
    attempt = graph.effort.attempt
    shapes = [nodes, attempt(partial(pair_transposes, graph, nodes), nodes)]
    if shapes[0] == shapes[1]:
        shapes.pop()
    found = []
    for shape in shapes:
        pairs = order_contractions(graph, shape, cost)
        fused = attempt(partial(fuse_elementwise, graph, pairs), pairs)
        found.append(attempt(partial(pair_transposes, graph, fused), fused))
    return min(found, key=cost.total)


def _held(plan: Plan, cost: CostModel) -> float:
    return sum(cost.size(node.dims) for part in plan.parts for node in part)
