"""What has one key is added up once: no table of who has whose."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorgen

SPEC = """
tensorgen: 1
module: choices
dims: {{n: 10000, p: 20, g: 1000}}
inputs:
  X: [n, p]
  b: [p]
  y: [n]
  c: [g]
  group: {{shape: [n], index: g}}
functions:
  f:
    where: |
      u = X @ b
      Z[k] = sum(exp(u[q]), q, group[q] == k)
    expr: "{} + sum(c)"
    wrt: b
    emit: [value, gradient, hessian, hvp]
"""
SPELLINGS = [
    "sum(y*(log(Z[group]) - u))",
    "sum(y[q]*(log(sum(exp(u[r]), r, group[r] == group[q])) - u[q]), q)",
    "sum(y[q]*log(sum(exp(u[r] - u[q]), r, group[r] == group[q])), q)",
    "-sum(y*log(exp(u)/Z[group]))",
]


@pytest.mark.parametrize("expr", SPELLINGS)
def test_choices_within_groups_are_added_up_by_group(expr: str) -> None:
    text = SPEC.format(expr)
    assert "group[:, None]" not in tensorgen.generate(text)
    model: Any = tensorgen.load(text)
    rng = np.random.default_rng(0)
    n, p, g = 12, 3, 5
    X, b, y, c = (rng.normal(size=s) for s in ((n, p), p, n, g))
    group = rng.integers(0, g, n)
    given = (X, b, y, c, group)
    u = X @ b
    same = group[:, None] == group
    share = same * np.exp(u) / (same @ np.exp(u))[:, None]
    value = y @ (np.log(same @ np.exp(u)) - u) + c.sum()
    mean = share @ X
    hessian = (X.T * (y @ share)) @ X - (mean.T * y) @ mean
    np.testing.assert_allclose(model.f(*given), value)
    np.testing.assert_allclose(model.f_grad(*given), y @ (mean - X), atol=1e-12)
    got = np.asarray(model.f_hess(*given))
    np.testing.assert_allclose(got, hessian, atol=1e-12)
    d = rng.normal(size=p)
    np.testing.assert_allclose(model.f_hvp(*given, d), hessian @ d, atol=1e-12)


def test_keys_that_nobody_counts_are_compared() -> None:
    text = SPEC.format(SPELLINGS[1]).replace(" + sum(c)", "")
    model: Any = tensorgen.load(text)
    rng = np.random.default_rng(0)
    X, b, y = rng.normal(size=(9, 2)), rng.normal(size=2), rng.normal(size=9)
    group = rng.integers(0, 4, 9)
    u, same = X @ b, group[:, None] == group
    expected = y @ (np.log(same @ np.exp(u)) - u)
    np.testing.assert_allclose(model.f(X, b, y, group), expected)
