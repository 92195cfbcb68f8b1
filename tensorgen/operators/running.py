"""Running log-sum-exps: `L[i] = log(sum(exp(z[j]), j <= i))`, in one walk.

Their derivative `exp(z[j] - L[i])`, where j <= i, is a triangle. No product with a
vector forms it: `running_mean` and `running_share` are such products, from the two
sides, and their derivatives are products of the same kind. Where a Jacobian or Hessian
is asked for, the triangle stands in it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import (
    Call,
    Map,
    Node,
    Product,
    delta,
    indicator,
    is_zero,
)
from tensorgen.operators.keys import is_minus_infinity
from tensorgen.operators.scalar import infinity
from tensorgen.operators.table import Operator, Transfer, same_dims

Names = tuple[object, ...]


def _axis(node: Call) -> int:
    (axis,) = cast(tuple[int], node.param("along"))
    return axis


def _names(what: str, dims: Sequence[Dim]) -> Names:
    return tuple((what, k) for k in range(len(dims)))


def _moved(node: Node, axis: int, name: object) -> Names:
    """The axes of a node, with another name for one of them."""
    return tuple(name if a == axis else a for a in range(node.order))


def flipped(graph: Graph, x: Node, axis: int) -> Node:
    """Return an array in reverse order along an axis."""
    turned = delta({axis: 1, "place": 1}, 1 - x.dims[axis])
    return graph.product(
        range(x.order),
        [(x, _moved(x, axis, "place"))],
        constraints=[turned],
        sizes=dict(enumerate(x.dims)),
    )


def running_logsumexp(graph: Graph, z: Node, axis: int) -> Node:
    """Return the logarithms of the running sums of exp(z)."""
    return graph.call("running_logsumexp", [z], z.dims, along=(axis,))


# Products with the triangle exp(z[j] - level[i])


def _triangle(graph: Graph, z: Node, level: Node, axis: int) -> Node:
    """Return exp(z[j] - level[i]), 0 where j > i; j is its last axis."""
    out = (*range(z.order), "j")
    sizes: dict[object, Dim] = {**dict(enumerate(z.dims)), "j": z.dims[axis]}
    terms = [(1, z, _moved(z, axis, "j")), (-1, level, range(z.order))]
    difference = graph.sum(out, terms, sizes)
    # Of these two axes alone: others would be summed.
    pair = {axis: sizes[axis], "j": sizes["j"]}
    mask = graph.product(
        [*pair], [], constraints=[indicator({axis: 1, "j": -1})], sizes=pair
    )
    where = [(mask, (axis, "j")), (difference, out), infinity(graph, -1)]
    exponent = graph.map("where", out, where, sizes)
    return graph.map("exp", out, [(exponent, out)], sizes)


def _mean(graph: Graph, at: Call, v: Node, lead: Names, rest: Names) -> Node:
    """Return `sum_j exp(z[j] - level[i]) * v[j]` over j <= i.

    `v` has further axes in front of those of z, and behind them. `at` is a call from
    which z and the level are taken.
    """
    return _times_triangle(graph, "running_mean", at, v, lead, rest)


def _share(graph: Graph, at: Call, w: Node, lead: Names, rest: Names) -> Node:
    """Return `sum_i exp(z[j] - level[i]) * w[i]` over i >= j: the transpose of that."""
    return _times_triangle(graph, "running_share", at, w, lead, rest)


def _times_triangle(
    graph: Graph, operator: str, at: Call, v: Node, lead: Names, rest: Names
) -> Node:
    z, level = (*at.args, at)[:2]
    axis, axes = _axis(at), tuple(range(z.order))
    every = (*lead, *axes, *rest)
    if is_zero(v):
        return v
    if not (isinstance(v, Product) and v.constraints):
        sizes = dict(zip(every, v.dims, strict=True))
        operands = [graph.product(every, [(x, axes)], sizes=sizes) for x in (z, level)]
        along = (len(lead) + axis,)
        return graph.call(operator, [*operands, v], v.dims, along=along)
    # Entries of the triangle itself, if v is a unit tensor.
    inner = _moved(z, axis, "inner")
    pair = (axes, "inner") if operator == "running_mean" else (inner, axis)
    triangle = (_triangle(graph, z, level, axis), (*pair[0], pair[1]))
    return graph.product(every, [triangle, (v, (*lead, *inner, *rest))])


# Tangents and cotangents, an argument at a time

Times = Callable[[Graph, Call, Node, Names, Names], Node]


def _scaled(
    graph: Graph, x: Node, y: Node, lead: Names, rest: Names, sign: int
) -> Node:
    """Multiply x by y, which has further axes in front and behind."""
    axes = tuple(range(x.order))
    every = (*lead, *axes, *rest)
    return graph.product(every, [(x, axes), (y, every)], coefficient=sign)


def _of_vector(times: Times, transposed: Times) -> Transfer:
    """A product is linear in the vector, and L in z to first order."""

    def forward(graph: Graph, node: Call, t: Node, extra: Sequence[Dim]) -> Node:
        return times(graph, node, t, (), _names("extra", extra))

    def reverse(graph: Graph, node: Call, t: Node, rows: Sequence[Dim]) -> Node:
        return transposed(graph, node, t, _names("row", rows), ())

    return Transfer(forward, reverse)


def _of_summed(times: Times, transposed: Times, sign: int) -> Transfer:
    """By the part of the exponent that stands inside of the sum, like the vector."""

    def forward(graph: Graph, node: Call, t: Node, extra: Sequence[Dim]) -> Node:
        rest = _names("extra", extra)
        scaled = _scaled(graph, node.args[2], t, (), rest, sign)
        return times(graph, node, scaled, (), rest)

    def reverse(graph: Graph, node: Call, t: Node, rows: Sequence[Dim]) -> Node:
        lead = _names("row", rows)
        carried = transposed(graph, node, t, lead, ())
        return _scaled(graph, node.args[2], carried, lead, (), sign)

    return Transfer(forward, reverse)


def _of_kept(sign: int) -> Transfer:
    """By the part of the exponent that stands outside."""

    def forward(graph: Graph, node: Call, t: Node, extra: Sequence[Dim]) -> Node:
        return _scaled(graph, node, t, (), _names("extra", extra), sign)

    return Transfer(forward)


ROWS = (
    Operator(
        "running_logsumexp",
        same_dims,
        (_of_vector(_mean, _share),),
        "_running_logsumexp({0}{axis})",
        params=("along",),
    ),
    Operator(
        "running_mean",
        same_dims,
        (_of_summed(_mean, _share, 1), _of_kept(-1), _of_vector(_mean, _share)),
        "_running_mean({0}, {1}, {2}{axis})",
        params=("along",),
    ),
    Operator(
        "running_share",
        same_dims,
        (_of_kept(1), _of_summed(_share, _mean, -1), _of_vector(_share, _mean)),
        "_running_share({0}, {1}, {2}{axis})",
        params=("along",),
    ),
)


# Recognition


def over_triangle(graph: Graph, x: Node, axes: Sequence[int]) -> Node | None:
    """Return logsumexp over axes of `where([j <= i], z, -inf)` as a running one.

    Or with `j >= i`, from the other end; i may be shifted as far as each of its sums
    has a term. Must not fire where z has the axis i.
    """
    if not (isinstance(x, Map) and x.function == "where"):
        return None
    mask, z, rest = x.args
    if not is_minus_infinity(rest.node) or not isinstance(mask.node, Product):
        return None
    bounds = mask.node.constraints
    if mask.node.factors or len(bounds) != 1 or bounds[0].kind != "ge":
        return None
    form = bounds[0].form
    places = {mask.labels[a]: c for a, c in form.terms if isinstance(a, int)}
    if sorted(places.values()) != [-1, 1] or len(form.terms) != 2:
        return None
    summed = [axis for axis in places if axis in axes]
    limits = [axis for axis in places if axis not in axes]
    others = [axis for axis in axes if axis not in summed]
    if len(summed) != 1 or limits[0] in z.labels or not {*axes} <= {*z.labels}:
        return None
    (j,), (i,) = summed, limits
    shift = form.const * places[i]
    if not _within(x.dims[i], shift, x.dims[j]):
        return None
    inner, labels = z.node, z.labels
    if others:
        gone = tuple(sorted(labels.index(axis) for axis in others))
        labels = tuple(axis for axis in labels if axis not in others)
        dims = [x.dims[axis] for axis in labels]
        inner = graph.call("logsumexp", [inner], dims, axes=gone)
    at = labels.index(j)
    if places[i] == 1:
        found = running_logsumexp(graph, inner, at)
    else:
        turned = running_logsumexp(graph, flipped(graph, inner, at), at)
        found = flipped(graph, turned, at)
    out = [axis for axis in range(x.order) if axis not in axes]
    return graph.product(
        out,
        [(found, ["last" if axis == j else axis for axis in labels])],
        constraints=[delta({"last": 1, i: -1}, -shift)],
        sizes={axis: x.dims[axis] for axis in out},
    )


def _within(size: Dim, shift: Dim, length: Dim) -> bool:
    """Whether the entries `shift … size - 1 + shift` are those of an axis."""
    return shift.is_nonnegative() and (length - size - shift).is_nonnegative()
