"""Derivatives of what solves an equation, by the implicit function theorem.

Where F(y, x) = 0, the tangent of y is the solution t of `F_y t = -F_x x'`, and the
cotangent of x is what reverse mode over F makes of the solution of `F_y.T u = -y'`.
Both read y itself, so that they can be differentiated again; neither forms F_x.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from math import prod

from tensorgen.calculus.recurrences import Forward, Reverse
from tensorgen.ir.dims import ONE, Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Call, Node, is_zero
from tensorgen.operators.calls import apply
from tensorgen.operators.guards import guard
from tensorgen.operators.promises import promise
from tensorgen.operators.reshape import reshape
from tensorgen.operators.scalar import power, ref
from tensorgen.operators.unknowns import Equation, equation_of


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
    own = _guarded(graph, call, varying)
    pairs = zip(own.places, call.args, strict=True)
    dots: dict[Node, Node] = {at: tangents[x] for at, x in pairs if x in varying}
    (moved,) = forward(graph, [own.residual], dots, extra)
    (moved,) = own.at(graph, [moved], call)
    axes, behind = range(call.order), [("extra", k) for k in range(len(extra))]
    return graph.product(
        (*axes, *behind),
        [
            (inverse_slope(graph, call, forward), (*axes, *_rows(call))),
            (moved, (*_rows(call), *behind)),
        ],
        coefficient=-1,
    )


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
    own = _guarded(graph, call, {*varying})
    front, axes = [("row", k) for k in range(len(rows))], range(call.order)
    adjoint = graph.product(
        (*front, *_rows(call)),
        [
            (bar, (*front, *axes)),
            (inverse_slope(graph, call, forward), (*axes, *_rows(call))),
        ],
        coefficient=-1,
    )
    if call in graph.names:
        graph.suggest(adjoint, f"{graph.names[call]}_adjoint")
    places = [at for at, x in zip(own.places, call.args, strict=True) if x in varying]
    found = reverse(graph, {own.residual: adjoint}, places, rows)
    return dict(zip(varying, own.at(graph, found, call), strict=True))


def inverse_slope(graph: Graph, call: Call, forward: Forward) -> Node:
    """Return the inverse of the derivative of the residual by the unknown.

    Its first axes are those of the unknown, its last ones those of the residual.
    """
    own = _guarded(graph, call, {call})
    unit = graph.unit(call.dims)
    (slope,) = forward(graph, [own.residual], {own.unknown: unit}, call.dims)
    (slope,) = own.at(graph, [slope], call)
    if not call.order:
        return power(graph, ref(slope), -1).node
    side = prod(call.dims, start=ONE)
    square = reshape(graph, slope, (side, side))
    if own.definite:
        square = promise(graph, "spd", square)
    return reshape(graph, apply(graph, "inv", [square]), (*call.dims, *call.dims))


def newton_step(graph: Graph, call: Call, forward: Forward) -> Node:
    """Return the step from an unknown to where the residual's tangent is zero."""
    own = equation_of(call)
    (residual,) = own.at(graph, [own.residual], call)
    inverse = inverse_slope(graph, call, forward)
    axes = range(call.order)
    factors = [(inverse, (*axes, *_rows(call))), (residual, _rows(call))]
    return graph.product(axes, factors, coefficient=-1)


def _rows(call: Call) -> list[tuple[str, int]]:
    return [("equation", k) for k in range(call.order)]


def _guarded(graph: Graph, call: Call, varying: Container[Node]) -> Equation:
    """The equation, with what excludes entries kept out of its derivatives."""
    own = equation_of(call).opened(graph)
    pairs = zip((own.unknown, *own.places), (call, *call.args), strict=True)
    places = [at for at, x in pairs if x in varying]
    residual = guard(graph, own.residual, places).get(own.residual, own.residual)
    return Equation(own.unknown, own.places, residual, own.definite)
