"""Unknowns for each index: found together, and checked and verified whole."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize, root

import tensorgen
from tensorgen.errors import Source, SpecError
from tensorgen.pipeline import compile_spec
from tensorgen.spec.read import read_spec
from tensorgen.verify import Verification, generated
from tests.device.library import execute
from tests.made import generate
from tests.sampled import left

Array = Any

STEPS = """
tensorgen: 1
inputs:
  x: [T + 1, n]
  u: [T, k]
  y: [S + 1, n]
  v: [S, k]
  A: [n, n]
  B: [n, k]
  mu: {shape: scalar, default: 1}
definitions:
  rhs(x, v): A @ x - mu*x**3 + B @ v
unknowns:
  later:
    of: {a: [n], b: [k]}
    shape: [n]
    equation: later - a - (rhs(a, b) + rhs(later, b))/20
    start: a
functions:
  defect[t]: x[t + 1] - later(x[t], u[t])
  energy: sum(u**2) + sum(x**2)
  both:
    expr: >-
      sum(sum((x[t + 1] - later(x[t], u[t]))**2), t)
      + sum(sum((y[s + 1] - later(y[s], v[s]))**2), s)
    wrt: [x, u, A]
    emit: [value, gradient, hvp]
problem:
  minimize: energy
  variables: {x: {}, u: {lower: -1, upper: 1}}
  constraints: {defect: {equal: 0}}
"""
EQUILIBRIA = """
tensorgen: 1
inputs: {a: [m, k], b: [m, k, d], p: [d], W: [d, d]}
unknowns:
  log_root: {of: {s: scalar}, shape: scalar, equation: log_root + exp(log_root) - s}
  rest:
    of: {c: [d], s: scalar, q: [d]}
    shape: [d]
    fixed_point: tanh(W @ rest/4 + c)*sigmoid(s) + q
  low:
    of: {c: [d]}
    shape: [d]
    minimises: sum(exp(low) + low**2) - dot(c, low) + dot(low, W @ W.T @ low)/10
functions:
  numbers: {expr: "sum(log_root(a[i, j])**2, i, j)", wrt: a, emit: [hessian, hvp]}
  rests:
    expr: sum(sum(rest(b[i, j, :], a[i, j], p)**2), i, j)
    wrt: [b, a, p, W]
    emit: [value, gradient, hvp]
  lows: {expr: "sum(sum(low(b[i, 0, :])**2), i)", wrt: [b, W], emit: [value, gradient]}
  each[i]: {expr: "sum(low(b[i, 0, :])**2)", wrt: b, emit: [value, jacobian]}
