"""Running sums and products along an axis."""

from __future__ import annotations

from tensorgen.ir.nodes import indicator
from tensorgen.operators.functions.array import OLD, Array, Build, Misuse, replaced
from tensorgen.operators.functions.reductions import normal_axis
from tensorgen.operators.recurrences import State, recurrence


def _along(x: Array, axis: int | None, name: str) -> int:
    if axis is None and x.order != 1:
        raise Misuse(f"'{name}' of more than one axis needs axis=", [("x", "")])
    return normal_axis(axis or 0, x.order)


def cumsum(build: Build, x: Array, axis: int | None = None) -> Array:
    """Running sums."""
    along = _along(x, axis, "cumsum")
    return replaced(build, x, along, indicator({along: 1, OLD: -1}), x.shape[along])


def cumprod(build: Build, x: Array, axis: int | None = None) -> Array:
    """Running products; the derivative divides by nothing, so entries may be zero."""
    # A recurrence, p[t + 1] = p[t] * x[t] from 1 on; the library has a walk for it.
    along = len(x.batch) + _along(x, axis, "cumprod")
    graph, order = build.graph, x.node.order
    front = (along, *(k for k in range(order) if k != along))
    rows = graph.permute(x.node, front)
    before, item = (graph.fresh(rows.dims[1:], (), None) for _ in range(2))
    axes = range(order - 1)
    after = graph.product(axes, [(before, axes), (item, axes)])
    states = [State(before, graph.constant(1, before.dims), after)]
    whole = recurrence(graph, rows.dims[0], False, states, {item: rows})
    back = tuple(front.index(k) for k in range(order))
    return Array(graph.permute(whole.after(graph, 0), back), x.batch)
