"""Arrays made of several copies of another, moved or side by side."""

from __future__ import annotations

from tensorgen.ir.dims import ONE, Dim, count
from tensorgen.ir.nodes import delta
from tensorgen.operators.functions.arithmetic import total
from tensorgen.operators.functions.array import (
    OLD,
    Array,
    Build,
    Misuse,
    Shape,
    insert_axes,
    replaced,
)
from tensorgen.operators.functions.making import broadcast_to, ravel, reshape
from tensorgen.operators.functions.reductions import normal_axis


def diff(build: Build, x: Array, k: int = 1, axis: int = -1) -> Array:
    """Differences of neighbours, taken k times."""
    along = normal_axis(axis, x.order)
    if k < 0:
        raise Misuse("differences are taken 0 times or more", [("k", "")])
    for _ in range(k):
        length = x.shape[along] - 1
        build.require(1, x.shape[along], "'diff'", "x")
        ends = [
            replaced(build, x, along, delta({OLD: 1, along: -1}, -start), length)
            for start in (1, 0)
        ]
        x = total(build, [(1, ends[0]), (-1, ends[1])])
    return x


def pad(build: Build, x: Array, pad_width: object) -> Array:
    """With zeros before and behind: a width, a pair, or a pair for each axis."""
    for axis, (before, behind) in enumerate(_widths(pad_width, x.order)):
        length = x.shape[axis] + before + behind
        moved = delta({OLD: 1, axis: -1}, before)
        x = replaced(build, x, axis, moved, length)
    return x


def _widths(given: object, order: int) -> list[tuple[int, int]]:
    pairs = given if isinstance(given, tuple) else (given, given)
    if not any(isinstance(pair, tuple) for pair in pairs):
        pairs = (pairs,) * order
    found = [pair for pair in pairs if isinstance(pair, tuple) and len(pair) == 2]
    whole = all(isinstance(w, int) and w >= 0 for pair in found for w in pair)
    if len(found) != order or len(pairs) != order or not whole:
        hint = "pad(x, 1), pad(x, (1, 2)) or pad(X, ((1, 2), (0, 0)))"
        raise Misuse("widths are nonnegative integers", [("pad_width", "")], hint)
    return found


def repeat(build: Build, x: Array, n: Dim, axis: int | None = None) -> Array:
    """Each entry n times, one behind the other; without axis those of ravel."""
    if axis is None:
        x, axis = ravel(build, x), 0
    along = normal_axis(axis, x.order)
    front, rest = x.shape[: along + 1], x.shape[along + 1 :]
    wide = insert_axes(build, x, [along + 1], x.order + 1)
    wide = broadcast_to(build, wide, (*front, n, *rest))
    return reshape(build, wide, (*front[:-1], front[-1] * n, *rest))


def tile(build: Build, x: Array, reps: Shape) -> Array:
    """Copies side by side, along the last axes as many as reps says."""
    order = max(x.order, len(reps))
    x = insert_axes(build, x, list(range(order - x.order)), order)
    reps = (ONE,) * (order - len(reps)) + reps
    wide = insert_axes(build, x, list(range(0, 2 * order, 2)), 2 * order)
    pairs = list(zip(reps, x.shape, strict=True))
    wide = broadcast_to(build, wide, tuple(dim for pair in pairs for dim in pair))
    return reshape(build, wide, tuple(count(pair) for pair in pairs))
