"""Reshaping: a linear call, since merged axes have a symbolic stride.

Its transpose is the reshape back. In C order, axes behind all others and before all
others stay aside, so tangents and cotangents are reshaped along with their extra axes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Call, Node, Product, Ref, constant_value
from tensorgen.operators.table import Operator, Transfer


def reshape(graph: Graph, x: Node, dims: Sequence[Dim]) -> Node:
    """Return the entries of `x`, in C order, with axes `dims`.

    Numbers come out of it, reshapes of reshapes are one, and axes of length 1 come
    and go as products, which structure passes through.
    """
    wanted = tuple(dims)
    value = constant_value(x)
    if value is not None:
        return graph.constant(value, wanted)
    if isinstance(x, Call) and x.operator == "reshape":
        return reshape(graph, x.args[0], wanted)
    if isinstance(x, Product) and x.coefficient != 1:
        scaled = reshape(graph, graph.scale(x, 1 / x.coefficient), wanted)
        return graph.scale(scaled, x.coefficient)
    source = [axis for axis, dim in enumerate(x.dims) if dim != 1]
    target = [axis for axis, dim in enumerate(wanted) if dim != 1]
    if [x.dims[a] for a in source] != [wanted[a] for a in target]:
        return graph.call("reshape", [x], wanted, dims=wanted)
    names: dict[int, object] = dict(zip(source, target, strict=True))
    return graph.product(
        range(len(wanted)),
        [(x, [names.get(axis, ("thin", axis)) for axis in range(x.order)])],
        constraints=[
            ("eq", {("thin", axis): 1}, 0)
            for axis in range(x.order)
            if axis not in names
        ],
        sizes=dict(enumerate(wanted)),
    )


def source(ref: Ref) -> Node | None:
    """What a use of a reshaped array along its own axes reshapes, else None."""
    node, labels = ref
    whole = labels == tuple(range(len(labels)))
    if whole and isinstance(node, Call) and node.operator == "reshape":
        return node.args[0]
    return None


def _dims(args: Sequence[Node], params: Mapping[str, object]) -> tuple[Dim, ...]:
    return cast(tuple[Dim, ...], params["dims"])


def _forward(graph: Graph, node: Call, tangent: Node, extra: Sequence[Dim]) -> Node:
    return reshape(graph, tangent, (*node.dims, *extra))


def _reverse(graph: Graph, node: Call, cotangent: Node, rows: Sequence[Dim]) -> Node:
    return reshape(graph, cotangent, (*rows, *node.args[0].dims))


ROW = Operator(
    "reshape",
    _dims,
    Transfer(_forward, _reverse),
    "{0}.reshape({dims})",
    params=("dims",),
    view=True,
)
