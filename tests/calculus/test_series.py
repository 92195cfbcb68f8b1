"""Coefficients of series, each from those of lower order."""

from __future__ import annotations

import numpy as np
import pytest

from tensorgen.calculus.series import Series
from tensorgen.ir.graph import Graph
from tensorgen.operators.stable import StableForms
from tests.lang.speak import value


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


@pytest.mark.parametrize("result", ["p[k]", "s[k] * p[k]", "q[k]"])
def test_each_of_several_states_has_its_own_coefficients(result: str) -> None:
    lines = ["s[0] = v", "p[0] = w", "q[0] = A[0]", "s[t + 1] = tanh(A @ p[t]) * s[t]"]
    lines += ["p[t + 1] = sin(s[t]) + p[t]", "q[t + 1] = q[t] * p[t]", f"g0 = {result}"]
    found = value("taylor(g0, v, w, 2)", where="\n".join(lines))
    lines += ["g1 = jvp(g0, v, w)", "g2 = jvp(g1, v, w)"]
    nested = value("[g0, g1, g2 / 2]", where="\n".join(lines))
    np.testing.assert_allclose(found, nested, rtol=1e-12)
