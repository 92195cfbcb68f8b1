"""Sums, means, norms and extrema over axes, whole or masked.

Index notation reduces over indices: the language moves their axes behind all others
and passes their conditions as a `Mask` over those last axes. So `sum(X, axis=1)` and
`sum(X[i, j], j)` are made by the same lines.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from tensorgen.ir.dims import count
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Call, Map, Ref, is_zero
from tensorgen.operators import scalar
from tensorgen.operators.calls import OPERATORS, apply
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
    shorter,
)
from tensorgen.operators.matrices.spectral import singular_values
from tensorgen.operators.scans.keys import same_key, turned
from tensorgen.operators.scans.monoids import MONOIDS
from tensorgen.operators.scans.ranks import (
    counted,
    is_made_apart,
    orders_in,
    ranked,
    tied,
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


def _sum(build: Build, x: Array, axes: Sequence[int], mask: Mask) -> Array:
    """Sum the entries over axes, where the mask holds."""
    if mask.condition is not None:
        x = elementwise(build, "where", [mask.condition, x, number(build, 0)])
    x = _by_key(build, x, axes)
    operands: list[tuple[Array, Sequence[Label]]] = [(x, range(x.order))]
    if mask.weight is not None:
        order = mask.weight.order
        operands.append((mask.weight, range(x.order - order, x.order)))
    return product(build, [a for a in range(x.order) if a not in axes], operands)


def _by_key(build: Build, x: Array, axes: Sequence[int]) -> Array:
    """Entries that are 0 but where keys are alike, or within a limit, as a product."""
    whole, graph = turned(x.node), build.graph
    if not (isinstance(whole.node, Map) and whole.node.function == "where"):
        return x
    mask, z, rest = (arg.under(whole) for arg in whole.node.args)
    if not is_zero(rest.node):
        return x
    summed = {len(x.batch) + axis for axis in axes}
    known = _by_places(graph, mask, z, summed)
    if known is None:
        return x
    sizes = dict(enumerate(x.node.dims))
    return Array(graph.product(range(x.node.order), [*known, z], sizes=sizes), x.batch)


def _by_places(graph: Graph, mask: Ref, z: Ref, summed: set[int]) -> list[Ref] | None:
    """Conditions as keys that are alike and places in one order, if all of them are.

    Two limits of one key are an interval of its order.
    """
    parts = _conditions(mask)
    found: list[Ref] = []
    for rising in (False, True):
        known = [
            same_key(graph, part) or _ordered(graph, part, z, summed, rising)
            for part in parts
        ]
        found = [ref for ref in known if ref is not None]
        if len(found) == len(parts) and len(orders_in(found)) <= 1:
            return found
    return None


def _conditions(mask: Ref) -> list[Ref]:
    """The conditions that all hold where a mask does."""
    node = mask.node
    if isinstance(node, Map) and node.function == "logical_and":
        return [x for arg in node.args for x in _conditions(arg.under(mask))]
    return [mask]


def _ordered(
    graph: Graph, mask: Ref, z: Ref, summed: set[int], rising: bool
) -> Ref | None:
    """A comparison of keys by places in their order, if z does not tell pairs apart.

    Where both keys are summed over, either is that of the other.
    """
    for own in (summed, *({axis} for axis in sorted(summed))):
        known = ranked(graph, mask, own, rising) or tied(graph, mask, own)
        if known is not None:
            sides = own.intersection(known.labels), {*known.labels} - own
            return known if is_made_apart(z, *sides) else None
    return None


def _mean(build: Build, x: Array, axes: Sequence[int], mask: Mask) -> Array:
    share = reciprocal(build, _count(build, x, axes, mask))
    return times(build, [_sum(build, x, axes, mask), share])


def _count(build: Build, x: Array, axes: Sequence[int], mask: Mask) -> Array:
    """How many entries a reduction over `axes` takes in."""
    whole = mask.whole(build)
    if whole is None:
        return Array(build.graph.size(count(x.shape[axis] for axis in axes)))
    if whole.order == 1:
        within = counted(build.graph, turned(whole.node), len(whole.batch))
        if within is not None:
            return Array(within, whole.batch)
    parts = [mask.weight, _in_order(build, mask.condition)]
    order = whole.order
    return product(
        build, (), [(x, range(order - x.order, order)) for x in parts if x is not None]
    )


def _in_order(build: Build, condition: Array | None) -> Array | None:
    """A condition over all of its axes by keys and places, if it has any."""
    if condition is None:
        return None
    whole, graph = turned(condition.node), build.graph
    axes = {len(condition.batch) + axis for axis in range(condition.order)}
    known = _by_places(graph, whole, Ref(graph.constant(1), ()), axes)
    if known is None:
        return condition
    sizes = dict(enumerate(condition.node.dims))
    places = graph.product(range(condition.node.order), known, sizes=sizes)
    return Array(places, condition.batch)


def _var(ddof: int, build: Build, x: Array, axes: Sequence[int], mask: Mask) -> Array:
    center = insert_axes(build, _mean(build, x, axes, mask), axes, x.order)
    square = power(build, total(build, [(1, x), (-1, center)]), number(build, 2))
    if not ddof:
        return _mean(build, square, axes, mask)
    count = total(build, [(1, _count(build, x, axes, mask)), (-ddof, number(build, 1))])
    return times(build, [_sum(build, square, axes, mask), reciprocal(build, count)])


def _call(
    operator: str, fill: float, build: Build, x: Array, axes: Sequence[int], mask: Mask
) -> Array:
    """Apply a row of operators, with `fill` for what the mask leaves out."""
    filling = Array(scalar.number(build.graph, fill).node)
    if not axes:
        return x
    whole = mask.whole(build)
    if whole is not None:
        x = elementwise(build, "where", [whole, x, filling])
    return _over(build, operator, x, axes)


def _over(build: Build, operator: str, x: Array, axes: Sequence[int]) -> Array:
    """Apply a row of the table of operators along positional axes."""
    of_some = OPERATORS[operator].of_some
    if of_some and any(x.shape[axis].constant == 0 for axis in axes):
        raise Misuse(f"{operator} of no entries has no value", [("x", "has none")])
    shifted = tuple(len(x.batch) + axis for axis in axes)
    node = apply(build.graph, operator, [x.node], axes=shifted)
    if of_some and isinstance(node, Call) and node.operator == operator:
        for axis in axes:
            # Of symbols alone the language promises entries, and NumPy says the rest.
            if not x.shape[axis].is_positive():
                build.require(1, x.shape[axis], f"{operator} of at least one entry")
    return Array(node, x.batch)


Reduction = Callable[[Build, Array, Sequence[int], Mask], Array]


def _builder(reduce: Reduction) -> Callable[..., Array]:
    """The builder of a reduction over one axis, several or all, which may be kept."""

    def build_reduction(
        build: Build,
        x: Array,
        axis: Axis = None,
        keepdims: bool = False,
        *,
        mask: Mask = _WHOLE,
    ) -> Array:
        axes = normal_axes(axis, x.order)
        value = reduce(build, x, axes, mask)
        return insert_axes(build, value, axes, x.order) if keepdims else value

    return build_reduction


_WHOLE = Mask()

sum_ = _builder(_sum)
mean = _builder(_mean)
max_, min_, logsumexp, prod = (
    _builder(partial(_call, row.name, row.empty)) for row in MONOIDS.values()
)


def median(
    build: Build,
    x: Array,
    axis: Axis = None,
    keepdims: bool = False,
    *,
    mask: Mask = _WHOLE,
) -> Array:
    """The middle entry, or the mean of both; equals share the derivative."""
    if mask != _WHOLE:
        hint = "the entries of an index array can be: median(x[kept])"
        raise Misuse("the entries of a median are not chosen by conditions", (), hint)
    return _builder(partial(_call, "median", 0))(build, x, axis, keepdims)


def var(
    build: Build,
    x: Array,
    axis: Axis = None,
    keepdims: bool = False,
    ddof: int = 0,
    *,
    mask: Mask = _WHOLE,
) -> Array:
    """Squared deviations from the mean, added up and divided by their number - ddof."""
    return _builder(partial(_var, ddof))(build, x, axis, keepdims, mask=mask)


def std(
    build: Build,
    x: Array,
    axis: Axis = None,
    keepdims: bool = False,
    ddof: int = 0,
    *,
    mask: Mask = _WHOLE,
) -> Array:
    """Standard deviation, the square root of var."""
    return elementwise(build, "sqrt", [var(build, x, axis, keepdims, ddof, mask=mask)])


def norm(
    build: Build,
    x: Array,
    ord: object = None,
    axis: Axis = None,
    keepdims: bool = False,
    *,
    mask: Mask = _WHOLE,
) -> Array:
    """Entrywise norm: Euclidean, or of order 1 or inf; 'nuc' of a matrix."""
    return _builder(partial(_norm, ord))(build, x, axis, keepdims, mask=mask)


def _norm(
    ord: object, build: Build, x: Array, axes: Sequence[int], mask: Mask
) -> Array:
    if ord == 2 and len(axes) == 2:
        message = (
            "the norm of order 2 of a matrix is its largest singular value in NumPy"
        )
        hint = "it is svdvals(X)[0]; norm(X) has all entries, norm(X, axis=1) a row's"
        raise Misuse(message, [("ord", "")], hint)
    if ord == "nuc" and len(axes) == 2 and mask == _WHOLE:
        kept = [a for a in range(x.order) if a not in axes]
        turned = product(build, (*kept, *axes), [(x, range(x.order))])
        count = shorter(*turned.shape[-2:])
        node = singular_values(build.graph, turned.node, count)
        values = Array(node, x.batch)
        return _sum(build, values, (values.order - 1,), mask)
    if ord in (None, 2, "fro") and axes:
        return _call("norm", 0, build, x, axes, mask)
    size = elementwise(build, "abs", [x])
    if ord in (None, 2, "fro"):
        return size
    if ord == 1:
        return _sum(build, size, axes, mask)
    if ord == "inf":
        return _call("max", 0, build, size, axes, mask)
    hint = (
        "norm(x) is Euclidean, norm(x, 1) and norm(x, inf) are entrywise, "
        "norm(X, 'nuc') is the sum of singular values"
    )
    raise Misuse(f"there is no norm of order {ord}", [("ord", "")], hint)


# What keeps its axes


def softmax(build: Build, x: Array, axis: Axis = None) -> Array:
    """Exponentials, scaled to sum to 1."""
    if axes := normal_axes(axis, x.order):
        return _over(build, "softmax", x, axes)
    return Array(build.graph.constant(1, x.node.dims), x.batch)


def log_softmax(build: Build, x: Array, axis: Axis = None) -> Array:
    """Logarithm of the softmax."""
    if axes := normal_axes(axis, x.order):
        return _over(build, "log_softmax", x, axes)
    return Array(build.graph.zeros(x.node.dims), x.batch)
