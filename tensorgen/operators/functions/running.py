"""Running sums and products along an axis."""

from __future__ import annotations

from tensorgen.ir.nodes import indicator
from tensorgen.operators.functions.array import OLD, Array, Build, Misuse, replaced
from tensorgen.operators.functions.reductions import normal_axis
from tensorgen.operators.scans.running import running_prod


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
    # A recurrence; the library has a walk for it.
    along = len(x.batch) + _along(x, axis, "cumprod")
    return Array(running_prod(build.graph, x.node, along), x.batch)