"""
SPECS = {"steps": STEPS, "equilibria": EQUILIBRIA}


@pytest.mark.parametrize("name", SPECS)
def test_every_function_is_checked(name: str) -> None:
    told: dict[str, Any] = {}
    source = Source("a.yaml", SPECS[name])
    compile_spec(source, None, "cross-country", report=told.__setitem__)
    assert told
    for report in told.values():
        assert not report.unchecked


@pytest.mark.parametrize("name", [left("steps"), "equilibria"])
def test_every_function_is_verified(name: str) -> None:
    verification = Verification(read_spec(Source("a.yaml", SPECS[name])), points=2)
    subject = generated(generate(SPECS[name]), name, "numpy")
    found = verification.verify(subject)
    # Those of constrained problems are verified by their functions.
    wrong = [x for x in found if x.verdict != "ok" and "Problem" not in x.function]
    assert [(x.function, x.what, x.reason) for x in wrong] == []
    emitted = {x for x in vars(subject.module)["__all__"] if x[:1].islower()}
    assert emitted <= {x.function for x in found}


def steps(rng: np.random.Generator, T: int) -> dict[str, Array]:
    shapes = {"x": (T + 1, 3), "u": (T, 2), "A": (3, 3), "B": (3, 2)}
    return {name: rng.normal(size=shape) for name, shape in shapes.items()}


def stepped(x: Array, u: Array, A: Array, B: Array) -> Array:
    def rhs(x: Array) -> Array:
        return A @ x - x**3 + B @ u

    return root(lambda y: y - x - (rhs(x) + rhs(y)) / 20, x, tol=1e-13).x


def test_implicit_steps_at_all_times_are_solved_together() -> None:
    module = execute(generate(STEPS))
    given = steps(np.random.default_rng(1), 6)
    x, u, A, B = given.values()
    wanted = [stepped(x[t], u[t], A, B) for t in range(6)]
    np.testing.assert_allclose(module.later_each_solve(x[:-1], u, A, B), wanted, 1e-9)
    np.testing.assert_allclose(module.defect(**given), x[1:] - wanted, 1e-9, 1e-12)
    assert module.later_each_solve(x[:0], u[:0], A, B).shape == (0, 3)


def test_a_problem_steps_implicitly_and_solves_once_a_point() -> None:
    text = generate(STEPS)
    _, _, point = text.partition("class _SpecPoint:")
    point, _, _ = point.partition("\nclass ")
    assert point.count("later_each_solve(") == 1
    rng, T = np.random.default_rng(2), 4
    given = steps(rng, T)
    p = execute(text).SpecProblem(T=T, A=given["A"], B=given["B"])
    v = p.pack(given["x"], given["u"])

    def jacobian(v: Array) -> Array:
        J = np.zeros((p.m, p.n))
        J[p.jacobianstructure()] = p.jacobian(v)
        return J

    units = 1e-6 * np.eye(p.n)
    rows = [(p.constraints(v + e) - p.constraints(v - e)) / 2e-6 for e in units]
    np.testing.assert_allclose(jacobian(v), np.transpose(rows), 1e-6, 1e-8)
    factors = rng.normal(size=p.m)
    H = np.asarray(p.lagrangian_hessian(v, factors, 0.7))

    def slope(v: Array) -> Array:
        return 0.7 * p.gradient(v) + factors @ jacobian(v)

    rows = [(slope(v + e) - slope(v - e)) / 2e-6 for e in units]
    np.testing.assert_allclose(H, rows, 1e-5, 1e-7)


def test_each_row_is_found_at_its_own_pace() -> None:
    module = execute(generate(EQUILIBRIA))
    s = np.array([-700.0, -3.0, 0.5, 40.0, 600.0])
    found = module.log_root_each_solve(s)
    np.testing.assert_allclose(found + np.exp(found), s, 1e-9)
    rng = np.random.default_rng(3)
    c, W = rng.normal(size=(5, 3)), rng.normal(size=(3, 3))

    def low(y: Array, c: Array) -> Any:
        return np.sum(np.exp(y) + y**2) - c @ y + y @ W @ W.T @ y / 10

    wanted = [minimize(low, np.zeros(3), (row,), tol=1e-12).x for row in c]
    np.testing.assert_allclose(module.low_each_solve(c, W), wanted, 1e-5, 1e-6)


def test_rows_without_a_solution_are_reported() -> None:
    text = (
        "tensorgen: 1\ninputs: {x: [n]}\nunknowns:\n"
        "  y: {of: {s: scalar}, shape: scalar, equation: y**2 - s, start: s + 1}\n"
        "functions: {f: 'sum(y(x[i]), i)'}\n"
    )
    module = execute(tensorgen.generate(text))
    assert module.f(np.array([4.0, 9.0])) == pytest.approx(5)
    with pytest.raises(module.NotConverged, match="y_each: residual"):
        module.f(np.array([4.0, -9.0]))


def test_what_takes_no_rows_is_refused_with_a_way_out() -> None:
    text = """
tensorgen: 1
inputs: {x: [m, n], u: [T]}
definitions:
  inner(a): a/2
unknowns:
  half: {of: {b: [n]}, shape: [n], equation: half + half**3 - b}
  y: {of: {a: [n]}, shape: [n], equation: y + half(y) - a}
functions:
  f[i]: sum(y(x[i, :]))
"""
    with pytest.raises(SpecError) as caught:
        tensorgen.generate(text)
    told = str(caught.value.render())
    assert "'y' is solved for one at a time" in told
    assert "in the step of a recurrence" in told
