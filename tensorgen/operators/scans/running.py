"""Running reductions: of all z[j] with j <= i, in one walk.

Log-sum-exps and the largest or smallest entries so far are calls, whose derivatives are
products with triangles (`triangles`). Products so far are a recurrence, whose
derivatives divide by nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from tensorgen.ir.constraints import index_bound
from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Lookup, Map, Node, Ref, delta, indicator, labels_of
from tensorgen.operators.recurrences.recurrence import State, recurrence
from tensorgen.operators.scalar import apply, holds
from tensorgen.operators.scans.keys import Reduced, within
from tensorgen.operators.scans.monoids import MONOIDS
from tensorgen.operators.scans.places import place
from tensorgen.operators.scans.ranks import (
    PLACE,
    bounded,
    in_order,
    moved,
    order_of,
    ranked,
)


def flipped(graph: Graph, x: Node, axis: int) -> Node:
    """Return an array in reverse order along an axis."""
    return moved(graph, x, axis, delta({axis: 1, PLACE: 1}, 1 - x.dims[axis]))


def running_sum(graph: Graph, x: Node, axis: int) -> Node:
    """Return running sums, as a product."""
    return moved(graph, x, axis, indicator({axis: 1, PLACE: -1}))


def running(graph: Graph, z: Node, axis: int, operator: str) -> Node:
    """Return a running reduction that is a call, such as `running_max`."""
    return graph.call(operator, [z], z.dims, along=(axis,))


def running_prod(graph: Graph, z: Node, axis: int) -> Node:
    """Return running products, by p[t + 1] = p[t] * z[t] from 1 on."""
    front = (axis, *(k for k in range(z.order) if k != axis))
    rows = graph.permute(z, front)
    before, item = (graph.fresh(rows.dims[1:], (), None) for _ in range(2))
    axes = range(z.order - 1)
    after = graph.product(axes, [(before, axes), (item, axes)])
    states = [State(before, graph.constant(1, before.dims), after)]
    whole = recurrence(graph, rows.dims[0], False, states, {item: rows})
    back = tuple(front.index(k) for k in range(z.order))
    return graph.permute(whole.after(graph, 0), back)


# Recognition


def over_triangle(
    graph: Graph, operator: str, x: Node, axes: Sequence[int], reduced: Reduced
) -> Node | None:
    """Return a reduction over axes of `where([j <= i], z, neutral)` as a running one.

    Or with `j >= i`, from the other end; i may be shifted as far as each reduction has
    an entry. So it is where keys along j are compared, in their order. Must not fire
    where z has the axis i. `reduced` reduces over other axes.
    """
    known = MONOIDS.get(operator)
    if known is None or not (isinstance(x, Map) and x.function == "where"):
        return None
    neutral, (mask, z, rest) = known.neutral(graph), x.args
    walk = partial(running, operator=known.running) if known.running else running_prod
    bound = bounded(ranked(graph, mask, axes) or mask, axes)
    if rest.node is not neutral or bound is None or not {*axes} <= {*z.labels}:
        return None
    own, limit, sign, shift = bound
    order = order_of(own.node) if isinstance(own, Lookup) else None
    if {*labels_of(limit)} & {*z.labels} or (isinstance(own, Lookup) and not order):
        return None
    (j,) = labels_of(own)
    length = x.dims[j]
    size = index_bound(limit.node) if isinstance(limit, Lookup) else x.dims[limit]
    # Counted places have none before the first; others have an entry each.
    counts = isinstance(limit, Lookup) and sign == 1 and shift == -1
    if size is None or not within(size - counts, shift + counts, length):
        return None
    others = [axis for axis in axes if axis != j]
    inner, labels = z.node, z.labels
    if others:
        gone = tuple(sorted(labels.index(axis) for axis in others))
        labels = tuple(axis for axis in labels if axis not in others)
        inner = reduced(inner, gone)
    at = labels.index(j)
    if order:
        inner = in_order(graph, inner, order, at)
    if sign == 1:
        found = walk(graph, inner, at)
    else:
        turned = walk(graph, flipped(graph, inner, at), at)
        found = flipped(graph, turned, at)
    out = {axis: d for axis, d in enumerate(x.dims) if axis not in axes}
    whole = Ref(found, tuple(-1 if axis == j else axis for axis in labels))
    if counts and isinstance(limit, Lookup):
        return _last_of_some(graph, whole, limit, out, neutral)
    end = delta({-1: 1, limit: -1}, -shift)
    return graph.product([*out], [whole], constraints=[end], sizes=out)


def _last_of_some(
    graph: Graph, whole: Ref, limit: Lookup, out: dict[int, Dim], neutral: Node
) -> Node:
    """What so many first entries are reduced to, along the label -1 of `whole`."""
    at = whole.labels.index(-1)
    places = graph.constant(0, (whole.node.dims[at],))
    last = place(graph, "last_place", places, limit.node)
    end = delta({-1: 1, Lookup(last, limit.labels): -1})
    found = graph.product([*out], [whole], constraints=[end], sizes=out)
    some = holds(graph, indicator({limit: 1}, -1), out)
    own = Ref(found, tuple(out))
    return apply(graph, "where", some, own, Ref(neutral, ())).node
