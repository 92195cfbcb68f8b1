"""Diagonals are taken before anything off them is computed."""

from __future__ import annotations

import inspect
from collections.abc import Callable

import numpy as np
import pytest

import tensorgen
from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Input, Node, topological
from tensorgen.operators.references.rows import FUNCTIONS, OPERATORS
from tensorgen.passes.context import Context
from tensorgen.passes.readings.take_entries import take_entries
from tensorgen.verify.interpret import evaluate
from tests import made
from tests.ir.verify import verify

n = Dim.of("n")
INPUTS = {name: np.random.default_rng(k).random((4, 4)) for k, name in enumerate("AB")}
INPUTS["x"] = np.random.default_rng(9).random(4)


class Case:
    """A graph with a few matrices on their way to a diagonal."""

    def __init__(self) -> None:
        self.g = Graph()
        self.A, self.B = self.g.input("A", [n, n]), self.g.input("B", [n, n])
        self.x = self.g.input("x", [n])

    def product(self) -> Node:
        return self.g.einsum("ik,kj->ij", self.A, self.B)

    def total(self) -> Node:
        outer = self.g.einsum("i,j->ij", self.x, self.x)
        return self.g.sum(
            "ij", [(1, self.A, "ji"), (-2, outer, "ij"), (1, self.x, "j")]
        )

    def mapped(self) -> Node:
        return self.g.map("exp", "ij", [(self.total(), "ij")])

    def tensor(self) -> Node:
        return self.g.einsum("ij,jk->ijk", self.total(), self.B)

    def level(self) -> Node:
        """A number is added everywhere."""
        three = self.g.constant(3)
        whole = self.g.sum("ij", [(1, self.total(), "ij"), (2, three, "")])
        return self.g.map("exp", "ij", [(whole, "ij")])


@pytest.mark.parametrize("make", [Case.product, Case.total, Case.mapped, Case.level])
def test_no_matrix_is_computed_for_its_diagonal(make: Callable[[Case], Node]) -> None:
    case = Case()
    node = case.g.product("i", [(make(case), "ii")])
    (better,) = take_entries(Context(case.g), [node])
    verify([better])
    computed = [p for p in topological([better]) if not isinstance(p, Input)]
    assert {part.order for part in computed} <= {0, 1}
    before, after = evaluate([node, better], INPUTS, FUNCTIONS, OPERATORS, {"n": 4})
    np.testing.assert_allclose(after, before)


def test_a_diagonal_of_two_axes_of_three_is_taken_first_too() -> None:
    case = Case()
    node = case.g.product("ik", [(case.tensor(), "iik")])
    (better,) = take_entries(Context(case.g), [node])
    verify([better])
    assert max(part.order for part in topological([better])) == 2
    before, after = evaluate([node, better], INPUTS, FUNCTIONS, OPERATORS, {"n": 4})
    np.testing.assert_allclose(after, before)


def test_what_is_needed_as_a_whole_holds_its_diagonal() -> None:
    case = Case()
    whole = case.product()
    node = case.g.product("i", [(whole, "ii")])
    assert take_entries(Context(case.g), [node, whole]) == [node, whole]


def test_a_name_does_not_make_an_array_that_only_its_diagonal_is_used_of() -> None:
    case = Case()
    whole = case.product()
    case.g.name(whole, "C")
    (better,) = take_entries(Context(case.g), [case.g.product("i", [(whole, "ii")])])
    assert whole not in topological([better])


@pytest.mark.parametrize(
    ("d", "slopes"),
    [
        ("diff(concatenate([[0.0], x, [1.0]]))", "d_d[:-1] - d_d[1:]"),
        ("diff(concatenate([zeros(1), x, ones(1)]))", "d_d[:-1] - d_d[1:]"),
        ("z[1:] - z[:n + 1]", "d_d[:-1] - d_d[1:]"),
    ],
)
def test_slopes_of_what_is_set_beside_an_array_are_not_made(
    d: str, slopes: str
) -> None:
    text = f"""tensorgen: 1
inputs: {{x: [n]}}
functions:
  f:
    where: |
      z = concatenate([zeros(1), x, ones(1)])
      d = {d}
    expr: sum(sqrt(1 + d**2))
    wrt: x
    emit: [value, gradient]
  g:
    where: z = concatenate([zeros(3), x, ones(2)])
    expr: sum(cos(2*z))
    wrt: x
    emit: [gradient]
"""
    module = tensorgen.load(text)
    code = made.source(inspect.getsource(module), "f_value_and_grad")
    assert slopes in code and code.count("np.zeros") == 1
    x = np.random.default_rng(0).random(5)
    d_x = np.diff(np.concatenate([[0], x, [1]]))
    value, slope = module.f_value_and_grad(x)
    np.testing.assert_allclose(value, np.sqrt(1 + d_x**2).sum())
    np.testing.assert_allclose(slope, -np.diff(d_x / np.sqrt(1 + d_x**2)), 1e-13)
    np.testing.assert_allclose(module.g_grad(x), -2 * np.sin(2 * x))


def test_no_entry_is_read_beside_what_is_set_at_places() -> None:
    spec = """tensorgen: 1
dims: {T: 60}
inputs: {a: scalar, b: scalar, y: [T]}
functions:
  sse:
    where: |
      level[0] = y[0]
      trend[0] = y[1] - y[0]
      e[t] = y[t + 1] - level[t] - a*trend[t]
      level[t + 1] = level[t] + a*trend[t] + b*e[t]
      trend[t + 1] = a*trend[t] + b**2*e[t]
    expr: sum(e**2)
    wrt: [a, b]
    emit: [value, gradient]
"""
    # `trend[T - 1]` is in no error, so its slope is 0: no array is padded to read that.
    text = made.generate(spec)
    assert "[:-1] = " not in text and "d_trend[T - 1]" not in text
    module = tensorgen.load(spec)
    y = np.random.default_rng(0).normal(size=6)
    step = 1e-6
    gradient = module.sse_grad(0.4, 0.7, y)
    rise = module.sse(0.4 + step, 0.7, y) - module.sse(0.4 - step, 0.7, y)
    assert gradient.a == pytest.approx(rise / (2 * step), rel=1e-7)
