"""Running reductions: of all z[j] with j <= i, in one walk.

The largest entry so far is read at its place, so that derivatives are read there too,
and products so far are a recurrence, whose derivatives divide by nothing.

Running log-sum-exps are `L[i] = log(sum(exp(z[j]), j <= i))`. Their derivative
`exp(z[j] - L[i])`, where j <= i, is a triangle. No product with a vector forms it:
`running_mean` and `running_share` are such products, from the two sides, and their
derivatives are products of the same kind. Where a Jacobian or Hessian is asked for, the
triangle stands in it.

What is multiplied may have more axes than z and L: some in front, and some for which
those have an axis of length 1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import cast

from tensorgen.ir.dims import ONE, Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import (
    Call,
    Lookup,
    Map,
    Node,
    Product,
    delta,
    indicator,
    is_zero,
)
from tensorgen.operators.keys import Reduced
from tensorgen.operators.places import running_argmax
from tensorgen.operators.recurrences import State, recurrence
from tensorgen.operators.scalar import infinity
from tensorgen.operators.table import Operator, Transfer, same_dims

Names = tuple[object, ...]


def axis_along(node: Call) -> int:
    """The axis along which a call walks."""
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


def _extremum(sign: int, graph: Graph, z: Node, axis: int) -> Node:
    """Return the largest entries so far, or the smallest, read at their places."""
    axes = tuple(range(z.order))
    size = z if sign > 0 else graph.product(axes, [(z, axes)], coefficient=-1)
    place = running_argmax(graph, size, axis)
    tie = delta({"place": 1, Lookup(place, axes): -1})
    return graph.product(
        axes,
        [(z, _moved(z, axis, "place"))],
        constraints=[tie],
        sizes=dict(enumerate(z.dims)),
    )


def running_prod(graph: Graph, z: Node, axis: int) -> Node:
    """Return running products, by p[t + 1] = p[t] * z[t] from 1 on."""
    front = (axis, *(k for k in range(z.order) if k != axis))
    rows = graph.permute(z, front)
    before, item = (graph.fresh(rows.dims[1:], (), None) for _ in range(2))
    axes = range(z.order - 1)
    after = graph.product(axes, [(before, axes), (item, axes)])
    states = [State(before, graph.constant(1, before.dims), after)]
    whole = recurrence(graph, rows.dims[0], False, states, {item: rows})
    back = tuple(front.index(k) for k in range(z.order))
    return graph.permute(whole.after(graph, 0), back)


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

    `v` has further axes in front of those of `at`, a call from which z and the level
    are taken, and behind them.
    """
    return _times_triangle(graph, "running_mean", at, v, lead, rest)


def _share(graph: Graph, at: Call, w: Node, lead: Names, rest: Names) -> Node:
    """Return `sum_i exp(z[j] - level[i]) * w[i]` over i >= j: the transpose of that."""
    return _times_triangle(graph, "running_share", at, w, lead, rest)


def transposed(call: Call) -> str | None:
    """The product with the other side of a triangle, if a call is with one of both."""
    sides = {"running_mean", "running_share"}
    return (sides - {call.operator}).pop() if call.operator in sides else None


def own_axes(call: Call) -> tuple[int, ...]:
    """The axes of a product with a triangle that its exponents have."""
    return tuple(name for name in _own_names(call) if isinstance(name, int))


def _own_names(at: Call) -> Names:
    """The axes of a call that z has, and others of length 1."""
    z = at.args[0]
    lead = at.order - z.order
    return tuple(
        lead + axis if dim == at.dims[lead + axis] else ("thin", axis)
        for axis, dim in enumerate(z.dims)
    )


def _times_triangle(
    graph: Graph, operator: str, at: Call, v: Node, lead: Names, rest: Names
) -> Node:
    z, level = (*at.args, at)[:2]
    axis, own = axis_along(at), _own_names(at)
    if is_zero(v):
        return v
    if not _ties_axes(v):
        sizes = {**dict(zip(own, z.dims, strict=True)), **dict.fromkeys(rest, ONE)}
        operands = [
            graph.product((*own, *rest), [(x, own)], sizes=sizes) for x in (z, level)
        ]
        along = (len(lead) + axis,)
        return graph.call(operator, [*operands, v], v.dims, along=along)
    # Entries of the triangle itself.
    outer, inner = (
        tuple(name if a == axis else a for a in range(at.order))
        for name in (axis, "inner")
    )
    pair = (axis, "inner") if operator == "running_mean" else ("inner", axis)
    named = tuple(pair[0] if name == axis else name for name in own)
    place = axis - (at.order - z.order)
    triangle = (_triangle(graph, z, level, place), (*named, pair[1]))
    return graph.product(
        (*lead, *outer, *rest), [triangle, (v, (*lead, *inner, *rest))]
    )


