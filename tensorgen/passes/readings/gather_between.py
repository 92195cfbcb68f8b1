"""Gather between: what several index arrays select at once, as intervals of an order.

`sum_j z[j] * [first[i] <= rank[j]] * [rank[j] < last[i]]` adds up an interval of z in
the order of ranks; and `sum_j z[j] * delta(g[j], g[i]) * [rank[j] < last[i]]` one of z
in the order of keys and ranks. Over i it is the same from the other side: each of what
is added up goes to an interval.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import (
    Atom,
    Constraint,
    Input,
    Label,
    Lookup,
    Node,
    Product,
    delta,
    labels_of,
)
from tensorgen.ir.rebuild import with_parts
from tensorgen.ir.views import Name
from tensorgen.operators.scans.intervals import spread_between, sums_between
from tensorgen.operators.scans.places import place
from tensorgen.operators.scans.ranks import in_order, order_of
from tensorgen.passes.cost import CostModel
from tensorgen.passes.readings.gather_by_key import KEY, Gathered


class _Bound(NamedTuple):
    """What a constraint says of an entry: it is a limit, below it, or not below it.

    A limit that is one more, or an entry that is, is counted in.
    """

    own: Atom
    limit: Atom
    kind: str
    within: bool = False


class _Interval(NamedTuple):
    """The entries of an order that each limit takes in."""

    order: Node
    low: Node
    high: Node


def gather_between(graph: Graph, node: Product, cost: CostModel) -> Gathered | None:
    """Return what is added up in intervals, and what reads it; None without several.

    Fires where all constraints on a label compare what it has with what one other has,
    by at most one key and one order, no factor has both, and one of them is summed.
    Ends: the product has fewer constraints.
    """
    for own in (*range(node.order, len(node.sizes)), *range(node.order)):
        links = [c for c in node.constraints if own in c.form.labels]
        others = {x for c in links for x in c.form.labels} - {own}
        if len(links) < 2 or len(others) != 1:
            continue
        (other,) = others
        if any({own, other} <= {*ref.labels} for ref in node.factors):
            continue
        if not (cost.knows(node.sizes[own]) and cost.knows(node.sizes[other])):
            continue
        rest = [c for c in node.constraints if c not in links]
        summed = own if own >= node.order else other
        if summed < node.order or any(summed in c.form.labels for c in rest):
            continue
        bounds = [_bound(c, own) for c in links]
        known = [b for b in bounds if b is not None]
        interval = _interval(graph, node, known, own, other)
        if len(known) == len(links) and interval is not None:
            return _gathered(graph, node, rest, interval, own, summed)
    return None


def _bound(constraint: Constraint, own: Label) -> _Bound | None:
    """What a constraint says of what has a label."""
    kind, form = constraint
    for mine, limit in constraint.compared(kind) if form.const in (0, -1) else ():
        theirs = labels_of(limit)
        if labels_of(mine) != (own,) or own in theirs or len(theirs) != 1:
            continue
        within = form.const == 0
        if kind == "eq":
            keys = isinstance(mine, Lookup) and within
            return _Bound(mine, limit, "key") if keys else None
        if form.coefficient(limit) == 1:
            return _Bound(mine, limit, "high", within)
        return _Bound(mine, limit, "low", not within)
    return None


def _interval(
    graph: Graph, node: Product, bounds: Sequence[_Bound], own: Label, other: Label
) -> _Interval | None:
    """The intervals that a key, limits from both sides, or both are."""
    keys, low, high = (
        [b for b in bounds if b.kind == kind] for kind in ("key", "low", "high")
    )
    if len(keys) == 2 and not (low or high):
        if all(_is_given(b.own) for b in keys):
            return None  # entries of two lists, which callers order as they like
        second = keys.pop()
        low, high = [second], [second._replace(within=True)]
    ordered = {b.own for b in (*low, *high)}
    if max(map(len, (keys, low, high))) > 1 or len(ordered) != 1:
        return None
    (rank,) = (_entries(graph, node, atom) for atom in ordered)
    limits = [_entries(graph, node, b.limit) for b in (*low, *high)]
    if not keys:
        # Places in order are 0, 1, 2, ...
        order = order_of(rank)
        if order is None or len(limits) != 2 or any(b.within for b in (*low, *high)):
            return None
        return _Interval(order, *limits)
    (key,) = keys
    own_key, read = (_entries(graph, node, x) for x in (key.own, key.limit))
    order = place(graph, "joint_order", own_key, own_key, rank)
    keys_in_order, ranks = (in_order(graph, x, order, 0) for x in (own_key, rank))

    def end(what: str, within: bool, *more: Node) -> Node:
        name = f"{what}_{'within' if within else 'before'}"
        return place(graph, name, keys_in_order, keys_in_order, *more)

    ends = [
        end("count_joint", b.within, ranks, read, limit)
        for b, limit in zip((*low, *high), limits, strict=True)
    ]
    if not low:
        ends.insert(0, end("count_keys", False, read))
    if not high:
        ends.append(end("count_keys", True, read))
    return _Interval(order, *ends)


def _is_given(atom: Atom) -> bool:
    """Whether a key is an index array that callers give."""
    return isinstance(atom, Lookup) and isinstance(atom.node, Input)


def _entries(graph: Graph, node: Product, atom: Atom) -> Node:
    """The entries of an index array, or the places along an axis."""
    return atom.node if isinstance(atom, Lookup) else graph.iota(node.sizes[atom])


def _gathered(
    graph: Graph,
    node: Product,
    rest: Sequence[Constraint],
    interval: _Interval,
    own: Label,
    summed: Label,
) -> Gathered:
    """The sums of factors in intervals, and what is left."""
    order, low, high = interval
    (other,) = {x for c in node.constraints if c not in rest for x in c.form.labels} - {
        own
    }
    inside = [ref for ref in node.factors if summed in ref.labels]
    outside = [ref for ref in node.factors if summed not in ref.labels]
    needed = {*range(node.order)}
    needed.update(*(ref.labels for ref in outside), *(c.form.labels for c in rest))
    present = {x for ref in inside for x in ref.labels} - {summed}
    kept = [x for x in sorted(present) if x in needed]
    sizes: dict[Name, Dim] = dict(enumerate(node.sizes))
    used = {summed, *present}
    added = {x: d for x, d in sizes.items() if x in used}
    sums = graph.product([summed, *kept], inside, sizes=added)
    if summed == own:
        sums = in_order(graph, sums, order, 0)

    def reading(sums: Node) -> Node:
        if summed == own:
            found, axis, links = sums_between(graph, sums, low, high), other, []
        else:
            found = spread_between(graph, sums, low, high, node.sizes[own])
            rank = Lookup(place(graph, "ranks", order, order), (own,))
            axis, links = KEY, [delta({KEY: 1, rank: -1})]
        parts = [*outside, (found, [axis, *kept])]
        return with_parts(graph, node, parts, [*rest, *links])

    return sums, reading
