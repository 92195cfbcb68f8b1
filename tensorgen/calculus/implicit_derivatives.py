"""Derivatives of what solves an equation, by the implicit function theorem.

Where F(y, x) = 0, the tangent of y is the solution t of `F_y t = -F_x x'`, and the
cotangent of x is what reverse mode over F makes of the solution of `F_y.T u = -y'`.
Both read y itself, so that they can be differentiated again; neither forms F_x.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import replace
from math import prod

from tensorgen.calculus.recurrence_derivatives import Forward, Reverse
from tensorgen.ir.dims import ONE, Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Call, Node, Ref, is_zero
from tensorgen.ir.remarks import Remark
from tensorgen.ir.ties import along, ties
from tensorgen.operators.calls import apply
from tensorgen.operators.conditions.guards import guard
from tensorgen.operators.promise_calls import promise
from tensorgen.operators.reshape import reshape
from tensorgen.operators.scalar import power
from tensorgen.operators.solved_arrays import Equation, equation_of

SLOPE = Remark(
    "implicit function theorem: solve with the equation's slope",
    r"\b_?(?:cholesky_)?solve\(",
)


def tangent(
    graph: Graph,
    call: Call,
    tangents: Mapping[Node, Node],
    extra: Sequence[Dim],
    forward: Forward,
) -> Node | None:
    """Return the tangent of an unknown, of dims `call.dims + extra`.

    `tangents` are those of its arguments, of dims `argument.dims + extra`; None where
    none of them varies.
    """
    varying = {x for x in call.args if x in tangents and not is_zero(tangents[x])}
    if not varying:
        return None
    own = guarded_equation(graph, call, varying)
    pairs = zip(own.places, call.args, strict=True)
    dots: dict[Node, Node] = {at: tangents[x] for at, x in pairs if x in varying}
    (moved,) = forward(graph, [own.residual], dots, extra)
    (moved,) = own.at(graph, [moved], call)
    axes = range(call.order)
    return graph.scale(Slope(graph, call, forward).solved(moved, axes, False), -1)


def cotangents(
    graph: Graph,
    call: Call,
    bar: Node,
    wanted: Container[Node],
    rows: Sequence[Dim],
    forward: Forward,
    reverse: Reverse,
) -> dict[Node, Node]:
    """Return the cotangents of the arguments of an unknown that are `wanted`.

    They are of dims `rows + argument.dims`, and `bar`, that of the unknown, is of dims
    `rows + call.dims`.
    """
    varying = [x for x in call.args if x in wanted]
    if not varying or is_zero(bar):
        return {}
    own = guarded_equation(graph, call, {*varying})
    axes = range(len(rows), len(rows) + call.order)
    adjoint = Slope(graph, call, forward).solved(bar, axes, True)
    adjoint = graph.scale(adjoint, -1)
    if call in graph.names:
        graph.suggest(adjoint, f"{graph.names[call]}_adjoint")
    places = [at for at, x in zip(own.places, call.args, strict=True) if x in varying]
    found = reverse(graph, {own.residual: adjoint}, places, rows)
    return dict(zip(varying, own.at(graph, found, call), strict=True))


def newton_step(graph: Graph, call: Call, forward: Forward) -> Node:
    """Return the step from an unknown to where the residual's tangent is zero."""
    own = equation_of(call)
    (residual,) = own.at(graph, [own.residual], call)
    axes = range(call.order)
    return graph.scale(Slope(graph, call, forward).solved(residual, axes, False), -1)


class Slope:
    """The derivative of a residual by its unknown, a linear map to be solved with.

    Axes of the unknown that are `tied` to those of the residual number systems of their
    own: what is left is matrices, whose sides are all other axes.
    """

    def __init__(self, graph: Graph, call: Call, forward: Forward) -> None:
        self.graph = graph
        self.dims = call.dims
        own = guarded_equation(graph, call, {call})
        unit = graph.unit(call.dims)
        (slope,) = forward(graph, [own.residual], {own.unknown: unit}, call.dims)
        (slope,) = own.at(graph, [slope], call)
        found, k = ties(slope), call.order
        self.tied = [a for a in range(k) if (a, a + k) in found]
        self.free = [a for a in range(k) if a not in self.tied]
        entries = along(graph, slope, {a + k: a for a in self.tied})
        if not self.free:
            axes = tuple(range(k))
            self.inverse = power(graph, Ref(entries, axes), -1).node
            return
        places = [a for a in range(k) if a in self.free]
        behind = range(k, entries.order)
        square = graph.permute(entries, (*self.tied, *places, *behind))
        front, side = [call.dims[a] for a in self.tied], self._side
        square = reshape(graph, square, (*front, side, side))
        if own.definite:
            square = promise(graph, "spd", square)
        self.inverse = apply(graph, "inv", [square])
        graph.remark(self.inverse, SLOPE)

    @property
    def _side(self) -> Dim:
        return prod((self.dims[a] for a in self.free), start=ONE)

    def solved(self, right: Node, axes: Sequence[int], transposed: bool) -> Node:
        """Return what the map, or its transpose, takes to `right`.

        `axes` are those of `right` that belong to the map, in order.
        """
        graph, every = self.graph, tuple(range(right.order))
        others = [a for a in every if a not in axes]
        tied, free = ([axes[a] for a in own] for own in (self.tied, self.free))
        if not free:
            return graph.product(every, [(self.inverse, tied), (right, every)])
        # All free axes as one, which is the last.
        order = (*others, *tied, *free)
        dims = [right.dims[a] for a in order]
        flat = graph.permute(right, order)
        flat = reshape(graph, flat, (*dims[: len(dims) - len(free)], self._side))
        labels = (*others, *tied)
        sides = ("in", "out") if transposed else ("out", "in")
        flat = graph.product(
            (*labels, "out"), [(self.inverse, (*tied, *sides)), (flat, (*labels, "in"))]
        )
        found = reshape(graph, flat, dims)
        return graph.permute(found, [order.index(a) for a in every])


def guarded_equation(graph: Graph, call: Call, varying: Container[Node]) -> Equation:
    """The equation, with what excludes entries kept out of its derivatives."""
    own = equation_of(call).opened(graph)
    pairs = zip((own.unknown, *own.places), (call, *call.args), strict=True)
    places = [at for at, x in pairs if x in varying]
    residual = guard(graph, own.residual, places).get(own.residual, own.residual)
    return replace(own, residual=residual)
