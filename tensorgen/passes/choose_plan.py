"""Which of the plans for a function is computed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import inf

from tensorgen.calculus.quotients import named_quotients
from tensorgen.ir.nodes import Node, topological
from tensorgen.passes.context import Context, Plan
from tensorgen.passes.matrices.join_entries import filled_in
from tensorgen.passes.recall_names import recall_names
from tensorgen.passes.views import degree
from tensorgen.prices.thresholds import (
    GAIN_OF_LENGTH,
    GAIN_OF_ROOM,
    SHARE_OF_A_MIXTURE,
    SHARE_OF_LAST,
    SHARE_OF_LENGTH,
    SHARE_OF_ROOM,
    SHARE_WITHOUT_HOPE,
)


def without_hope(context: Context, plans: Sequence[Plan]) -> list[Plan]:
    """Return plans of which those are `lost` that no later pass makes the cheapest.

    They store much more than another, or cost far more where products have an order:
    sharing wins back what two products have in common, seldom three.
    """
    if len(plans) == 1:
        return [*plans]
    plans = [*plans, *_mixed(context, plans)]
    costs = [
        context.price(plan.roots) if stores_little else inf
        for plan, stores_little in zip(
            plans, _that_store_little(context, plans), strict=True
        )
    ]
    most = SHARE_WITHOUT_HOPE * min(costs)
    return [
        plan if cost <= most else replace(plan, lost=True)
        for plan, cost in zip(plans, costs, strict=True)
    ]


def _mixed(context: Context, plans: Sequence[Plan]) -> list[Plan]:
    """The plan that stores least, with what has no structure in it as others have it.

    Products are flattened for the structure of a derivative to be seen. Beside one that
    has any, those that have none need not be, nor go the same way through the calculus.
    """
    best = min(plans, key=lambda x: (_stored(context, x), context.price(x.roots)))
    dense = [k for k in context.compressed if not best.saves(k, context.cost)]
    if not best.derived or len(dense) == len(context.compressed):
        return []
    found = best
    for k in dense:
        one = min(plans, key=lambda x: context.price(x.parts[k]))
        if context.price(one.parts[k]) < context.price(best.parts[k]):
            found = found.with_part(k, one)
    most = SHARE_OF_A_MIXTURE * context.price(best.roots)
    return [found] if context.price(found.roots) <= most else []


def cheapest(
    context: Context, plans: Sequence[Plan], known: Sequence[Node] = ()
) -> Plan:
    """Return the plan to compute: that costs least, of those that store little.

    Of what costs about the same it is one that keeps the most quotients whole that the
    user named, or one of clearly fewer operations: they read better. Those that are
    `known` to other functions do not count then; the more a plan has of them, the more
    it may cost.
    """

    plans = [plan for plan in plans if not plan.lost]
    stored = [_stored(context, plan) for plan in plans]
    little = _that_store_little(context, plans)
    prices = {k: context.price(plan.roots) for k, plan in enumerate(plans) if little[k]}
    nodes = {k: topological(plans[k].roots) for k in prices}
    own = {k: len({*nodes[k]}.difference(known)) for k in prices}
    # The first of equals, so that ties depend on nothing.
    # One that is `last` has to be far cheaper, for functions of one formula look alike,
    # one that stores more than another has to be clearly so.
    shares = {
        k: (SHARE_OF_LAST if plans[k].last else 1)
        * (SHARE_OF_ROOM if stored[k] > min(stored) else 1)
        for k in prices
    }
    best = min(prices, key=lambda k: prices[k] / shares[k])
    near = [k for k in prices if prices[k] <= GAIN_OF_LENGTH * prices[best]]
    near = [k for k in near if k == best or shares[k] == 1]
    whole = {k: _quotients(context, nodes[k]) for k in near}
    if whole[best] < max(whole.values()):
        near = [k for k in near if whole[k] == max(whole.values())]
        best = min(near, key=prices.__getitem__)
    short = min(near, key=own.__getitem__)
    saved = (own[best] - own[short]) / max(len(nodes[best]), 1)
    most = 1 + (GAIN_OF_LENGTH - 1) * (saved if known else 1)
    if saved >= 1 - SHARE_OF_LENGTH and prices[short] <= most * prices[best]:
        best = short
    recall_names(context, plans[best].roots)
    return plans[best]


def _that_store_little(context: Context, plans: Sequence[Plan]) -> list[bool]:
    """Of which plans none stores much less: a plain array for two or three, by row.

    An array with an axis more is much, whatever sizes are hinted at.
    """
    stored = [_stored(context, plan) for plan in plans]
    least = min(stored)
    axes = [_axes(context, plan) for plan in plans]
    few = axes[stored.index(least)]
    return [
        own == least
        or (
            own[0] == least[0]
            and own[1] < GAIN_OF_ROOM * least[1]
            and all(x <= y for x, y in zip(most, few, strict=True))
        )
        for own, most in zip(stored, axes, strict=True)
    ]


def _axes(context: Context, plan: Plan) -> list[int]:
    """How many axes of any length arrays have, the most of each derivative."""
    return [
        max((degree(node.dims) for node in plan.parts[k]), default=0)
        for k in context.compressed
    ]


def _stored(context: Context, plan: Plan) -> tuple[bool, float]:
    """Whether a sparse matrix is filled in for less than a result; what is stored."""
    filled = any(not is_small for _, is_small in filled_in(context, plan.roots))
    return filled, plan.held(context.cost)


def _quotients(context: Context, nodes: Sequence[Node]) -> int:
    """How many quotients by more than sizes have the user's names."""
    return sum(x.is_by_value for x in named_quotients(context.graph, nodes))
