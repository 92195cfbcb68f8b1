"""Equations of unknowns in index notation: one for each value of the indices left."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorgen
from tests import made

Array = Any
SPEC = """
tensorgen: 1
inputs:
  C: [n, T]
  p: [n]
  M: [q, q]
  S: [q, r]
  beta: [r]
unknowns:
  y: {shape: [n], equation: "sum(C[i, t]*exp(-y[i]*(t + 1)/2), t) - p[i] + i/10"}
  z: {shape: [q], fixed_point: "tanh(sum(M[a, b]*z[b], b))/2 + S[a, 0]"}
  W:
    shape: [q, r]
    equation: "W[a, c] + W[a, c]**3 + sum(M[a, b]*W[b, c], b) - S[a, c]"
  V: {shape: [q, r], equation: "V[a]*(1 + V[a]**2) + M[a, a]*beta - S[a]"}
  root:
    of: {x: scalar, v: [r]}
    shape: [r]
    equation: "root[k] + root[k]**3 - x*v[k]*sum(root[j], j)/9 - v[k]"
functions:
  yields: {expr: y, wrt: [C, p], emit: [value, jacobian]}
  total:
    expr: sum(z**2) + sum(sin(W)) + sum(V**3)
    wrt: [M, S]
    emit: [value, gradient, hvp]
  each: {expr: "sum(root(S[a, 0], S[a])[k]**2, a, k)", wrt: S, emit: [value, gradient]}
"""


def given() -> dict[str, Array]:
    """What all functions take."""
    rng = np.random.default_rng(0)
    M, S = rng.normal(size=(4, 4)) / 6, rng.normal(size=(4, 3))
    C, b = rng.uniform(1, 2, (5, 6)), rng.normal(size=3)
    return {"C": C, "p": C.sum(1) * 0.9, "M": M, "S": S, "beta": b}


def told(function: Any, data: dict[str, Array]) -> dict[str, Array]:
    """What of it a function takes."""
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    return {name: data[name] for name in names if name in data}


def differences(f: Any, x: Array) -> Array:
    """Central differences of what may be an array."""
    steps = 1e-6 * np.eye(x.size).reshape(-1, *x.shape)
    rows = [(f(x + s) - f(x - s)) / 2e-6 for s in steps]
    return np.moveaxis(np.array(rows), 0, -1).reshape(*np.shape(rows[0]), *x.shape)


def test_each_index_has_its_equation() -> None:
    module, data = made.load(SPEC), given()
    C, p, M, S, b = data.values()
    y = module.y_solve(C, p)
    times = (np.arange(6) + 1) / 2
    left = (C * np.exp(-y[:, None] * times)).sum(1)
    np.testing.assert_allclose(left, p - np.arange(5) / 10, rtol=1e-11)
    z = module.z_solve(M, S)
    np.testing.assert_allclose(np.tanh(M @ z) / 2 + S[:, 0], z, rtol=1e-11)
    W = module.W_solve(M, S)
    np.testing.assert_allclose(W + W**3 + M @ W, S, rtol=1e-10)
    V = module.V_solve(M, S, b)
    np.testing.assert_allclose(V + V**3 + np.diag(M)[:, None] * b, S, rtol=1e-10)
    rows = [module.root_solve(S[a, 0], S[a]) for a in range(4)]
    for row, s in zip(rows, S, strict=True):
        np.testing.assert_allclose(row + row**3 - s[0] * s * row.sum() / 9, s, 1e-10)
    want = sum((row**2).sum() for row in rows)
    assert module.each(S) == pytest.approx(want, rel=1e-10)


def test_derivatives_are_those_of_the_solutions() -> None:
    module, data = made.load(SPEC), given()
    own = told(module.yields_jac, data)
    jacobian = module.yields_jac(**own)
    for name in ("C", "p"):
        found = getattr(jacobian, name)
        found = found if isinstance(found, np.ndarray) else found.dense()
        want = differences(lambda x, n=name: module.yields(**own | {n: x}), own[name])
        np.testing.assert_allclose(found, want, 1e-6, 1e-8)
    own = told(module.total, data)
    slopes = module.total_grad(**own)
    for name in ("M", "S"):
        want = differences(lambda x, n=name: module.total(**own | {n: x}), own[name])
        np.testing.assert_allclose(getattr(slopes, name), want, 1e-6, 1e-8)
    want = differences(module.each, data["S"])
    np.testing.assert_allclose(module.each_grad(data["S"]), want, 1e-6, 1e-8)


@pytest.mark.parametrize(
    ("equation", "said"),
    [
        ("x[i]*x[j] - A[i, j]", "the index 'i' is neither on the left side nor bound"),
        ("x[i + 1] - A[i, i]", "x[i + 1]"),
        ("sum(A[i, j]*x[j], j)*x[k] - 1", "the index 'i' is neither"),
    ],
)
def test_what_is_no_equation_for_each_index_is_said(equation: str, said: str) -> None:
    text = (
        "tensorgen: 1\ninputs: {A: [n, n]}\n"
        f'unknowns:\n  x: {{shape: [n], equation: "{equation}"}}\n'
        "functions:\n  f: sum(x)\n"
    )
    with pytest.raises(tensorgen.SpecError) as caught:
        tensorgen.generate(text)
    assert said in str(caught.value)
