"""Adjoints of one recurrence, and tangents, are one function of what they are given."""

from __future__ import annotations

import ast

import numpy as np
import pytest

from tests.made import functions, generate, load

SWING = """
tensorgen: 1
dims: {T: 60}
inputs:
  u: {shape: [T], doc: torques}
  x0: [2]
  dt: {shape: scalar, positive: true}
functions:
  cost:
    where: |
      th[0] = x0[0]
      om[0] = x0[1]
      om[t + 1] = om[t] + dt*(u[t] - 9.8*sin(th[t]) - 0.1*om[t])
      th[t + 1] = th[t] + dt*om[t + 1]
      running = dt * sum(1 + cos(th[t]) + u[t]**2, t)
    expr: running + 5 * (1 + cos(th[T]) + om[T]**2/2)
    wrt: u
    emit: [value, gradient, hvp]
"""


def test_the_adjoint_goes_back_in_one_function() -> None:
    found = functions(generate(SWING))
    back = [name for name, code in found.items() if "in reversed(range(T))" in code]
    assert back == ["_cost_adjoint"]
    assert found["_cost_grad"].count("_cost_adjoint(") == 1
    assert found["cost_hvp"].count("_cost_adjoint(") == 2


def test_what_it_takes_is_called_after_what_is_done_with_it() -> None:
    (adjoint,) = (
        x
        for x in ast.parse(generate(SWING)).body
        if isinstance(x, ast.FunctionDef) and x.name == "_cost_adjoint"
    )
    names = [x.arg for x in adjoint.args.args]
    assert names == ["dt", "d_th_end", "d_om_end", "d_th_source", "cos_th"]


def test_a_loop_with_names_of_its_own_is_found_again() -> None:
    product = functions(generate(SWING))["cost_hvp"]
    assert "_cost_parts(" in product and "np.sin(th[t])" not in product


def test_products_with_the_hessian_are_right() -> None:
    module, rng = load(SWING), np.random.default_rng(3)
    u, du, x0 = rng.normal(size=8), rng.normal(size=8), np.array([0.3, -0.2])
    above, below = (module.cost_grad(u + s * du, x0, 0.1) for s in (1e-5, -1e-5))
    found = module.cost_hvp(u, x0, 0.1, du)
    np.testing.assert_allclose(found, (above - below) / 2e-5, rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("emit", ["[value, gradient]", "[gradient]"])
def test_steps_that_are_gone_through_once_stay_where_they_are(emit: str) -> None:
    text = generate(SWING.replace("[value, gradient, hvp]", emit))
    assert "_cost_adjoint" not in text


def test_loops_within_loops_stay_where_they_are() -> None:
    text = """
tensorgen: 1
inputs: {x: [m, n], w: [3, 2], v: [m, n], c: [3, 2]}
functions:
  f:
    where: |
      s[i, j] = sum(w[a, b] * x[i + a, j + b], a, b)
      r[i, j] = sum(c[a, b] * v[i + a, j + b], a, b)
    expr: sum(sin(s) * r)
    wrt: [x, w]
    emit: [value, gradient]
"""
    rng = np.random.default_rng(1)
    x, v = rng.normal(size=(2, 7, 6))
    w, c = rng.normal(size=(2, 3, 2))
    module = load(text)
    found = module.f_grad(x, w, v, c)
    dx, dw = rng.normal(size=x.shape), rng.normal(size=w.shape)
    above, below = (module.f(x + s * dx, w + s * dw, v, c) for s in (1e-6, -1e-6))
    slope = np.vdot(found.x, dx) + np.vdot(found.w, dw)
    np.testing.assert_allclose(slope, (above - below) / 2e-6, rtol=1e-6)
