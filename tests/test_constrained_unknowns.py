"""Problems of functions that depend on unknowns: found once a point, from the last."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import approx_fprime, minimize

import tensorgen
from tensorgen.errors import SpecError
from tests.device.library import execute
from tests.made import generate

Array = Any

SPEC = """
tensorgen: 1
inputs: {p: [k], A: [n, n], B: [n, k], c: [n], top: {shape: scalar, default: 1}}
unknowns:
  y: {shape: [n], equation: y + tanh(A @ y)/2 - B @ p}
  z: {shape: scalar, minimises: sum((z - y)**4) + z**2}
functions:
  cost: dot(c, y) + sum(p**2) + z**2
  load: y**2
  sums: {expr: sum(y) + z}
problem:
  name: Load
  minimize: cost
  variables: {p: {lower: -2}}
  constraints: {load: {upper: top}, sums: {equal: 0}}
"""


def problem(text: str = SPEC) -> tuple[Any, Any]:
    rng = np.random.default_rng(5)
    given = {"A": rng.normal(size=(4, 4)), "B": rng.normal(size=(4, 3))}
    module = execute(generate(text))
    return module, module.Load(**given, c=rng.normal(size=4))


def jacobian(p: Any, v: Array) -> Array:
    found = np.zeros((p.m, p.n))
    found[p.jacobianstructure()] = p.jacobian(v)
    return found


def test_values_and_derivatives_are_those_through_the_solution() -> None:
    _, p = problem()
    v, weights = np.array([0.4, -0.2, 0.7]), np.arange(1.0, 6.0)
    slope = approx_fprime(v, p.objective, 1e-7)
    np.testing.assert_allclose(p.gradient(v), slope, 1e-5, 1e-6)
    rows = approx_fprime(v, p.constraints, 1e-7)
    np.testing.assert_allclose(jacobian(p, v), rows, 1e-5, 1e-6)

    def lagrangian(v: Array) -> Array:
        return 0.5 * p.gradient(v) + weights @ jacobian(p, v)

    H = np.asarray(p.lagrangian_hessian(v, weights, 0.5))
    np.testing.assert_allclose(H, approx_fprime(v, lagrangian, 1e-7), 1e-5, 1e-5)


def test_solutions_are_found_once_a_point_from_those_of_the_last() -> None:
    module, p = problem()
    solve, starts = module.y_solve, []

    def counted(*given: Array, start: Any = None) -> Array:
        starts.append(start)
        return solve(*given, start=start)

    module.y_solve = counted
    v = np.array([0.4, -0.2, 0.7])
    for _ in range(2):
        p.objective(v), p.gradient(v), p.constraints(v), p.jacobian(v)
        p.hessian(v, np.ones(5))
    assert starts == [None]
    p.constraints(v + 1e-3)
    assert len(starts) == 2 and starts[1] is not None


def test_it_has_the_optimum_of_the_problem_with_its_equation_as_a_constraint() -> None:
    _, p = problem()
    options = {"maxiter": 200, "ftol": 1e-12}
    first = minimize(
        p.objective,
        np.zeros(3),
        jac=p.gradient,
        bounds=p.bounds,
        constraints=p.scipy_constraints(sparse=False),
        method="SLSQP",
        options=options,
    )
    assert first.success
    assert np.all(p.constraints(first.x)[:4] <= 1 + 1e-9)
    assert abs(p.constraints(first.x)[4]) < 1e-9


def test_bounds_do_not_wait_for_unknowns() -> None:
    text = SPEC.replace("p: {lower: -2}", "p: {lower: z}")
    with pytest.raises(SpecError, match="a bound of 'p' depends on the unknown 'z'"):
        tensorgen.generate(text)
