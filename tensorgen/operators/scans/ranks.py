"""Ranks: a comparison of keys is one of places in their order.

`t[j] >= s[i]` says that the rank of t[j], the largest first, is below the number of
keys that are at least s[i]. So what is added up over j is a running sum in the order of
the keys, which is sorted once. A key that is NaN has no rank below any number, and a
limit that is NaN has no keys.

Keys that equal each other have one place, that of the first of them in order: so what
they have in common is added up once.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from tensorgen.ir.dims import ZERO, Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import (
    Atom,
    Call,
    Constraint,
    Label,
    Lookup,
    Map,
    Node,
    Product,
    Ref,
    Sum,
    constant_value,
    delta,
    indicator,
    labels_of,
)
from tensorgen.operators.scalar import apply, holds, ref, total
from tensorgen.operators.scans.places import argsort, place


def ranked(
    graph: Graph, mask: Ref, summed: Collection[Label], rising: bool = False
) -> Ref | None:
    """A comparison of a key along a summed label with what has other labels, by ranks.

    The largest keys come first where they are at least a limit, unless all are to be in
    `rising` order. Must not fire where either side has both: nothing is sorted then.
    """
    node = mask.node
    if not (isinstance(node, Map) and (side := _side(node.function))):
        return None
    sign, strict = side
    sides = _apart(node, mask, summed)
    if sides is None:
        return None
    keys, limits, turned = sides
    sign = -sign if turned else sign
    falls = rising and sign == -1
    if not falls:
        keys, limits = (total(graph, [(sign, ref)]) for ref in (keys, limits))
    order = argsort(graph, keys.node, 0)
    rank = Lookup(place(graph, "ranks", keys.node, order), keys.labels)
    ordered = in_order(graph, keys.node, order, 0)
    if falls:
        name = "begin_above" if strict else "begin_at"
    else:
        name = "count_below" if strict else "count_within"
    end = Lookup(place(graph, name, ordered, limits.node), limits.labels)
    bound = indicator({rank: 1, end: -1} if falls else {end: 1, rank: -1}, falls - 1)
    return _known(graph, bound, keys, limits)


def tied(graph: Graph, mask: Ref, summed: Collection[Label]) -> Ref | None:
    """The same where a key equals what has other labels, by the places of equals."""
    node = mask.node
    if not (isinstance(node, Map) and node.function == "equal"):
        return None
    sides = _apart(node, mask, summed)
    if sides is None:
        return None
    keys, limits, _ = sides
    ordered = in_order(graph, keys.node, argsort(graph, keys.node, 0), 0)
    own = Lookup(place(graph, "tie_of_key", ordered, keys.node), keys.labels)
    read = Lookup(place(graph, "tie", ordered, limits.node), limits.labels)
    return _known(graph, delta({own: 1, read: -1}), keys, limits)


def _apart(
    node: Map, mask: Ref, summed: Collection[Label]
) -> tuple[Ref, Ref, bool] | None:
    """The key along a summed label that is compared, what has others, and if turned."""
    keys, limits = (arg.under(mask) for arg in node.args)
    turned = len(keys.labels) != 1 or keys.labels[0] not in summed
    if turned:
        keys, limits = limits, keys
    (label, *others), free = keys.labels or (None,), {*limits.labels}
    if others or label not in summed or not free or free & {*summed}:
        return None
    if len(free) < len(limits.labels) or label in free:
        return None
    return keys, limits, turned


def _known(graph: Graph, constraint: Constraint, *refs: Ref) -> Ref:
    """The entries for which a constraint of entries along some axes holds."""
    pairs = (zip(ref.labels, ref.node.dims, strict=True) for ref in refs)
    return holds(graph, constraint, {x: dim for own in pairs for x, dim in own})


def _side(comparison: str) -> tuple[int, bool] | None:
    """The sign of keys that are at most a limit, by what compares, and if below it."""
    if comparison in ("less", "less_equal", "greater", "greater_equal"):
        return 1 if comparison.startswith("less") else -1, "equal" not in comparison
    return None


def counted(graph: Graph, mask: Ref, axis: int) -> Node | None:
    """How many keys along the last axis a comparison holds for."""
    alike = tied(graph, mask, [axis])
    if alike is not None and {*alike.labels} == {*range(axis + 1)}:
        return graph.product(range(axis), [alike])
    known = ranked(graph, mask, [axis])
    bound = bounded(known, [axis]) if known else None
    last = bound and bound[1]
    if not isinstance(last, Lookup) or {*last.labels} != {*range(axis)}:
        return None
    return graph.product(range(axis), [last])


def bounded(mask: Ref, axes: Collection[int]) -> tuple[Atom, Atom, int, Dim] | None:
    """What `sign * (limit + shift - own) >= 0` says, if a mask is such an indicator.

    What is bounded has labels among `axes`, and the limit others.
    """
    node = mask.node
    if not isinstance(node, Product) or node.factors or node.inner:
        return None
    if len(node.constraints) != 1:
        return None
    constraint = node.constraints[0].renamed(mask.labels.__getitem__)
    for own, limit in constraint.compared("ge"):
        apart = {*labels_of(limit)}.isdisjoint(axes)
        if apart and {*labels_of(own)} <= {*axes}:
            sign = constraint.form.coefficient(limit)
            return own, limit, sign, constraint.form.const * sign
    return None


def any_within(graph: Graph, mask: Node, axes: Sequence[int]) -> Node | None:
    """Return where a limit takes in any key, or any limit a key: these are counted."""
    own, limit, sign, shift = bounded(ref(mask), axes) or (0, 0, 0, ZERO)
    rank, number = (own, limit) if sign == 1 else (limit, own)
    if not (isinstance(number, Lookup) and isinstance(rank, Lookup)):
        return None
    if shift != -sign or {*labels_of(own)} != {*axes} or order_of(rank.node) is None:
        return None
    out = {axis: dim for axis, dim in enumerate(mask.dims) if axis not in axes}
    if sign == 1:
        some = indicator({number: 1}, -1)
        return graph.product([*out], [], constraints=[some], sizes=out)
    count = graph.product([*out], [ref(mask)])
    return apply(graph, "greater", ref(count), Ref(graph.constant(0), ())).node


def is_made_apart(ref: Ref, own: Collection[Label], others: Collection[Label]) -> bool:
    """Whether a value is made of what has labels of one side by sums and products."""
    if {*own}.isdisjoint(ref.labels) or {*others}.isdisjoint(ref.labels):
        return True
    match ref.node:
        case Sum(terms=terms):
            parts = [term.ref for term in terms]
        case Product(inner=(), constraints=(), factors=factors):
            parts = [*factors]
        case Map(function="pow", args=(base, power)):
            if constant_value(power.node) != 2:
                return False
            parts = [base]
        case _:
            return False
    return all(is_made_apart(part.under(ref), own, others) for part in parts)


def in_order(graph: Graph, x: Node, order: Node, axis: int) -> Node:
    """The entries of an array along an axis, in the order of places."""
    return moved(graph, x, axis, delta({PLACE: 1, Lookup(order, (axis,)): -1}))


PLACE = "place"
"""The label of an axis of which the entries move."""


def moved(graph: Graph, x: Node, axis: int, constraint: Constraint) -> Node:
    """What a constraint takes of an array along an axis, which is `PLACE` in it."""
    return graph.product(
        range(x.order),
        [(x, [PLACE if a == axis else a for a in range(x.order)])],
        constraints=[constraint],
        sizes=dict(enumerate(x.dims)),
    )


def orders_in(masks: Iterable[Ref]) -> set[Node]:
    """The orders that masks compare places in."""
    products = [ref.node for ref in masks if isinstance(ref.node, Product)]
    forms = (c.form for node in products for c in node.constraints)
    atoms = (atom for form in forms for atom, _ in form.terms)
    orders = (order_of(x.node) for x in atoms if isinstance(x, Lookup))
    return {order for order in orders if order is not None}


def order_of(rank: Node) -> Node | None:
    """The places of entries in order, if these are their ranks."""
    return rank.args[1] if isinstance(rank, Call) and rank.operator == "ranks" else None
