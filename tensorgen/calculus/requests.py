"""What can be asked for: from a kind of derivative to nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from tensorgen.calculus.derive import Direction, hessian, hvp, jacobian, jvp, vjp
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Node

Mode = Literal["cross-country", "reverse", "forward"]

MODES: tuple[Mode, ...] = ("cross-country", "reverse", "forward")


@dataclass(frozen=True)
class Request:
    """A function to be differentiated, and what its derivatives are multiplied by.

    `directions` are the inputs `dX`, one a variable; `cotangent` is `ct`.
    """

    output: Node
    variables: tuple[Node, ...]
    directions: Mapping[Node, Node]
    cotangent: Node | None = None


def gradient(graph: Graph, request: Request, mode: Mode) -> list[list[Node]]:
    """Return the ways to write the gradients of a scalar."""
    if mode == "forward":
        return [jacobian(graph, request.output, request.variables, "forward")]
    seed = graph.constant(1)
    return [vjp(graph, request.output, seed, request.variables)]


def jacobians(graph: Graph, request: Request, mode: Mode) -> list[list[Node]]:
    """Return the ways to write the Jacobians: both directions in cross-country."""
    return [
        jacobian(graph, request.output, request.variables, direction)
        for direction in _directions(mode)
    ]


def hessians(graph: Graph, request: Request, mode: Mode) -> list[list[Node]]:
    """Return the ways to write the second derivatives of each pair of variables.

    Pairs are (x, y) with y from x on, in order; the others are their transposes.
    """
    x = request.variables
    pairs = [(a, b) for k, a in enumerate(x) for b in x[k:]]
    first: Direction = "forward" if mode == "forward" else "reverse"
    second: Direction = "reverse" if mode == "reverse" else "forward"
    ways = [(first, second)]
    if mode == "cross-country" and request.output.order:
        ways = [("reverse", "forward"), ("forward", "forward")]
    found = []
    for one, two in ways:
        blocks = hessian(graph, request.output, x, one, two)
        found.append([blocks[pair] for pair in pairs])
    return found


def higher(
    graph: Graph, request: Request, order: Sequence[Node], mode: Mode
) -> list[list[Node]]:
    """Return the ways to write a derivative of order `len(order)`."""
    found = []
    for direction in _directions(mode):
        node = request.output
        for x in order:
            step: Direction = direction
            if mode == "cross-country":
                # The first step of a scalar is cheapest in reverse; then forward.
                step = "reverse" if node is request.output else "forward"
                step = direction if request.output.order else step
            (node,) = jacobian(graph, node, [x], step)
        found.append([node])
        if not request.output.order and mode == "cross-country":
            break
    return found


def products(
    graph: Graph, request: Request, kind: Literal["hvp", "jvp", "vjp"], mode: Mode
) -> list[list[Node]]:
    """Return the ways to write a product with a direction or the cotangent.

    They are matrix-free in every mode: a direction goes forward, a cotangent back.
    """
    if kind == "hvp":
        return [hvp(graph, request.output, request.variables, request.directions)]
    if kind == "jvp":
        return [[jvp(graph, request.output, request.directions)]]
    assert request.cotangent is not None
    return [vjp(graph, request.output, request.cotangent, request.variables)]


def _directions(mode: Mode) -> tuple[Direction, ...]:
    if mode == "cross-country":
        return ("reverse", "forward")
    return ("forward",) if mode == "forward" else ("reverse",)
