"""Sums by a part of the keys are a part of the sums by all of them.

What is added at `key[l] - 1`, where that is a place, would be masked term by term, and
its places kept inside; an entry more or two of a result cost less.
"""

from __future__ import annotations

from collections.abc import Sequence

from tensorgen.ir.constraints import Ranges, index_bound, solved
from tensorgen.ir.dims import ZERO, Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Affine, Constraint, Label, Lookup, Node, Product
from tensorgen.ir.rebuild import rebuild
from tensorgen.passes.context import Context
from tensorgen.passes.cost import CostModel


def whole_keys(context: Context, roots: Sequence[Node]) -> list[Node]:
    """Return `roots` with sums by some of an index array's keys as parts of all sums.

    Fires where the sums by all keys are no more entries than there are terms, beside
    those that are asked for. Ends: each sum has all keys of an index array more.
    """
    graph, cost = context.graph, context.cost
    return rebuild(graph, roots, lambda node: _whole(graph, node, cost))


def _whole(graph: Graph, node: Node, cost: CostModel) -> Node:
    if not isinstance(node, Product) or index_bound(node) is not None:
        return node
    for constraint in node.constraints:
        found = _key(node, constraint)
        if found is None:
            continue
        axis, key, form = found
        bound = index_bound(key.node)
        if bound is None or not _is_part(node, axis, form, bound):
            continue
        dims = [bound if k == axis else dim for k, dim in enumerate(node.dims)]
        terms = cost.size([*node.inner, *_without(node.dims, axis)])
        if cost.size(dims) > cost.size(node.dims) + terms:
            continue
        rest = [c for c in node.constraints if c is not constraint]
        atoms = Affine.atom(axis) - Affine.atom(key)
        sums = graph.product(
            range(node.order),
            node.factors,
            constraints=[*rest, Constraint("eq", atoms)],
            sizes={**dict(enumerate(node.sizes)), axis: bound},
        )
        sums = _whole(graph, sums, cost)
        place = node.order
        labels = [place if k == axis else k for k in range(node.order)]
        return graph.product(
            range(node.order),
            [(sums, labels)],
            coefficient=node.coefficient,
            constraints=[Constraint("eq", Affine.atom(place) - form)],
            sizes={axis: node.dims[axis]},
        )
    return node


def _without(dims: Sequence[Dim], axis: int) -> list[Dim]:
    return [dim for k, dim in enumerate(dims) if k != axis]


def _key(node: Product, constraint: Constraint) -> tuple[Label, Lookup, Affine] | None:
    """The axis that a delta says is an entry, and what of it that entry is.

    Nothing else says anything of the axis.
    """
    kind, form = constraint
    lists = [(x, c) for x, c in form.terms if isinstance(x, Lookup) and abs(c) == 1]
    axes = [x for x, c in form.terms if not isinstance(x, Lookup) and abs(c) == 1]
    if kind != "eq" or len(form.terms) != 2 or len(lists) != 1 or len(axes) != 1:
        return None
    ((key, _),), (axis,) = lists, axes
    others = [c.form for c in node.constraints if c is not constraint]
    used = {x for ref in node.factors for x in ref.labels}
    used |= {x for other in others for x in other.labels} | {*key.labels}
    if axis >= node.order or axis in used or min(key.labels) < node.order:
        return None
    return axis, key, solved(form, key)


def _is_part(node: Product, axis: Label, form: Affine, bound: Dim) -> bool:
    """Whether an axis has a part of all keys, and not all of them in order."""
    whole = node.dims[axis] == bound and form == Affine.atom(axis)
    ranges = Ranges.of(dict(enumerate(node.sizes)))
    return not whole and ranges.contain(form, (ZERO, bound))
