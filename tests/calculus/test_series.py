"""Coefficients of series, each from those of lower order."""

from __future__ import annotations

import pytest

from tensorgen.calculus.series import Series
from tensorgen.ir.graph import Graph
from tensorgen.operators.stable import StableForms


@pytest.mark.parametrize("order", [4, 16])
def test_coefficients_of_what_is_linear_are_made_of_those_of_its_operand(
    order: int,
) -> None:
    graph = Graph(StableForms())
    A, x = graph.input("A", ("n", "n")), graph.input("x", ("n",))
    curve = [graph.input(f"x_{j}", ("n",)) for j in range(1, order + 1)]
    series = Series(graph, {x: curve}, order)
    y = graph.einsum("ij,j->i", A, x)
    found = series.coefficient(y, order)
    assert found is graph.einsum("ij,j->i", A, curve[-1])
    # Besides, what moves and a tangent: so much at any order.
    assert graph.input("end", ()).serial - y.serial <= 4
