"""What can be asked for: from a kind of derivative to nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations_with_replacement
from typing import Literal

from tensorgen.calculus.derive import Direction, hessian, hvp, jacobian, jvp, vjp
from tensorgen.calculus.elements import by_elements
from tensorgen.calculus.metrics import Metric, lowered
from tensorgen.calculus.reverse import pullback
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Node, is_zero
from tensorgen.operators.matrices.subspaces import SUBSPACES

Mode = Literal["cross-country", "reverse", "forward"]

MODES: tuple[Mode, ...] = ("cross-country", "reverse", "forward")


@dataclass(frozen=True)
class Request:
    """A function to be differentiated, and what its derivatives are multiplied by.

    `directions` are the inputs `dX`, one a variable; `cotangent` is `ct`; `order` is
    what a derivative of higher order is taken by. By a variable in `subspaces` the
    derivative is the one on matrices of that kind: with the projection P on these, as
    P(X) = (X + X.T) / 2, gradients are P(G), and Hessians are projected on both sides.
    By one in `metrics` it is a vector in that inner product, where it is one vector.
    Unless it is not to be `local`, a function of few neighbours is differentiated as
    such. With several `results`, each with a cotangent, the adjoint is that of all.
    The cotangent of one with a `metric`, a matrix, is a vector in that inner product.
    """

    output: Node
    variables: tuple[Node, ...]
    directions: Mapping[Node, Node]
    cotangent: Node | None = None
    subspaces: Mapping[Node, str] = field(default_factory=dict)
    order: tuple[Node, ...] = ()
    local: bool = True
    results: tuple[Request, ...] = ()
    metrics: Mapping[Node, Metric] = field(default_factory=dict)
    metric: Node | None = None

    def projected(
        self, graph: Graph, node: Node, by: Sequence[Node], lead: int = 0
    ) -> Node:
        """Project the axes of the variables `by` that follow `lead` other axes."""
        for x in by:
            if x in self.subspaces:
                project = SUBSPACES[self.subspaces[x]].project
                node = project(graph, node, lead, lead + 1)
            lead += x.order
        return node

    def by_each(self, graph: Graph, nodes: Sequence[Node], lead: int = 0) -> list[Node]:
        """Project the first derivatives by each variable."""
        pairs = zip(nodes, self.variables, strict=True)
        return [self.projected(graph, node, [x], lead) for node, x in pairs]

    def vectors(self, graph: Graph, nodes: Sequence[Node]) -> list[Node]:
        """The derivatives by each variable as vectors of its space."""
        pairs = zip(self.by_each(graph, nodes), self.variables, strict=True)
        return [
            self.metrics[x].solved(graph, node) if x in self.metrics else node
            for node, x in pairs
        ]

    def tangents(self, graph: Graph) -> dict[Node, Node]:
        """The directions, projected."""
        return {
            x: self.projected(graph, direction, [x])
            for x, direction in self.directions.items()
        }


def value(graph: Graph, request: Request, mode: Mode) -> list[list[Node]]:
    """Return the one way to write the function itself."""
    return [[request.output]]


def gradient(graph: Graph, request: Request, mode: Mode) -> list[list[Node]]:
    """Return the ways to write the gradients of a scalar."""
    if mode == "forward":
        found = jacobian(graph, request.output, request.variables, "forward")
    else:
        found = vjp(graph, request.output, graph.constant(1), request.variables)
    return [request.vectors(graph, found)]


def jacobians(graph: Graph, request: Request, mode: Mode) -> list[list[Node]]:
    """Return the ways to write the Jacobians: both directions in cross-country."""
    lead = request.output.order
    return [
        request.by_each(
            graph, jacobian(graph, request.output, request.variables, direction), lead
        )
        for direction in _directions(mode)
    ]


def hessians(graph: Graph, request: Request, mode: Mode) -> list[list[Node]]:
    """Return the ways to write the second derivatives of each pair of variables.

    Pairs are (x, y) with y from x on, in order; the others are their transposes.
    """
    x = request.variables
    first: Direction = "forward" if mode == "forward" else "reverse"
    second: Direction = "reverse" if mode == "reverse" else "forward"
    ways = [(first, second)]
    if mode == "cross-country" and request.output.order:
        ways = [("reverse", "forward"), ("forward", "forward")]
    found = []
    for one, two in ways:
        blocks = hessian(graph, request.output, x, one, two)
        lead, pairs = request.output.order, combinations_with_replacement(x, 2)
        found.append([request.projected(graph, blocks[p], p, lead) for p in pairs])
    return found


def higher(graph: Graph, request: Request, mode: Mode) -> list[list[Node]]:
    """Return the ways to write a derivative by `request.order`, one after another."""
    order, found = request.order, []
    output, local = request.output, list[Node]()
    if request.local and mode == "cross-country":
        local, output = by_elements(graph, output, order)
    for direction in _directions(mode):
        node = output
        for x in order:
            step: Direction = direction
            if mode == "cross-country":
                # The first step of a scalar is cheapest in reverse; then forward.
                step = "reverse" if node is output else "forward"
                step = direction if output.order else step
            (node,) = jacobian(graph, node, [x], step)
        node = graph.add(node, *local)
        found.append([request.projected(graph, node, order, output.order)])
        if is_zero(output) or (not output.order and mode == "cross-country"):
            break
    return found


def all_higher(graph: Graph, request: Request, mode: Mode) -> list[list[Node]]:
    """Return the ways to write the derivatives by all of as many variables.

    What several of them begin with is one node.
    """
    orders = combinations_with_replacement(request.variables, len(request.order))
    found = [higher(graph, replace(request, order=x), mode) for x in orders]
    ways = max(map(len, found))
    return [
        [node for own in found for node in own[min(k, len(own) - 1)]]
        for k in range(ways)
    ]


# Products are matrix-free in every mode: a direction goes forward, a cotangent back.


def hvps(graph: Graph, request: Request, mode: Mode) -> list[list[Node]]:
    """Return the one way to write the Hessian of a scalar times a direction."""
    tangents = request.tangents(graph)
    found = hvp(graph, request.output, request.variables, tangents)
    return [request.vectors(graph, found)]


def jvps(graph: Graph, request: Request, mode: Mode) -> list[list[Node]]:
    """Return the one way to write the derivative along a direction."""
    return [[jvp(graph, request.output, request.tangents(graph))]]


def vjps(graph: Graph, request: Request, mode: Mode) -> list[list[Node]]:
    """Return the one way to write the derivative weighted by the cotangent."""
    seeds = dict[Node, Node]()
    for result in request.results or (request,):
        assert result.cotangent is not None
        before = seeds.get(result.output, graph.zeros(result.output.dims))
        given = result.cotangent
        if result.metric is not None:
            given = lowered(graph, result.metric, given)
        seeds[result.output] = graph.add(before, given)
    found = pullback(graph, seeds, request.variables, ())
    return [request.vectors(graph, found)]


def _directions(mode: Mode) -> tuple[Direction, ...]:
    if mode == "cross-country":
        return ("reverse", "forward")
    return ("forward",) if mode == "forward" else ("reverse",)