def _ties_axes(v: Node) -> bool:
    """Whether an array is one like a unit tensor, few of whose entries are not 0."""
    return isinstance(v, Product) and any(
        len([x for x in c.form.labels if x < v.order]) > 1 for c in v.constraints
    )


# Tangents and cotangents, an argument at a time

Times = Callable[[Graph, Call, Node, Names, Names], Node]


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
        scaled = _scaled(graph, node, node.args[2], t, extra, sign)
        return times(graph, node, scaled, (), _names("extra", extra))

    def reverse(graph: Graph, node: Call, t: Node, rows: Sequence[Dim]) -> Node:
        lead, own = _names("row", rows), _own_names(node)
        axes = tuple(range(node.order))
        carried = transposed(graph, node, t, lead, ())
        return graph.product(
            (*lead, *own),
            [(node.args[2], axes), (carried, (*lead, *axes))],
            coefficient=sign,
            sizes=dict(zip(own, node.args[0].dims, strict=True)),
        )

    return Transfer(forward, reverse)


def _of_kept(sign: int) -> Transfer:
    """By the part of the exponent that stands outside."""

    def forward(graph: Graph, node: Call, t: Node, extra: Sequence[Dim]) -> Node:
        return _scaled(graph, node, node, t, extra, sign)

    return Transfer(forward)


def _scaled(
    graph: Graph, node: Call, x: Node, t: Node, extra: Sequence[Dim], sign: int
) -> Node:
    """Multiply what has the axes of a call by a tangent of its exponents."""
    axes, rest = tuple(range(node.order)), _names("extra", extra)
    factors = [(x, axes), (t, (*_own_names(node), *rest))]
    return graph.product((*axes, *rest), factors, coefficient=sign)


def _vector_dims(args: Sequence[Node], params: Mapping[str, object]) -> tuple[Dim, ...]:
    return args[2].dims


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
        _vector_dims,
        (_of_summed(_mean, _share, 1), _of_kept(-1), _of_vector(_mean, _share)),
        "_running_mean({0}, {1}, {2}{axis})",
        params=("along",),
        spare=2,
    ),
    Operator(
        "running_share",
        _vector_dims,
        (_of_kept(1), _of_summed(_share, _mean, -1), _of_vector(_share, _mean)),
        "_running_share({0}, {1}, {2}{axis})",
        params=("along",),
        spare=2,
    ),
)


# Recognition


Walk = Callable[[Graph, Node, int], Node]
"""How a running reduction is made along an axis."""


def _walk(graph: Graph, operator: str) -> tuple[Walk, Node] | None:
    """The running form of a reduction, and what it is of no entries."""
    match operator:
        case "logsumexp":
            return running_logsumexp, infinity(graph, -1).node
        case "max":
            return partial(_extremum, 1), infinity(graph, -1).node
        case "min":
            return partial(_extremum, -1), infinity(graph, 1).node
        case "prod":
            return running_prod, graph.constant(1)
    return None


def over_triangle(
    graph: Graph, operator: str, x: Node, axes: Sequence[int], reduced: Reduced
) -> Node | None:
    """Return a reduction over axes of `where([j <= i], z, neutral)` as a running one.

    Or with `j >= i`, from the other end; i may be shifted as far as each reduction has
    an entry. Must not fire where z has the axis i. `reduced` reduces over other axes.
    """
    known = _walk(graph, operator)
    if known is None or not (isinstance(x, Map) and x.function == "where"):
        return None
    (walk, neutral), (mask, z, rest) = known, x.args
    if rest.node is not neutral or not isinstance(mask.node, Product):
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
        inner = reduced(inner, gone)
    at = labels.index(j)
    if places[i] == 1:
        found = walk(graph, inner, at)
    else:
        turned = walk(graph, flipped(graph, inner, at), at)
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
