"""Running reductions whose derivative is a triangle, and products with that.

Running log-sum-exps `L[i] = log(sum(exp(z[j]), j <= i))` have the derivative
`exp(z[j] - L[i])`, where j <= i. The largest or smallest entries so far, `M[i]`, have
`1 / count[i]` where j <= i and z[j] equals M[i], which so many do: they share equally.

No product with a vector forms a triangle: it is a mean (`running_mean`, `tied_mean`) or
a share (`running_share`, `tied_share`), from the two sides, and derivatives of these
are products of the same kind. Where a Jacobian or Hessian is asked for, the triangle
stands in it.

What is multiplied may have more axes than z and L: some in front, and some for which
those have an axis of length 1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, cast

from tensorgen.ir.dims import ONE, Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import (
    Atom,
    Call,
    Constraint,
    Node,
    Product,
    Ref,
    indicator,
    is_zero,
    labels_of,
)
from tensorgen.operators.scalar import apply, holds, infinity, power, total
from tensorgen.operators.scans.monoids import ties
from tensorgen.operators.table import Operator, Transfer, same_dims, shape_of

Names = tuple[object, ...]


def axis_along(node: Call) -> int:
    """The axis along which a call walks."""
    (axis,) = cast(tuple[int], node.param("along"))
    return axis


def _names(what: str, dims: Sequence[Dim]) -> Names:
    return tuple((what, k) for k in range(len(dims)))


# Triangles, whose last axis is that of j


def _sides(z: Node, level: Node, axis: int) -> tuple[Ref, Ref, Constraint]:
    """What stands at j, what stands at i, and where j <= i."""
    rows, j = tuple(range(z.order)), z.order
    column = tuple(j if a == axis else a for a in rows)
    return Ref(z, column), Ref(level, rows), indicator({axis: 1, j: -1})


def _exponentials(graph: Graph, z: Node, level: Node, axis: int) -> Node:
    """Return exp(z[j] - level[i]), 0 where j > i."""
    inner, outer, lower = _sides(z, level, axis)
    # Of these two axes alone: others would be summed.
    mask = holds(graph, lower, {axis: z.dims[axis], z.order: z.dims[axis]})
    difference = total(graph, [(1, inner), (-1, outer)])
    exponent = apply(graph, "where", mask, difference, infinity(graph, -1))
    return apply(graph, "exp", exponent).node


def _ties(graph: Graph, z: Node, top: Node, axis: int) -> Node:
    """Return what share z[j] has in top[i], 0 where j > i."""
    inner, outer, lower = _sides(z, top, axis)
    equal, count = ties(graph, inner, outer, outer.labels, [lower])
    share = power(graph, Ref(count, outer.labels), -1)
    return graph.product((*outer.labels, z.order), [equal, share], constraints=[lower])


class Triangle(NamedTuple):
    """How a triangle is made, and the products with it: over j, and over i."""

    made: Callable[[Graph, Node, Node, int], Node]
    mean: str
    share: str

    def other(self, operator: str) -> str:
        """The product with the other side."""
        return self.share if operator == self.mean else self.mean


EXPONENTIALS = Triangle(_exponentials, "running_mean", "running_share")
TIES = Triangle(_ties, "tied_mean", "tied_share")


def transposed(call: Call) -> str | None:
    """The product with the other side of a triangle, if a call is with one of both."""
    for triangle in (EXPONENTIALS, TIES):
        if call.operator in (triangle.mean, triangle.share):
            return triangle.other(call.operator)
    return None


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


def _times(
    triangle: Triangle,
    operator: str,
    graph: Graph,
    at: Call,
    v: Node,
    lead: Names,
    rest: Names,
) -> Node:
    """Return a product with a triangle, such as `sum_j exp(z[j] - level[i]) * v[j]`.

    `v` has further axes in front of those of `at`, a call from which z and the level
    are taken, and behind them.
    """
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
    pair = (axis, "inner") if operator == triangle.mean else ("inner", axis)
    named = tuple(pair[0] if name == axis else name for name in own)
    place = axis - (at.order - z.order)
    entries = (triangle.made(graph, z, level, place), (*named, pair[1]))
    return graph.product((*lead, *outer, *rest), [entries, (v, (*lead, *inner, *rest))])


def _ties_axes(v: Node) -> bool:
    """Whether an array is one like a unit tensor, few of whose entries are not 0."""
    return isinstance(v, Product) and any(
        c.kind == "eq" and sum(_has_axis(atom, v.order) for atom, _ in c.form.terms) > 1
        for c in v.constraints
    )


def _has_axis(atom: Atom, order: int) -> bool:
    """Whether an atom changes along an axis: an entry of an index array counts once."""
    return any(x < order for x in labels_of(atom))


# Tangents and cotangents, an argument at a time


def _of_vector(triangle: Triangle, operator: str) -> Transfer:
    """A product is linear in the vector, and L and M in z to first order."""

    def forward(graph: Graph, node: Call, t: Node, extra: Sequence[Dim]) -> Node:
        rest = _names("extra", extra)
        return _times(triangle, operator, graph, node, t, (), rest)

    def reverse(graph: Graph, node: Call, t: Node, rows: Sequence[Dim]) -> Node:
        lead, other = _names("row", rows), triangle.other(operator)
        return _times(triangle, other, graph, node, t, lead, ())

    return Transfer(forward, reverse)


def _of_summed(triangle: Triangle, operator: str, sign: int) -> Transfer:
    """By the part of the exponent that stands inside of the sum, like the vector."""
    carried = _of_vector(triangle, operator).forward

    def forward(graph: Graph, node: Call, t: Node, extra: Sequence[Dim]) -> Node:
        scaled = _scaled(graph, node, node.args[2], t, extra, sign)
        return carried(graph, node, scaled, extra)

    return Transfer(forward)


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


def _running(name: str, triangle: Triangle) -> Operator:
    """The row of a reduction whose derivative is a triangle."""
    carried = _of_vector(triangle, triangle.mean)
    text = f"_{name}({{0}}{{axis}})"
    return Operator(name, same_dims, (carried,), text, params=("along",))


def _product(triangle: Triangle, name: str, *others: Transfer | None) -> Operator:
    """The row of a product with a triangle, by what carries tangents of z and L."""
    derivative = (*others, _of_vector(triangle, name))
    text = f"_{name}({{0}}, {{1}}, {{2}}{{axis}})"
    return Operator(
        *(name, shape_of(2), derivative, text),
        params=("along",),
        spare=2,
        named_by=2,  # what is averaged, or shared
    )


ROWS = (
    _running("running_logsumexp", EXPONENTIALS),
    _running("running_max", TIES),
    _running("running_min", TIES),
    _product(
        EXPONENTIALS,
        "running_mean",
        _of_summed(EXPONENTIALS, "running_mean", 1),
        _of_kept(-1),
    ),
    _product(
        EXPONENTIALS,
        "running_share",
        _of_kept(1),
        _of_summed(EXPONENTIALS, "running_share", -1),
    ),
    # By what is only compared there is no slope: ties stay ties.
    _product(TIES, "tied_mean", None, None),
    _product(TIES, "tied_share", None, None),
)
