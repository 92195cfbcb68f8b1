"""What several results need is read of both, or computed once in one form."""

from __future__ import annotations

import re

import numpy as np
import pytest

from tests.made import generate, load

LAYERS = """
tensorgen: 1
dims: {m: 400, d: 30, h: 40}
inputs:
  W: [d, h]
  U: [h, h]
  v: [h]
  X: [m, d]
  y: [m]
  lam: {shape: [], default: 0.5}
functions:
  f:
    where: |
      a = tanh(X @ W)
      b = tanh(a @ U)
      r = b @ v - y
    expr: sum(r**2) + lam * sum(v**2)
    wrt: [W, U, v]
    emit: [value, gradient]
"""
IMPLICIT = """
tensorgen: 1
inputs: {t: [n], A: [m, n], z: [n]}
unknowns:
  x:
    shape: [n]
    equation: A.T @ (A @ x) + x + x**3 - t
functions:
  f:
    expr: sum(sqrt(1 + (A @ (x - z))**2)) + sum(exp(-x**2) * z) + sum(x * t)
    wrt: t
    emit: [value, gradient]
"""

QUADRATURE = """
tensorgen: 1
inputs: {a: [J], b: [J], Y: [N, J], node: [Q], logw: [Q]}
functions:
  loss:
    where: |
      z[q, j] = a[j]*(node[q] - b[j])
      right[q, j] = log_sigmoid(z[q, j])
      ll[i, q] = sum(Y[i, j]*right[q, j] + (1 - Y[i, j])*log_sigmoid(-z[q, j]), j)
    expr: -sum(logsumexp(ll + logw[None, :], axis=1))
    wrt: [a, b]
    emit: [value, gradient, hessian]
"""


def test_a_gradient_is_the_second_result_of_value_and_gradient() -> None:
    text = generate(LAYERS)
    assert "return f_value_and_grad(W, U, v, X, y, lam=lam)[1]" in text
    module = load(LAYERS)
    rng = np.random.default_rng(1)
    point = [rng.normal(size=s) for s in ((3, 4), (4, 4), 4, (5, 3), 5)]
    value, both = module.f_value_and_grad(*point, lam=2.0)
    found = module.f_grad(*point, lam=2.0)
    assert type(found) is type(both)
    for own, x in zip(found, both, strict=True):
        assert np.array_equal(own, x)
    step = 1e-6
    point[2] = point[2] + step * np.eye(4)[0]
    more = module.f(*point, lam=2.0)
    assert (more - value) / step == pytest.approx(both.v[0], rel=1e-4)
    with pytest.raises(ValueError, match=r"v: expected shape \(h,\) = \(4,\)"):
        module.f_grad(*point[:2], np.ones(3), *point[3:])


def test_what_callers_say_of_solutions_is_handed_on() -> None:
    module = load(IMPLICIT)
    assert "f_value_and_grad(t, A, z, x=x, check=check)[1]" in generate(IMPLICIT)
    rng = np.random.default_rng(2)
    t, A, z = rng.normal(size=3), rng.normal(size=(4, 3)), rng.normal(size=3)
    solved = module.x_solve(t, A)
    assert np.allclose(module.f_grad(t, A, z), module.f_grad(t, A, z, x=solved))
    module.f_grad(t, A, z, x=solved, check=True)
    with pytest.raises(ValueError, match="x"):
        module.f_grad(t, A, z, x=solved + 1, check=True)


def test_what_all_read_is_computed_once_in_one_form() -> None:
    text = generate(QUADRATURE)
    assert len(re.findall(r"^    ll = ", text, re.MULTILINE)) == 1
    assert text.count(" = _guarded_logsumexp_and_softmax(") == 1
    assert "= _guarded_softmax(" not in text
