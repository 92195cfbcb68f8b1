"""What is looked at by its value at a random point, and what has none there."""

from __future__ import annotations

import pytest

from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.passes.sampled_values import MOST, SIZES, value_of


@pytest.mark.parametrize("order", [0, 1, 2])
def test_inputs_have_entries_near_one(order: int) -> None:
    graph = Graph()
    value = value_of(graph, graph.input("x", [Dim.symbol("n")] * order))
    assert value is not None and value.ndim == order
    assert {*value.shape} <= {*SIZES} and (value > 0).all()


@pytest.mark.parametrize(("length", "has_one"), [(MOST, True), (MOST + 1, False)])
def test_an_array_of_more_entries_than_that_has_no_value(
    length: int, has_one: bool
) -> None:
    graph = Graph()
    node = graph.input("x", [Dim.of(length)])
    assert (value_of(graph, node) is not None) == has_one


def test_a_negative_length_gives_no_value() -> None:
    graph = Graph()
    node = graph.input("x", [Dim.symbol("n") - Dim.of(max(SIZES) + 1)])
    assert value_of(graph, node) is None


def test_where_a_function_hardly_changes_it_tells_nothing() -> None:
    graph = Graph()
    x = graph.input("x", [Dim.symbol("n")])
    assert value_of(graph, graph.map("tanh", "i", [(x, "i")])) is not None
    far = graph.map("tanh", "i", [(graph.scale(x, 30), "i")])
    assert value_of(graph, far) is None
    assert value_of(graph, graph.map("sign", "i", [(x, "i")])) is not None
