"""Terms taken apart: how deep, and what is found."""

from __future__ import annotations

import pytest

from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Input
from tensorgen.passes.limits import DEPTH_OF_PRODUCTS
from tensorgen.structure.take_apart import take_apart


@pytest.mark.parametrize("beyond", [0, 1])
def test_products_are_looked_into_as_deep_as_is_said(beyond: int) -> None:
    graph = Graph()
    node = graph.input("A", ["n", "n"])
    for k in range(DEPTH_OF_PRODUCTS + beyond):
        node = graph.einsum("ij,jk->ik", node, graph.input(f"B{k}", ["n", "n"]))
    factors = [factor for factor, _ in take_apart(graph, node).factors]
    assert len(factors) == DEPTH_OF_PRODUCTS + 1
    opened = [isinstance(factor, Input) for factor in factors]
    assert opened.count(False) == beyond
