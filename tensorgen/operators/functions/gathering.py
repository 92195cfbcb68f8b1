"""Entries at places, and places of entries.

Places are index arrays, given or computed; what is read at them, or written to them,
is a product with deltas, and so is its derivative.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tensorgen.ir.constraints import index_bound
from tensorgen.ir.dims import Dim, tuple_text
from tensorgen.ir.nodes import Constraint, Lookup, delta
from tensorgen.operators.functions.arithmetic import elementwise, total
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
    number,
    taken,
    union,
)
from tensorgen.operators.functions.making import broadcast_to, ravel, reshape
from tensorgen.operators.functions.reductions import normal_axis
from tensorgen.operators.scans import places

_INTEGERS = "an index array is an input with 'index', or what argsort returns"


def bound_of(x: Array, at: Place) -> Dim:
    """What the entries of an index array are below."""
    bound = index_bound(x.node)
    if bound is None:
        raise Misuse("integers are expected here", [(at, "")], _INTEGERS)
    return bound


def argsort(build: Build, x: Array, axis: int = -1) -> Array:
    """Places of the entries in order, the smallest first: an index array."""
    along = len(x.batch) + normal_axis(axis, x.order)
    return Array(places.argsort(build.graph, x.node, along), x.batch)


def sort(build: Build, x: Array, axis: int = -1) -> Array:
    """In order, the smallest first; the derivative goes where the entries went."""
    along = normal_axis(axis, x.order)
    return _taken(build, x, argsort(build, x, along), along)


def searchsorted(build: Build, a: Array, v: Array) -> Array:
    """How many entries of a, which rise, are below each of v: an index array."""
    if a.order != 1 or a.batch:
        raise Misuse("'searchsorted' looks in one vector", [("a", tuple_text(a.shape))])
    return Array(places.place(build.graph, "count_below", a.node, v.node), v.batch)


def take_along_axis(build: Build, x: Array, indices: Array, axis: int = -1) -> Array:
    """Entries at indices along an axis: of X those X[i, indices[i, j]]."""
    along = normal_axis(axis, x.order)
    bound = bound_of(indices, "indices")
    if _without(x, along) != _without(indices, along):
        marks = [
            (at, tuple_text(y.shape)) for at, y in (("x", x), ("indices", indices))
        ]
        hint = "their shapes are the same but for the axis"
        raise Misuse("shapes do not match in 'take_along_axis'", marks, hint)
    build.require(bound, x.shape[along], "'take_along_axis'", "indices")
    return _taken(build, x, indices, along)


def _without(x: Array, axis: int) -> tuple[Dim, ...]:
    return x.shape[:axis] + x.shape[axis + 1 :]


def _taken(build: Build, x: Array, indices: Array, axis: int) -> Array:
    labels = [OLD if k == axis else k for k in range(x.order)]
    return taken(build, x, labels, indices)


def take(build: Build, x: Array, indices: Array, axis: int | None = None) -> Array:
    """Entries of ravel(x) at indices, or along an axis the slices: of X rows X[p]."""
    if axis is None:
        x, axis = ravel(build, x), 0
    along = normal_axis(axis, x.order)
    build.require(bound_of(indices, "indices"), x.shape[along], "'take'", "indices")
    read = [("read", k) for k in range(indices.order)]
    at = Lookup(indices.node, indices.labels(read))
    sizes: dict[Label, Dim] = dict(zip(at.labels, at.node.dims, strict=True))
    labels = [OLD if k == along else k for k in range(x.order)]
    batch, rest = union([x, indices]), range(along + 1, x.order)
    node = build.graph.product(
        (*batch, *range(along), *read, *rest),
        [(x.node, x.labels(labels))],
        constraints=[delta({OLD: 1, at: -1})],
        sizes=sizes,
    )
    return Array(node, batch)


def put(
    build: Build, x: Array, indices: Array, v: Array, accumulate: bool = False
) -> Array:
    """As x, but v at indices of ravel(x), each at most once; or with v added there."""
    flat = ravel(build, x)
    at = _places(build, flat, {"indices": indices}, "'put'")
    return reshape(build, _written(build, flat, at, v, accumulate), x.shape)


def index_put(
    build: Build, x: Array, places: Sequence[Array], v: Array, accumulate: bool = False
) -> Array:
    """As x, but v at x[p, q, ...], each at most once; or with v added there."""
    if not 0 < len(places) <= x.order:
        message = f"'index_put' needs from 1 to {x.order} index arrays"
        raise Misuse(message, [("x", tuple_text(x.shape))])
    arrays: dict[Place, Array] = {("places", k): x for k, x in enumerate(places)}
    at = _places(build, x, arrays, "'index_put'")
    return _written(build, x, at, v, accumulate)


class _Places(NamedTuple):
    """Places of an array: where its first axes equal index arrays of one `shape`."""

    shape: Shape
    constraints: list[Constraint]
    batch: tuple[Label, ...]
    sizes: dict[Label, Dim]

    @property
    def labels(self) -> list[Label]:
        """Labels of the axes of `shape`; those of the array are numbers."""
        return [("place", k) for k in range(len(self.shape))]


def _places(build: Build, x: Array, at: Mapping[Place, Array], what: str) -> _Places:
    for axis, (place, array) in enumerate(at.items()):
        build.require(bound_of(array, place), x.shape[axis], what, place)
    shape, aligned = align(build, [*at.values()], what, [*at])
    found = _Places(shape, [], union(at.values()), {})
    for axis, (array, own) in enumerate(aligned):
        labels = array.labels(("place", k) for k in own)
        found.constraints.append(delta({axis: 1, Lookup(array.node, labels): -1}))
        found.sizes[axis] = x.shape[axis]
        found.sizes.update(zip(labels, array.node.dims, strict=True))
    return found


def _written(build: Build, x: Array, at: _Places, v: Array, accumulate: bool) -> Array:
    """Return x with v added at places, of which the former entries are left out."""
    depth = len(at.constraints)
    shape, rest = (*at.shape, *x.shape[depth:]), range(depth, x.order)
    if common_shape([v.shape, shape]) != shape:
        message = (
            f"shape {tuple_text(v.shape)} does not broadcast to that of the places"
        )
        raise Misuse(f"{message}, {tuple_text(shape)}", [("v", tuple_text(v.shape))])
    if not accumulate:
        free = insert_axes(build, _free(build, at), rest, x.order)
        alike = v.order <= len(rest)  # one value for all places
        here = v if alike else number(build, 0)
        x = elementwise(build, "where", [free, x, here])
        if alike:
            return x
    v = broadcast_to(build, v, shape)
    batch = tuple(dict.fromkeys([*at.batch, *v.batch]))
    added = build.graph.product(
        (*batch, *range(x.order)),
        [(v.node, v.labels([*at.labels, *rest]))],
        constraints=at.constraints,
        sizes=at.sizes | {k: x.shape[k] for k in rest},
    )
    return total(build, [(1, x), (1, Array(added, batch))])


def _free(build: Build, at: _Places) -> Array:
    """Return 1 where no index array names the place, 0 elsewhere."""
    axes, constraints = range(len(at.constraints)), at.constraints
    named = build.graph.product(
        (*at.batch, *axes), [], constraints=constraints, sizes=at.sizes
    )
    build.graph.suggest(named, "written")
    return elementwise(build, "equal", [Array(named, at.batch), number(build, 0)])


def one_hot(build: Build, indices: Array, n: Dim | None = None) -> Array:
    """Rows of zeros with a one at each index; n entries, or as many as indices need."""
    bound = bound_of(indices, "indices")
    if n is not None:
        build.require(bound, n, "'one_hot'", "n")
    axes = (*range(indices.order), "class")
    at = Lookup(indices.node, indices.labels(axes[:-1]))
    sizes: dict[Label, Dim] = dict(zip(at.labels, at.node.dims, strict=True))
    sizes["class"] = bound if n is None else n
    node = build.graph.product(
        (*indices.batch, *axes),
        [],
        constraints=[delta({"class": 1, at: -1})],
        sizes=sizes,
    )
    return Array(node, indices.batch)
