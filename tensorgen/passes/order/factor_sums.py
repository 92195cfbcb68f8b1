"""Factor: terms of a sum that share a factor are added up beside it.

`sum_t A_t * D` becomes `(sum_t A_t) * D`. This keeps a network's Hessian from ever
holding a fourth-order tensor: `x_b * x_d` moves outside and `M_ac` stays.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import chain

from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Node, Sum, only_below
from tensorgen.ir.views import Name, View
from tensorgen.passes.cost import CostModel
from tensorgen.passes.order.common_parts import Common, Kind, factors
from tensorgen.passes.order.order_contractions import order_contractions
from tensorgen.prices.limits import CANDIDATES_A_SUM, TRIALS_A_SUM, TRIALS_IN_ALL
from tensorgen.prices.thresholds import SHARE_OF_FACTORED

Factored = dict[tuple[Node, tuple[bool, ...]], Node]
"""What was made of sums, and of which terms were looked into."""


@dataclass
class Effort:
    """What was spent on a graph: priced candidates, and terms by distributing.

    Sums that were `factored` are kept: rounds and steps in another order meet in them.
    """

    trials: int = 0
    terms: int = 0
    factored: Factored = field(default_factory=dict)


def factor_sum(
    graph: Graph,
    node: Node,
    cost: CostModel,
    opens: Callable[[Node], bool],
    *,
    kinds: Sequence[Kind] = (factors,),
    root: bool = False,
    effort: Effort | None = None,
) -> Node:
    """Return a sum with what terms have in common outside, the largest saving first.

    Fires where the modelled cost falls. `opens` says which terms may be looked into,
    `kinds` what may be common to them, `root` whether the sum is stored; `effort` is
    that on the graph so far. Ends: each step lowers the number of factors over all
    terms, or of deltas, and after TRIALS_A_SUM trials no second one is made of a sum.
    """
    spent = effort or Effort()
    known, before = spent.factored, spent.trials

    def again(rest: Node) -> Node:
        if not isinstance(rest, Sum):
            return rest
        key = rest, tuple(opens(term.node) for term in rest.terms)
        if key not in known:
            known[key] = tried(rest)
        return known[key]

    def tried(rest: Sum) -> Node:
        views = _views(rest, opens)
        parts = chain(*(kind(rest, views, cost, root) for kind in kinds))
        found = sorted(parts, key=lambda common: -common.saving)
        if spent.trials > TRIALS_IN_ALL:
            found = [common for common in found if common.free]
        for common in found[:CANDIDATES_A_SUM]:
            spent.trials += 1
            better = _factored(graph, rest, common, again)
            if common.free or pays(graph, rest, better, cost, SHARE_OF_FACTORED):
                return better
            if spent.trials > before + TRIALS_A_SUM:
                break
        return rest

    return again(node)


def _views(node: Sum, opens: Callable[[Node], bool]) -> list[View]:
    views = []
    for t, term in enumerate(node.terms):
        view = View(term.coefficient)
        tag = ("term", t) if opens(term.node) else None
        view.add(term.node, term.labels, tag)
        views.append(view)
    return views


def _factored(
    graph: Graph, node: Sum, common: Common, again: Callable[[Node], Node]
) -> Node:
    """Pull what is common out of its terms; `again` factors what is left."""
    axes, outside = range(node.order), common.outside
    dims: dict[Name, Dim] = dict(enumerate(node.dims))
    sizes = {**outside.sizes, **dims}
    rests = [common.left(t) for t in common.terms]
    needed = set[Name]().union(*(rest.labels() for rest in rests))
    kept = {x: dim for x, dim in sizes.items() if x in needed}
    for rest in rests:
        rest.sizes.update(kept)
    out = [*kept]
    terms = [(1, rest.product(graph, out), out) for rest in rests]
    residual = again(graph.sum(out, terms, kept))
    view = View(sizes={**dims, **outside.sizes})
    view.factors += outside.factors
    view.constraints += outside.constraints
    view.add(residual, out, "residual")
    product = view.product(graph, axes)
    others = [t for k, t in enumerate(node.terms) if k not in common.terms]
    whole = graph.sum(axes, [*others, (1, product, axes)])
    return again(whole) if others else whole


def pays(
    graph: Graph, before: Node, after: Node, cost: CostModel, share: float
) -> bool:
    """Whether the best order of another form leaves at most this share of the cost."""

    def found() -> bool:
        # What both need, their common factors, says nothing about either.
        ordered = order_contractions(graph, [before, after], cost, anew=False)
        first, second = only_below(*ordered)
        graph.effort.spend((len(first) + len(second)) // 8)
        return sum(map(cost.work, second)) < share * sum(map(cost.work, first))

    return cost.once((pays, before, after, share), found)
