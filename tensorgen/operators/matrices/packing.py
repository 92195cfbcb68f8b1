"""Arrays symmetric in their last axes, with one entry a combination of indices.

`packed` keeps the entries whose last indices do not rise, in C order: of `T[i, j, k]`
those with i >= j >= k, which are n * (n + 1) * (n + 2) / 6. `unpacked` puts each of
them back wherever its indices stand in any order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from tensorgen.ir.dims import Dim, combinations
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Call, Node
from tensorgen.operators.table import Operator, given_shape, no_partials


def packed(graph: Graph, node: Node, count: int) -> Node:
    """Return what there is once of an array symmetric in its last `count` axes."""
    if isinstance(node, Call) and node.operator == "unpacked":
        (inner,) = node.args
        if node.order - inner.order == count - 1:
            return inner
    axes = tuple(range(node.order - count, node.order))
    return graph.call("packed", [node], _dims([node], {"axes": axes}), axes=axes)


def unpacked(graph: Graph, node: Node, size: Dim, count: int) -> Node:
    """Return an array with `count` symmetric axes of a size, given as it is packed."""
    shape = (*node.dims[:-1], *[size] * count)
    return graph.call("unpacked", [node], shape, shape=shape)


def _dims(args: Sequence[Node], params: Mapping[str, object]) -> tuple[Dim, ...]:
    axes = cast(tuple[int, ...], params["axes"])
    dims = args[0].dims
    return *dims[: axes[0]], combinations(dims[axes[0]], len(axes))


ROWS = (
    Operator(
        "packed",
        _dims,
        no_partials,
        "_packed({0}{axis})",
        params=("axes",),
        internal=True,
    ),
    Operator(
        "unpacked",
        given_shape,
        no_partials,
        "_unpacked({0}, {shape})",
        params=("shape",),
        internal=True,
    ),
)
