"""Arrays made from sizes, and arrays made from others by moving entries.

Moving entries is a product with affine deltas: a flip is `p = n - 1 - i`, a roll two
of them, a concatenation one a part. So none needs a derivative rule of its own.
"""

from __future__ import annotations

from collections.abc import Sequence

from tensorgen.ir.dims import Dim, count, tuple_text
from tensorgen.ir.nodes import delta
from tensorgen.operators.functions.arithmetic import total
from tensorgen.operators.functions.array import (
    OLD,
    Array,
    Build,
    Label,
    Misuse,
    Place,
    Shape,
    align,
    common_shape,
    insert_axes,
    product,
    replaced,
    spread,
    squeeze_axes,
)
from tensorgen.operators.functions.reductions import Axis, normal_axes, normal_axis
from tensorgen.operators.reshape import reshape as reshaped


def eye(build: Build, n: Dim, m: Dim | None = None) -> Array:
    """Ones on the diagonal."""
    columns = n if m is None else m
    constraints = [delta({0: 1, 1: -1})]
    return product(build, (0, 1), [], constraints=constraints, sizes={0: n, 1: columns})


def ones(build: Build, shape: Shape) -> Array:
    """Ones."""
    return Array(build.graph.constant(1, shape))


def zeros(build: Build, shape: Shape) -> Array:
    """Zeros."""
    return Array(build.graph.zeros(shape))


def full(build: Build, shape: Shape, value: Array) -> Array:
    """One value everywhere."""
    return broadcast_to(build, value, shape)


def arange(build: Build, start: Dim, stop: Dim | None = None) -> Array:
    """Whole numbers from start (0 if only stop is given) up to stop."""
    if stop is None:
        return Array(build.graph.iota(start))
    build.require(start, stop, "arange", "stop")
    numbers = Array(build.graph.iota(stop - start))
    return total(build, [(1, numbers), (1, Array(build.graph.size(start)))])


def broadcast_to(build: Build, x: Array, shape: Shape) -> Array:
    """Repeated to a shape."""
    if common_shape([x.shape, shape]) != shape:
        message = (
            f"shape {tuple_text(x.shape)} does not broadcast to {tuple_text(shape)}"
        )
        raise Misuse(message, [("x", tuple_text(x.shape))])
    ghost = Array(build.graph.constant(1, shape))
    _, ((x, labels), _) = align(build, [x, ghost], "'broadcast_to'", ["x", "shape"])
    return spread(build, x, shape, labels)


def expand_dims(build: Build, x: Array, axis: Axis) -> Array:
    """New axes of length 1."""
    if axis is None:
        raise Misuse("an axis or several are expected: 0, -1, (0, 1)", [("axis", "")])
    count = len(axis) if isinstance(axis, tuple) else 1
    order = x.order + count
    return insert_axes(build, x, normal_axes(axis, order), order)


def squeeze(build: Build, x: Array, axis: int | tuple[int, ...] | None = None) -> Array:
    """Without axes of length 1."""
    axes = normal_axes(axis, x.order)
    if axis is None:
        axes = tuple(a for a in axes if x.shape[a] == 1)
    for a in axes:
        if x.shape[a] != 1:
            message = f"axis {a} has length {x.shape[a]}, not 1"
            raise Misuse(message, [("x", tuple_text(x.shape))])
    return squeeze_axes(build, x, axes)


def reshape(build: Build, x: Array, newshape: Shape) -> Array:
    """Another shape, of the same entries in C order; one length may be -1."""
    shape = _completed(x, newshape)
    message = f"an array of {count(x.shape)} entries cannot have shape"
    build.equal(count(x.shape), count(shape), f"{message} {tuple_text(shape)}", "x")
    batch = x.node.dims[: len(x.batch)]
    return Array(reshaped(build.graph, x.node, (*batch, *shape)), x.batch)


def _completed(x: Array, shape: Shape) -> Shape:
    """A shape with the length that is left in place of -1."""
    rest = count(dim for dim in shape if dim != -1)
    left = count(x.shape).divided(rest)
    if shape.count(Dim.of(-1)) > 1:
        raise Misuse("only one length can be -1", [("newshape", "")])
    if left is None and -1 in shape:
        message = f"{count(x.shape)} entries do not divide by {rest}"
        raise Misuse(message, [("x", tuple_text(x.shape))])
    return tuple(left if left is not None and dim == -1 else dim for dim in shape)


