"""Sums, means, norms and extrema over axes, whole or masked.

Index notation reduces over indices: the language moves their axes behind all others
and passes their conditions as a `Mask` over those last axes. So `sum(X, axis=1)` and
`sum(X[i, j], j)` are made by the same lines.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tensorgen.ir.dims import Dim
from tensorgen.operators.calls import apply
from tensorgen.operators.functions.arithmetic import (
    elementwise,
    power,
    reciprocal,
    times,
    total,
)
from tensorgen.operators.functions.array import (
    Array,
    Build,
    Label,
    Misuse,
    Place,
    insert_axes,
    number,
    product,
)

Axis = int | tuple[int, ...] | None


@dataclass(frozen=True, slots=True)
class Mask:
    """Which entries count: their last axes align with those of the reduced array.

    `weight` is a product of deltas and indicators; `condition` an elementwise
    condition, which selects, so that what it excludes may be infinite or NaN.
    """

    weight: Array | None = None
    condition: Array | None = None

    def whole(self, build: Build) -> Array | None:
        """The mask as one array of zeros and ones."""
        parts = [part for part in (self.weight, self.condition) if part is not None]
        return times(build, parts) if parts else None


def normal_axis(axis: Axis, order: int, at: Place = "axis") -> int:
    """Return one axis counted from the front."""
    if not isinstance(axis, int):
        raise Misuse("one axis is expected, written as a number", [(at, "")])
    if not -order <= axis < order:
        axes = f"{order} ax{'i' if order == 1 else 'e'}s"
        raise Misuse(f"axis {axis} is outside of an array with {axes}", [(at, "")])
    return axis % order


def normal_axes(axis: Axis, order: int) -> tuple[int, ...]:
    """Return the axes that `axis` means, ascending; None means all."""
    if axis is None:
        return tuple(range(order))
    given = axis if isinstance(axis, tuple) else (axis,)
    axes = sorted(normal_axis(a, order) for a in given)
    if len(set(axes)) < len(axes):
        raise Misuse("an axis is given twice", [("axis", "")])
    return tuple(axes)


def _kept(x: Array, axes: Sequence[int]) -> tuple[int, ...]:
    return tuple(a for a in range(x.order) if a not in axes)


def _restored(build: Build, x: Array, axes: Sequence[int], keepdims: bool) -> Array:
    return insert_axes(build, x, axes, x.order + len(axes)) if keepdims else x


def _sum(build: Build, x: Array, axes: Sequence[int], mask: Mask) -> Array:
    """Sum the entries over axes, where the mask holds."""
    if mask.condition is not None:
        x = elementwise(build, "where", [mask.condition, x, number(build, 0)])
    operands: list[tuple[Array, Sequence[Label]]] = [(x, range(x.order))]
    if mask.weight is not None:
        order = mask.weight.order
        operands.append((mask.weight, range(x.order - order, x.order)))
    return product(build, _kept(x, axes), operands)


def _filled(build: Build, x: Array, mask: Mask, fill: Array) -> Array:
    """Replace what the mask leaves out."""
    whole = mask.whole(build)
    return x if whole is None else elementwise(build, "where", [whole, x, fill])


def _count(build: Build, x: Array, axes: Sequence[int], mask: Mask) -> Array:
    """How many entries a reduction over `axes` takes in."""
    whole = mask.whole(build)
    if whole is None:
        size = Dim.of(1)
        for axis in axes:
            size = size * x.shape[axis]
        return Array(build.graph.size(size))
    return product(build, (), [(whole, range(whole.order))])


def _infinite(build: Build, sign: int) -> Array:
    infinity = build.graph.named_constant("inf")
    return Array(build.graph.scale(infinity, sign))


def _call(
    build: Build, operator: str, x: Array, axes: Sequence[int], mask: Mask, fill: Array
) -> Array:
    """Apply a reduction that is a row of the table of operators."""
    if not axes:
        return x
    x = _filled(build, x, mask, fill)
    shifted = tuple(len(x.batch) + axis for axis in axes)
    return Array(apply(build.graph, operator, [x.node], axes=shifted), x.batch)


_WHOLE = Mask()


def sum_(
    build: Build,
    x: Array,
    axis: Axis = None,
    keepdims: bool = False,
    mask: Mask = _WHOLE,
) -> Array:
    """Build the sum of entries."""
    axes = normal_axes(axis, x.order)
    return _restored(build, _sum(build, x, axes, mask), axes, keepdims)


def mean(
    build: Build,
    x: Array,
    axis: Axis = None,
    keepdims: bool = False,
    mask: Mask = _WHOLE,
) -> Array:
    """Build the mean of entries."""
    axes = normal_axes(axis, x.order)
    share = reciprocal(build, _count(build, x, axes, mask))
    value = times(build, [_sum(build, x, axes, mask), share])
    return _restored(build, value, axes, keepdims)


def var(
    build: Build,
    x: Array,
    axis: Axis = None,
    keepdims: bool = False,
    mask: Mask = _WHOLE,
) -> Array:
    """Build the mean squared deviation from the mean."""
    center = mean(build, x, axis, True, mask)
    deviation = total(build, [(1, x), (-1, center)])
    square = power(build, deviation, number(build, 2))
    return mean(build, square, axis, keepdims, mask)


def prod(
    build: Build,
    x: Array,
    axis: Axis = None,
    keepdims: bool = False,
    mask: Mask = _WHOLE,
) -> Array:
    """Build the product of entries."""
    axes = normal_axes(axis, x.order)
    value = _call(build, "prod", x, axes, mask, number(build, 1))
    return _restored(build, value, axes, keepdims)


def max_(
    build: Build,
    x: Array,
    axis: Axis = None,
    keepdims: bool = False,
    mask: Mask = _WHOLE,
) -> Array:
    """Build the largest entry."""
    axes = normal_axes(axis, x.order)
    value = _call(build, "max", x, axes, mask, _infinite(build, -1))
    return _restored(build, value, axes, keepdims)


def min_(
    build: Build,
    x: Array,
    axis: Axis = None,
    keepdims: bool = False,
    mask: Mask = _WHOLE,
) -> Array:
    """Build the smallest entry."""
    axes = normal_axes(axis, x.order)
    value = _call(build, "min", x, axes, mask, _infinite(build, 1))
    return _restored(build, value, axes, keepdims)


def logsumexp(
    build: Build,
    x: Array,
    axis: Axis = None,
    keepdims: bool = False,
    mask: Mask = _WHOLE,
) -> Array:
    """Build the logarithm of the sum of exponentials."""
    axes = normal_axes(axis, x.order)
    value = _call(build, "logsumexp", x, axes, mask, _infinite(build, -1))
    return _restored(build, value, axes, keepdims)


def norm(
    build: Build,
    x: Array,
    ord: object = None,
    axis: Axis = None,
    keepdims: bool = False,
    mask: Mask = _WHOLE,
) -> Array:
    """Build an entrywise norm: Euclidean, or with `ord` 1 or inf."""
    axes = normal_axes(axis, x.order)
    if ord in (None, 2) and axes:
        value = _call(build, "norm", x, axes, mask, number(build, 0))
    elif ord in (None, 2):
        value = elementwise(build, "abs", [x])
    elif ord == 1:
        value = _sum(build, elementwise(build, "abs", [x]), axes, mask)
    elif ord == "inf":
        size = elementwise(build, "abs", [x])
        value = _call(build, "max", size, axes, mask, number(build, 0))
    else:
        hint = "norm(x) is Euclidean, norm(x, 1) and norm(x, inf) are entrywise"
        raise Misuse(f"there is no norm of order {ord}", [("ord", "")], hint)
    return _restored(build, value, axes, keepdims)


# What keeps its axes


def softmax(build: Build, x: Array, axis: Axis = None) -> Array:
    """Build exponentials that are scaled to sum to one."""
    axes = tuple(len(x.batch) + a for a in normal_axes(axis, x.order))
    if not axes:
        return Array(build.graph.constant(1, x.node.dims), x.batch)
    return Array(apply(build.graph, "softmax", [x.node], axes=axes), x.batch)


def log_softmax(build: Build, x: Array, axis: Axis = None) -> Array:
    """Build the logarithm of the softmax, without taking either."""
    axes = tuple(len(x.batch) + a for a in normal_axes(axis, x.order))
    if not axes:
        return Array(build.graph.zeros(x.node.dims), x.batch)
    return Array(apply(build.graph, "log_softmax", [x.node], axes=axes), x.batch)


def cumsum(build: Build, x: Array, axis: int | None = None) -> Array:
    """Build running sums: a product with the indicator `p <= i`."""
    if axis is None and x.order != 1:
        raise Misuse("cumsum of more than one axis needs axis=", [("x", "")])
    along = normal_axis(axis or 0, x.order)
    labels: list[Label] = list(range(x.order))
    labels[along] = "inner"
    return product(
        build,
        range(x.order),
        [(x, labels)],
        constraints=[("ge", {along: 1, "inner": -1}, 0)],
        sizes={along: x.shape[along]},
    )
