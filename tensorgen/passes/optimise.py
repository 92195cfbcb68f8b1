"""All passes, in order; the plan that the cost model prefers wins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Node
from tensorgen.passes.cost import CostModel
from tensorgen.passes.flatten_products import flatten_products
from tensorgen.passes.fuse_elementwise import fuse_elementwise
from tensorgen.passes.order_contractions import order_contractions


@dataclass(frozen=True)
class Plan:
    """The roots to compute, and the same in the form that reads best."""

    roots: tuple[Node, ...]
    formulas: tuple[Node, ...]


def optimise(
    graph: Graph,
    candidates: Sequence[Sequence[Node]],
    hints: Mapping[str, int],
    cross_country: bool,
) -> Plan:
    """Return the cheapest plan among equivalent lists of roots.

    Without `cross_country` products keep the shape that their mode gave them, and
    only the order within each is chosen.
    """
    cost = CostModel(hints)
    plans = []
    for roots in candidates:
        shapes = [list(roots)]
        if cross_country:
            shapes.insert(0, flatten_products(graph, roots, cost))
        for shape in shapes:
            ordered = order_contractions(graph, shape, cost)
            fused = fuse_elementwise(graph, ordered)
            plans.append(Plan(tuple(fused), tuple(shape)))
    # The first of equals, so that ties do not depend on anything else.
    return min(plans, key=lambda plan: cost.total(plan.roots))
