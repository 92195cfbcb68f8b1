"""Sums by a part of the keys are a part of the sums by all of them.

What is added at `key[l] - 1`, where that is a place, would be masked term by term, and
its places kept inside; an entry more or two of a result cost less.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tensorgen.ir.constraints import Ranges, index_bound, solved
from tensorgen.ir.dims import ZERO
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Affine, Constraint, Label, Lookup, Node, Product
from tensorgen.ir.rebuild import rebuild
from tensorgen.passes.context import Context
from tensorgen.passes.cost import CostModel


def whole_keys(context: Context, roots: Sequence[Node]) -> list[Node]:
    """Return `roots` with sums by some of an index array's keys as parts of all sums.

    Fires where all sums have, beside those that are asked for, no more entries than
    there are terms. Ends: a sum more has all keys.
    """
    graph, cost = context.graph, context.cost
    return rebuild(graph, roots, lambda node: _part(graph, node, cost))


def _part(graph: Graph, node: Node, cost: CostModel) -> Node:
    """A sum by keys as what is read of all sums."""
    if not isinstance(node, Product) or index_bound(node) is not None:
        return node
    for constraint in node.constraints:
        found = _keyed(node, constraint)
        bound = found and index_bound(found.key.node)
        if found is None or bound is None:
            continue
        axis, key, form = found
        sizes = {**dict(enumerate(node.sizes)), axis: bound}
        dims = [sizes[k] for k in range(node.order)]
        terms = [size for x, size in sizes.items() if x != axis]
        inside = Ranges.of(dict(enumerate(node.sizes))).contain(form, (ZERO, bound))
        whole = form == Affine.atom(axis) and dims[axis] == node.dims[axis]
        more = cost.size(dims) - cost.size(node.dims)
        if whole or not inside or more > cost.size(terms):
            continue
        others = [c for c in node.constraints if c is not constraint]
        tie = Constraint("eq", Affine.atom(axis) - Affine.atom(key))
        sums = graph.product(
            range(node.order), node.factors, constraints=[*others, tie], sizes=sizes
        )
        place = node.order
        labels = [place if x == axis else x for x in range(place)]
        return graph.product(
            range(node.order),
            [(_part(graph, sums, cost), labels)],
            coefficient=node.coefficient,
            constraints=[Constraint("eq", Affine.atom(place) - form)],
            sizes={axis: node.dims[axis]},
        )
    return node


class _Keyed(NamedTuple):
    """An axis that is an entry of an index array, and which entry of all a place is."""

    axis: Label
    key: Lookup
    form: Affine


def _keyed(node: Product, constraint: Constraint) -> _Keyed | None:
    """What a delta says of an axis of which nothing else says anything."""
    kind, form = constraint
    units = [atom for atom, c in form.terms if abs(c) == 1]
    keys = [atom for atom in units if isinstance(atom, Lookup)]
    axes = [atom for atom in units if not isinstance(atom, Lookup)]
    if kind != "eq" or len(form.terms) != 2 or not len(keys) == len(axes) == 1:
        return None
    (key,), (axis,) = keys, axes
    others = (c.form.labels for c in node.constraints if c is not constraint)
    used = {*key.labels}.union(*others, *(ref.labels for ref in node.factors))
    summed = max(key.labels, default=0) >= node.order > axis
    return _Keyed(axis, key, solved(form, key)) if summed and axis not in used else None
