"""Which ways a derivative is written in, by the mode and the order of the function."""

from __future__ import annotations

from collections.abc import Sequence

from tensorgen.calculus.derive import Direction, jacobian
from tensorgen.calculus.requests import Request, higher
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Node
from tests.passes.programs import chain, network


def stepwise(
    graph: Graph, node: Node, x: Node, directions: Sequence[Direction]
) -> list[Node]:
    for direction in directions:
        (node,) = jacobian(graph, node, [x], direction)
    return [node]


def test_a_scalar_is_differentiated_in_reverse_first_and_then_forward() -> None:
    net = network(2)
    x = net.weights[0]
    expected = stepwise(net.graph, net.loss, x, ["reverse", "forward"])
    assert expected != stepwise(net.graph, net.loss, x, ["forward", "reverse"])
    request = Request(net.loss, (x,), {}, order=(x, x))
    assert higher(net.graph, request, "cross-country") == [expected]


def test_a_vector_is_differentiated_in_both_directions() -> None:
    graph, f, x = chain()
    request = Request(f, (x,), {}, order=(x, x))
    backward = stepwise(graph, f, x, ["reverse"] * 2)
    forward = stepwise(graph, f, x, ["forward"] * 2)
    assert backward != forward
    assert higher(graph, request, "cross-country") == [backward, forward]
    assert higher(graph, request, "reverse") == [backward]
    assert higher(graph, request, "forward") == [forward]
