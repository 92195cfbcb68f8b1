"""Derivatives of any order from the two modes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from tensorgen.calculus.forward import pushforward
from tensorgen.calculus.quotients import fold_quotients
from tensorgen.calculus.reverse import pullback
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Node

Direction = Literal["forward", "reverse"]


def jacobian(
    graph: Graph, output: Node, inputs: Sequence[Node], direction: Direction
) -> list[Node]:
    """Return `d output / d x`, of dims `output.dims + x.dims`, for each input x."""
    if direction == "forward":
        return [
            pushforward(graph, [output], {x: graph.unit(x.dims)}, x.dims)[0]
            for x in inputs
        ]
    seed = graph.unit(output.dims)
    return pullback(graph, {output: seed}, inputs, output.dims)


def hessian(
    graph: Graph,
    output: Node,
    inputs: Sequence[Node],
    first: Direction,
    second: Direction,
) -> dict[tuple[Node, Node], Node]:
    """Return the second derivatives, of dims `output.dims + x.dims + y.dims`.

    Blocks are keyed by pairs of inputs; a pair in the other order is derived from
    its mirror image, so each is computed once (Schwarz).
    """
    rows = fold_quotients(graph, jacobian(graph, output, inputs, first))
    blocks: dict[tuple[Node, Node], Node] = {}
    for k, (x, row) in enumerate(zip(inputs, rows, strict=True)):
        rest = inputs[k:]
        found = fold_quotients(graph, jacobian(graph, row, rest, second))
        for y, block in zip(rest, found, strict=True):
            blocks[x, y] = block
            if x is not y:
                r, a = output.order, x.order
                swapped = (*range(r), *range(r + a, r + a + y.order), *range(r, r + a))
                blocks[y, x] = graph.permute(block, swapped)
    return blocks


def jvp(graph: Graph, output: Node, directions: Mapping[Node, Node]) -> Node:
    """Return the tangent of `output` along the given directions of the inputs."""
    return fold_quotients(graph, pushforward(graph, [output], directions, ()))[0]


def vjp(
    graph: Graph, output: Node, cotangent: Node, inputs: Sequence[Node]
) -> list[Node]:
    """Return the cotangents of the inputs for one of the output."""
    found = pullback(graph, {output: cotangent}, inputs, ())
    return fold_quotients(graph, found)


def hvp(
    graph: Graph, output: Node, inputs: Sequence[Node], directions: Mapping[Node, Node]
) -> list[Node]:
    """Return the Hessian of a scalar times a direction: forward over reverse."""
    gradients = vjp(graph, output, graph.constant(1), inputs)
    return fold_quotients(graph, pushforward(graph, gradients, directions, ()))