def ravel(build: Build, x: Array) -> Array:
    """All entries in a row."""
    return reshape(build, x, (count(x.shape),))


def flip(build: Build, x: Array, axis: int | tuple[int, ...] | None = None) -> Array:
    """In reverse order."""
    labels: list[Label] = list(range(x.order))
    constraints = []
    for a in normal_axes(axis, x.order):
        labels[a] = ("old", a)
        constraints.append(delta({("old", a): 1, a: 1}, 1 - x.shape[a]))
    return product(
        build,
        range(x.order),
        [(x, labels)],
        constraints=constraints,
        sizes=dict(enumerate(x.shape)),
    )


def roll(build: Build, x: Array, shift: int, axis: int | None = None) -> Array:
    """Moved round by a whole number."""
    if axis is None and x.order != 1:
        raise Misuse("'roll' of more than one axis needs axis=", [("x", "")])
    along = normal_axis(axis or 0, x.order)
    length = x.shape[along]
    fixed = length.constant
    if fixed:
        shift %= fixed
    build.require(abs(shift), length, f"'roll' by {shift}", "x")
    round_trip = length if shift > 0 else -length
    parts = [
        replaced(build, x, along, delta({OLD: 1, along: -1}, shift - turn), length)
        for turn in (Dim(), round_trip)
    ]
    return total(build, [(1, part) for part in (parts if shift else parts[:1])])


def concatenate(build: Build, arrays: Sequence[Array], axis: int = 0) -> Array:
    """Arrays joined along an axis."""
    places = _places(arrays)
    along = _common_axis(arrays, axis, places)
    whole = Dim()
    for x in arrays:
        whole = whole + x.shape[along]
    start = Dim()
    terms = []
    for x in arrays:
        part = replaced(build, x, along, delta({OLD: 1, along: -1}, start), whole)
        terms.append((1, part))
        start = start + x.shape[along]
    return total(build, terms)


def _places(arrays: Sequence[Array]) -> list[Place]:
    return [("arrays", k) for k in range(len(arrays))]


def _marks(places: Sequence[Place], arrays: Sequence[Array]) -> list[tuple[Place, str]]:
    return [(p, tuple_text(x.shape)) for p, x in zip(places, arrays, strict=True)]


def _common_axis(arrays: Sequence[Array], axis: int, places: list[Place]) -> int:
    """Check that arrays differ in the length of one axis at most; return it."""
    shapes = [x.shape for x in arrays]
    marks = _marks(places, arrays)
    if not shapes:
        raise Misuse("'concatenate' needs at least one array", [("arrays", "")])
    if len({len(s) for s in shapes}) > 1 or not shapes[0]:
        message = "'concatenate' needs arrays with the same number of axes"
        raise Misuse(message, marks)
    along = normal_axis(axis, len(shapes[0]))
    if len({s[:along] + s[along + 1 :] for s in shapes}) > 1:
        raise Misuse("shapes do not match in 'concatenate'", marks)
    return along


def stack(build: Build, arrays: Sequence[Array], axis: int = 0) -> Array:
    """Arrays of one shape along a new axis."""
    shapes = {x.shape for x in arrays}
    if len(shapes) != 1:
        marks = _marks(_places(arrays), arrays)
        raise Misuse("'stack' needs arrays of one shape", marks)
    order = arrays[0].order + 1
    along = normal_axis(axis, order)
    kept = [a for a in range(order) if a != along]
    terms = []
    for k, x in enumerate(arrays):
        term = product(
            build,
            range(order),
            [(x, kept)],
            constraints=[delta({along: 1}, -k)],
            sizes={along: Dim.of(len(arrays))},
        )
        terms.append((1, term))
    return total(build, terms)


def literal(build: Build, entries: Sequence[Array]) -> Array:
    """Build the array that a list in brackets spells."""
    if not entries:
        return Array(build.graph.zeros((Dim(),)))
    shape = common_shape([x.shape for x in entries])
    if shape is None or any(x.shape != shape for x in entries):
        marks = _marks([("operand", k) for k in range(len(entries))], entries)
        raise Misuse("the entries of a list must have one shape", marks)
    return stack(build, entries)
