"""Derivatives by a parameter of a definition, where it has indices: each by its own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import approx_fprime

from tensorgen.errors import SpecError
from tests.device.library import execute
from tests.made import generate

Array = Any

TASKS = """
tensorgen: 1
inputs: {w: [p], x: [K, m, p], y: [K, m], alpha: scalar}
definitions:
  loss(w, x, y): sum((tanh(x @ w) - y)**2)
  adapt(theta, x, y): theta - alpha*grad(loss(theta, x, y), theta)
  newton(t, x, y): t - solve(hess(loss(t, x, y), t) + 9*eye(p), grad(loss(t, x, y), t))
functions:
  meta:
    where: |
      t1[k, :] = adapt(w, x[k, :, :], y[k, :])
      t2[k, :] = adapt(t1[k, :], x[k, :, :], y[k, :])
      t3[k, :] = newton(t2[k, :], x[k, :, :], y[k, :])
    expr: sum(loss(t3[k, :], x[k, :, :], y[k, :]), k)
    wrt: [w, alpha]
    emit: [value, gradient, hvp]
"""


def test_each_task_adapts_by_its_own_slope() -> None:
    module = execute(generate(TASKS))
    rng = np.random.default_rng(8)
    x, y = rng.normal(size=(4, 5, 3)), rng.normal(size=(4, 5))
    w, alpha = rng.normal(size=3), 0.05

    def slope(w: Array, x: Array, y: Array) -> Array:
        t = np.tanh(x @ w)
        return 2 * x.T @ ((t - y) * (1 - t**2))

    def meta(v: Array) -> float:
        total = 0.0
        for a, b in zip(x, y, strict=True):
            t = v[:3]
            for _ in range(2):
                t = t - v[3] * slope(t, a, b)
            rows = [np.imag(slope(t + 1e-30j * e, a, b)) / 1e-30 for e in np.eye(3)]
            t = t - np.linalg.solve(np.array(rows) + 9 * np.eye(3), slope(t, a, b))
            total += float(np.sum((np.tanh(a @ t) - b) ** 2))
        return total

    v = np.append(w, alpha)
    assert module.meta(w, x, y, alpha) == pytest.approx(meta(v), rel=1e-12)
    got = module.meta_grad(w, x, y, alpha)
    np.testing.assert_allclose(
        np.append(got.w, got.alpha), approx_fprime(v, meta, 1e-7), 1e-4, 1e-4
    )
    d = rng.normal(size=4)

    def slopes(v: Array) -> Array:
        return np.append(*module.meta_grad(v[:3], x, y, v[3]))

    along = (slopes(v + 1e-6 * d) - slopes(v - 1e-6 * d)) / 2e-6
    twice = module.meta_hvp(w, x, y, alpha, d[:3], d[3])
    np.testing.assert_allclose(np.append(*twice), along, 1e-5, 1e-5)


KINDS = """
tensorgen: 1
inputs: {X: [K, n], c: [J], V: [K, n], A: [n, n]}
definitions:
  f(t): sum(t**3)/6 + dot(t, A @ t)/2
  moved(t): tanh(A @ t)
  bend(t): hess(f(t), t)
  pushed(t, v): hvp(f(t), t, v)
  slopes(t): jac(moved(t), t)
  along(t, v): jvp(moved(t), t, v)
  back(t, v): vjp(moved(t), t, v)
  scaled(t, s): grad(s*f(t), t)
  apart(t, s): grad(s**2, t)
  third(t): grad(sum(grad(f(t), t)), t)
functions:
  bends[k]: bend(X[k, :] + 1)
  pushes[k]: pushed(X[k, :], V[k, :])
  rows[k]: slopes(2*X[k, :])
  tangents[k]: along(X[k, :], V[k, :])
  cotangents[k]: back(X[k, :], V[k, :])
  both[k, j]: scaled(X[k, :], c[j])
  none[k, j]: apart(X[k, :], c[j])
  deep[k]: third(X[k, :])
"""


def test_all_kinds_of_derivatives_are_taken_for_each_index() -> None:
    module = execute(generate(KINDS))
    rng = np.random.default_rng(9)
    X, V, A = rng.normal(size=(4, 3)), rng.normal(size=(4, 3)), rng.normal(size=(3, 3))
    c, S = rng.normal(size=2), (A + A.T) / 2
    diag = [np.diag(row) for row in X]
    np.testing.assert_allclose(module.bends(X, A), S + diag + np.eye(3), 1e-12)
    pushes = [(S + d) @ v for d, v in zip(diag, V, strict=True)]
    np.testing.assert_allclose(module.pushes(X, V, A), pushes, 1e-12)

    def slope(t: Array) -> Array:
        return (1 - np.tanh(A @ t) ** 2)[:, None] * A

    np.testing.assert_allclose(module.rows(X, A), [slope(2 * t) for t in X], 1e-11)
    tangents = [slope(t) @ v for t, v in zip(X, V, strict=True)]
    np.testing.assert_allclose(module.tangents(X, V, A), tangents, 1e-11)
    cotangents = [slope(t).T @ v for t, v in zip(X, V, strict=True)]
    np.testing.assert_allclose(module.cotangents(X, V, A), cotangents, 1e-11)
    grads = X**2 / 2 + X @ S
    np.testing.assert_allclose(
        module.both(X, c, A), grads[:, None] * c[:, None], 1e-11, 1e-14
    )
    np.testing.assert_array_equal(module.none(X, c), np.zeros((4, 2, 3)))
    np.testing.assert_allclose(module.deep(X, A), X + S.sum(axis=0), 1e-11)


def test_derivatives_within_derivatives_have_variables_of_their_own() -> None:
    """The inner one is by `t`, at values that hold the outer `t` elsewhere too."""
    module = execute(
        generate(
            "tensorgen: 1\ninputs: {z: [n], x: [n], Z: [m, n]}\ndefinitions:\n"
            "  inner(t, s): grad(sum(t**2*s), t)\n"
            "  outer(t): grad(sum(inner(2*t, t*x)), t)\n"
            "functions:\n"
            "  one: {where: a = z + 1, expr: outer(a)}\n"
            "  each[i]: outer(Z[i, :])\n"
        )
    )
    z, x = np.array([0.3, 0.7]), np.array([2.0, 5.0])
    np.testing.assert_allclose(module.one(z, x), 8 * (z + 1) * x, 1e-14)
    Z = np.array([[0.3, 0.7], [1.0, -2.0]])
    np.testing.assert_allclose(module.each(x, Z), 8 * Z * x, 1e-14)


def test_a_series_is_not_by_one_variable_for_each_index() -> None:
    text = (
        "tensorgen: 1\ninputs: {X: [m, n], v: [n]}\ndefinitions:\n"
        "  rows(t): taylor(sum(t**3), t, v, 2)\nfunctions:\n  f[i]: rows(X[i, :])\n"
    )
    with pytest.raises(SpecError, match="a series is along one direction"):
        generate(text)
