"""Shares of a whole, added up over all of it: `sum_k p[k] * c` is c.

Derivatives of means under a softmax are full of it. Where exponents may be infinite
there may be nothing to share, and the sum is 0: no rule is of such shares. Nor is the
mean of what is less its mean left out as 0: it is what rounding has left there, and to
take it off again gives digits back that are lost far from the origin.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Call, Ref
from tensorgen.operators.calls import is_guarded
from tensorgen.operators.reductions_by_blocks import kept_axes
from tensorgen.operators.stable.match import elementwise_factors, is_call


def contracted(
    graph: Graph, factors: Sequence[Ref], summed: Collection[int]
) -> list[Ref] | None:
    """Leave out shares that alone have the labels which they are shares along."""
    for k, factor in enumerate(factors):
        if not {*summed}.isdisjoint(factor.labels):
            coefficient, parts = elementwise_factors(factor)
            for m, part in enumerate(parts):
                rest = [*factors[:k], *factors[k + 1 :], *parts[:m], *parts[m + 1 :]]
                found = _without(graph, part, rest, {*summed})
                if found is not None:
                    return [*found, Ref(graph.constant(coefficient), ())]
    return None


def _without(
    graph: Graph, share: Ref, rest: Sequence[Ref], summed: set[int]
) -> list[Ref] | None:
    """What is left of a product, and how often it is counted along other labels."""
    node, labels = share
    if not isinstance(node, Call) or not is_call(share, "softmax"):
        return None
    alone = {x for x in labels if labels.count(x) == 1} & summed
    alone = alone.difference(*(x.labels for x in rest))
    axes = kept_axes(node)
    kept = {labels[axis] for axis in axes}
    along = {label for axis, label in enumerate(labels) if axis not in axes}
    if not along <= alone or is_guarded(node):  # a diagonal has no label of its own
        return None
    sizes = dict(zip(labels, node.dims, strict=True))
    counts = [graph.size(sizes[x]) for x in sorted(alone & kept)]
    return [*rest, *(Ref(count, ()) for count in counts)]
