"""Mask factors: what a condition leaves of a product is left of one factor of it.

    sum_j where(m[i, j], A[i, j] * B[t, j], 0)
        = sum_j where(m[i, j], A[i, j], 0) * B[t, j]

which is a product of matrices, and no array over i, j and t.
"""

from __future__ import annotations

from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import (
    Constant,
    Input,
    Iota,
    Map,
    Node,
    Product,
    Ref,
    Size,
    Sum,
    constant_value,
    topological,
)
from tensorgen.ir.views import View
from tensorgen.operators.calls import apply as call
from tensorgen.operators.conditions.bounds import is_unsafe
from tensorgen.operators.scalar import apply
from tensorgen.passes.order.factor_sums import pays
from tensorgen.passes.rounds import Round
from tensorgen.prices.thresholds import SHARE_OF_EXPANDED


def mask_factors(known: Round, node: Node) -> Node:
    """Return a contraction with a condition on one factor, not on their product.

    What a condition excludes never reaches a value. So the other factors must be finite
    where their arguments are, and rows of data that the condition excludes whole are
    set to 0: they may be anything.
    """
    if not isinstance(node, Product) or not node.inner:
        return node
    for place, (factor, _) in enumerate(node.factors):
        if factor in known.named:
            continue
        parts = _parts(known.context.graph, factor)
        if parts is None:
            continue
        apart = _apart(known.context.graph, node, place, parts)
        cost = known.context.cost
        if pays(known.context.graph, node, apart, cost, SHARE_OF_EXPANDED):
            return known.again(apart)
    return node


def _parts(graph: Graph, node: Node) -> list[Ref] | None:
    """The factors of a product under a condition, one of them under it instead.

    None if there is no such product. Labels are the axes of the selection.
    """
    if not isinstance(node, Map) or node.function != "where":
        return None
    condition, chosen, other = node.args
    if constant_value(chosen.node) == 0:
        condition, chosen, other = apply(graph, "logical_not", condition), other, chosen
    product = chosen.node
    if constant_value(other.node) != 0 or not isinstance(product, Product):
        return None
    if product.inner or product.constraints:
        return None
    refs = [factor.under(chosen) for factor in product.factors]
    axes = set(condition.labels)
    entries = [ref for ref in refs if axes <= set(ref.labels)]
    others = [ref for ref in refs if ref not in entries]
    if not entries or not others or not all(_is_finite(ref.node) for ref in others):
        return None
    labels = sorted({x for ref in entries for x in ref.labels})
    if len(labels) == node.order:  # it is as large as the product
        return None
    coefficient = product.coefficient
    core = graph.product(labels, entries, coefficient=coefficient)
    masked = _selected(graph, condition, Ref(core, tuple(labels)))
    if not all(isinstance(x, _PLACES) for x in topological([condition.node])):
        others = [_where_read(graph, condition, ref) for ref in others]
    return [masked, *others]


_PLACES = (Iota, Size, Constant, Map)
"""What conditions on places alone are made of."""


def _is_finite(node: Node) -> bool:
    parts = topological([node])
    maps = [x for x in parts if isinstance(x, Map)]
    known = (Input, Iota, Size, Constant, Map, Product, Sum)
    return all(isinstance(x, known) for x in parts) and not any(
        is_unsafe(x, None, varies=True) for x in maps
    )


def _selected(graph: Graph, condition: Ref, chosen: Ref) -> Ref:
    """An array where a condition on some of its axes holds, and 0 elsewhere."""
    at = chosen.labels.index
    own = Ref(condition.node, tuple(at(x) for x in condition.labels))
    zero = Ref(graph.constant(0), ())
    axes = tuple(range(len(chosen.labels)))
    found = apply(graph, "where", own, Ref(chosen.node, axes), zero)
    return Ref(found.node, tuple(chosen.labels[x] for x in found.labels))


def _where_read(graph: Graph, condition: Ref, ref: Ref) -> Ref:
    """A factor with zeros where the condition holds nowhere along its other axes."""
    gone = [k for k, x in enumerate(condition.labels) if x not in ref.labels]
    anywhere = call(graph, "any", [condition.node], axes=tuple(gone))
    kept = tuple(x for x in condition.labels if x in ref.labels)
    return _selected(graph, Ref(anywhere, kept), ref)


def _apart(graph: Graph, node: Product, place: int, parts: list[Ref]) -> Node:
    """The contraction with these factors instead of the one at a place."""
    view, labels = View.of(node, without=place), node.factors[place].labels
    for inner, axes in parts:
        view.add(inner, [labels[x] for x in axes])
    return view.product(graph, range(node.order))
