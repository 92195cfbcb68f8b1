"""Entries at places, and places of entries.

Places are index arrays, given or computed; what is read at them is a product with
deltas, and so is its derivative.
"""

from __future__ import annotations

from tensorgen.ir.constraints import index_bound
from tensorgen.ir.dims import Dim, tuple_text
from tensorgen.ir.nodes import Lookup, delta
from tensorgen.operators.functions.array import OLD, Array, Build, Label, Misuse, taken
from tensorgen.operators.functions.reductions import normal_axis
from tensorgen.operators.scans import places

_INTEGERS = "an index array is an input with 'index', or what argsort returns"


def bound_of(x: Array, at: str) -> Dim:
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
