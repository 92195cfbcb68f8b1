"""Derivatives by what a step has: `jac(f(x[t]), x[t])`, as an extended filter takes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorgen
from tests import made

Array = Any
STEPS = """
tensorgen: 1
inputs: {A: [n, n], b: [n], x0: [n], z: [T]}
definitions: |
  m(x) = sum(b*x**2)
functions:
  loss:
    where: |
      x[0] = x0
      p[t] = tanh(A @ x[t]) + x[t]/2
      F[t] = jac(p[t], x[t])
      g[t] = grad(m(p[t]) + p[t, 0]*x[t, 1], p[t])
      h[t] = hess(m(p[t]) + p[t, 0]**3, p[t])
      e[t] = grad(m(x[t]), x[t, 0]) + sum(hvp(m(x[t])*x[t, 0], x[t], b))
      r[t, i] = grad(x[t, i]**3 + x[t, 0], x[t, i])
      x[t + 1] = F[t] @ g[t]/3 + h[t] @ p[t]/9 + e[t]*z[t]/9 + r[t]/9
    expr: sum(x**2)
    wrt: [A, b]
    emit: [value, gradient]
"""


def loop(A: Array, b: Array, x0: Array, z: Array) -> Array:
    """The same by derivatives that were taken by hand."""
    x, total = x0, (x0**2).sum()
    one, eye = np.eye(len(x))[0], np.eye(len(x))
    for now in z:
        c = np.tanh(A @ x)
        p = c + x / 2
        F = (1 - c**2)[:, None] * A + eye / 2
        g, h = 2 * b * p + x[1] * one, 2 * np.diag(b) + 6 * p[0] * np.outer(one, one)
        twice = 2 * b * x[0] * b + 2 * (one * ((b * x) @ b) + b * x * b[0])
        e, r = 2 * b[0] * x[0] + twice.sum(), 3 * x**2 + one
        x = F @ g / 3 + h @ p / 9 + e * now / 9 + r / 9
        total += (x**2).sum()
    return total


def test_derivatives_by_states_and_by_what_a_step_has_made() -> None:
    module, rng = made.load(STEPS), np.random.default_rng(0)
    A, b, x0 = rng.normal(size=(3, 3)) / 3, rng.normal(size=3) / 2, rng.normal(size=3)
    given = {"A": A, "b": b, "x0": x0, "z": rng.normal(size=4)}
    assert module.loss(**given) == pytest.approx(loop(**given), rel=1e-11)
    slopes = module.loss_grad(**given)
    for name in ("A", "b"):
        steps = 1e-6 * np.eye(given[name].size).reshape(-1, *given[name].shape)
        rows = [
            loop(**given | {name: given[name] + d})
            - loop(**given | {name: given[name] - d})
            for d in steps
        ]
        want = np.reshape(rows, given[name].shape) / 2e-6
        np.testing.assert_allclose(getattr(slopes, name), want, 1e-6, 1e-7)


def test_first_steps_have_derivatives_by_first_entries() -> None:
    text = """
tensorgen: 1
inputs: {b: [n], x0: [n], z: [T]}
functions:
  f:
    where: |
      x[0] = sin(x0)
      q[0] = b
      w[t] = grad(sum(b*x[t]**3), x[t])
      q[t] = w[t] + q[t - 1]
      x[t + 1] = q[t]*z[t]/9
    expr: sum(x) + sum(w*q)
    wrt: x0
"""
    module, rng = made.load(text), np.random.default_rng(0)
    b, x0, z = rng.normal(size=3), rng.normal(size=3), rng.normal(size=4)

    def value(x0: Array) -> Array:
        x, q = np.sin(x0), b
        total = x.sum()
        for t, now in enumerate(z):
            w = 3 * b * x**2
            q = w + q if t else q
            x = q * now / 9
            total += x.sum() + w @ q
        return total

    assert module.f(b=b, x0=x0, z=z) == pytest.approx(value(x0), rel=1e-12)
    slopes = module.f_grad(b=b, x0=x0, z=z)
    want = [(value(x0 + d) - value(x0 - d)) / 2e-6 for d in 1e-6 * np.eye(3)]
    np.testing.assert_allclose(slopes, want, 1e-6, 1e-8)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("v[t] = jac(w[t], p[t])", "'w' follows from 'p' in the same step"),
        ("v[t] = jac(x, x)", "no whole array here"),
        ("v[t] = jac(p[t], x[0])", "by what a step has"),
        ("v[t] = jac(p[t], x[t, :2])", "by an input or by one entry of it"),
    ],
)
def test_what_is_no_variable_of_a_step_is_said(line: str, said: str) -> None:
    text = f"""
tensorgen: 1
inputs: {{A: [n, n], u: [T, n], x0: [n]}}
functions:
  f:
    where: |
      x[0] = x0
      p[t] = A @ x[t] + u[t]
      w[t] = sin(p[t])
      {line}
      x[t + 1] = w[t] + v[t] @ u[t]
    expr: sum(x)
"""
    with pytest.raises(tensorgen.SpecError) as caught:
        tensorgen.generate(text)
    assert said in str(caught.value)
