"""Which of the plans for a function is computed."""

from __future__ import annotations

from collections.abc import Sequence

from tensorgen.calculus.quotients import named_quotients
from tensorgen.ir.nodes import Node, topological
from tensorgen.passes.context import Context, Plan
from tensorgen.passes.matrices.join_entries import filled_in
from tensorgen.passes.recall_names import recall_names
from tensorgen.prices.thresholds import (
    GAIN_OF_LENGTH,
    SHARE_OF_LAST,
    SHARE_OF_LENGTH,
)


def cheapest(context: Context, plans: Sequence[Plan]) -> Plan:
    """Return the plan to compute: that stores least, then that costs least.

    Of what costs about the same it is one that keeps the most quotients whole that the
    user named, or one of clearly fewer operations: they read better.
    """

    def key(plan: Plan) -> tuple[bool, float]:
        return filled_in(context, plan.roots) is not None, plan.held(context.cost)

    least = min(map(key, plans))
    prices = {k: context.price(p.roots) for k, p in enumerate(plans) if key(p) == least}
    nodes = {k: topological(plans[k].roots) for k in prices}
    # The first of equals, so that ties depend on nothing.
    # One that is `last` has to be far cheaper: functions of one formula look alike.
    best = min(
        prices, key=lambda k: prices[k] / (SHARE_OF_LAST if plans[k].last else 1)
    )
    near = [k for k in prices if prices[k] <= GAIN_OF_LENGTH * prices[best]]
    near = [k for k in near if k == best or not plans[k].last]
    whole = {k: _quotients(context, nodes[k]) for k in near}
    if whole[best] < max(whole.values()):
        near = [k for k in near if whole[k] == max(whole.values())]
        best = min(near, key=prices.__getitem__)
    short = min(near, key=lambda k: len(nodes[k]))
    if len(nodes[short]) <= SHARE_OF_LENGTH * len(nodes[best]):
        best = short
    recall_names(context, plans[best].roots)
    return plans[best]


def _quotients(context: Context, nodes: Sequence[Node]) -> int:
    """How many quotients by more than sizes have the user's names."""
    return sum(x.is_by_value for x in named_quotients(context.graph, nodes))
