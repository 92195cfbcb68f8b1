"""Reductions over axes: what they keep, and what blocks of entries give of them.

A block may have no entries. Softmax, its logarithm and the sum of exponentials are made
of two reductions, the largest entry and what is above it, which blocks give as well.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Call, Node, Ref
from tensorgen.operators.scalar import apply as apply_map
from tensorgen.operators.scalar import power, ref, times, total
from tensorgen.operators.table import Partial

Params = Mapping[str, object]


def axes_of(params: Params) -> tuple[int, ...]:
    """The axes that a reduction reduces."""
    return cast(tuple[int, ...], params["axes"])


def reduced_dims(args: Sequence[Node], params: Params) -> tuple[Dim, ...]:
    """The dims of a reduction's result."""
    gone = axes_of(params)
    return tuple(d for axis, d in enumerate(args[0].dims) if axis not in gone)


def kept_axes(node: Call) -> tuple[int, ...]:
    """The axes of a reduction's argument that the result keeps."""
    gone = axes_of(dict(node.params))
    return tuple(a for a in range(node.args[0].order) if a not in gone)


def has_some(node: Call) -> bool:
    """Whether a reduction takes in an entry wherever all sizes are at least 1."""
    (x,) = node.args
    return all(x.dims[axis].is_positive() for axis in axes_of(dict(node.params)))


def operand_labels(node: Call) -> tuple[object, ...]:
    """Labels of a reduction's argument where the result has 0, 1, ..."""
    kept = {axis: k for k, axis in enumerate(kept_axes(node))}
    return tuple(kept.get(a, ("reduced", a)) for a in range(node.args[0].order))


def weighted(node: Call, weights: Node) -> list[Partial]:
    """The derivative of a reduction, by weights over its argument."""
    labels = operand_labels(node)
    return [Partial(node.args[0], labels, factors=((weights, labels),))]


def two_entries(node: Call) -> tuple[tuple[int, ...], tuple[object, ...]]:
    """The axes of a call with those of its argument, and labels of another entry."""
    axes, kept = tuple(range(node.order)), kept_axes(node)
    return axes, tuple(a if a in kept else ("reduced", a) for a in axes)


def _by_sums(graph: Graph, node: Call) -> tuple[Ref, Ref, Ref]:
    """What is above the largest entry, that one, and the sum of the exponentials."""
    (x,), kept = node.args, kept_axes(node)
    largest = graph.call("supremum", node.args, _kept_dims(node), **dict(node.params))
    sums = graph.call("exp_sum", node.args, _kept_dims(node), **dict(node.params))
    level = apply_map(graph, "level", ref(largest)).node
    shifted = total(graph, [(1, ref(x)), (-1, Ref(level, kept))])
    return (
        shifted,
        Ref(largest, kept),
        Ref(apply_map(graph, "nonzero", ref(sums)).node, kept),
    )


def _kept_dims(node: Call) -> tuple[Dim, ...]:
    return reduced_dims(node.args, dict(node.params))


def logsumexp_by_sums(graph: Graph, node: Call) -> Node:
    """The largest entry plus the logarithm of the sum above it."""
    _, largest, sums = _by_sums(graph, node)
    return graph.add(largest.node, apply_map(graph, "log", ref(sums.node)).node)


def log_softmax_by_sums(graph: Graph, node: Call) -> Node:
    """What is above the largest entry, less the logarithm of the sum."""
    shifted, _, sums = _by_sums(graph, node)
    return total(graph, [(1, shifted), (-1, apply_map(graph, "log", sums))]).node


def softmax_by_sums(graph: Graph, node: Call) -> Node:
    """The exponentials above the largest entry, over their sum."""
    shifted, _, sums = _by_sums(graph, node)
    exps = apply_map(graph, "exp", shifted)
    return times(graph, exps, power(graph, sums, -1)).node


# Of a block of entries, of which there may be none


def as_it_is(graph: Graph, node: Call) -> Node:
    """The reduction, which has a value of no entries."""
    return node


def largest_of_block(graph: Graph, node: Call) -> Node:
    """The largest entry, -inf of none."""
    return graph.call("supremum", node.args, node.dims, **dict(node.params))


def smallest_of_block(graph: Graph, node: Call) -> Node:
    """The smallest entry, infinity of none."""
    turned = graph.scale(node.args[0], -1)
    largest = graph.call("supremum", [turned], node.dims, **dict(node.params))
    return graph.scale(largest, -1)


def exp_sum_of_block(graph: Graph, node: Call) -> Node:
    """The sum of exponentials above the block's largest entry."""
    with graph.without_rewrites():
        (x,), kept = node.args, kept_axes(node)
        largest = largest_of_block(graph, node)
        level = apply_map(graph, "level", ref(largest)).node
        shifted = total(graph, [(1, ref(x)), (-1, Ref(level, kept))])
        exps = apply_map(graph, "exp", shifted).node
        return graph.product(kept, [(exps, range(x.order))])
