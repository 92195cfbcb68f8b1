"""Shares of a whole add up to 1 before anything is computed."""

from __future__ import annotations

import re
import textwrap
from typing import Any

import numpy as np
import pytest

import tensorgen
from tests.made import source

SPEC = """
tensorgen: 1
inputs: {{X: [m, n], Z: [n, k], c: [m]}}
functions:
  f:
    where: |
      p = softmax(X @ Z, axis=1)
    expr: {expr}
    wrt: c
    emit: [value, gradient]
"""
ARRAYS = {"X": (4, 3), "Z": (3, 5), "c": (4,)}


def softmax(x: Any) -> Any:
    """Along the last axis."""
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def body(expr: str, name: str) -> str:
    text = source(tensorgen.generate(SPEC.format(expr=expr)), name)
    return re.sub(r'"""[\s\S]*?"""', "", text)


@pytest.mark.parametrize(
    ("expr", "meaning"),
    [
        ("sum(p[i, j] * c[i], i, j)", "c.sum()"),
        ("sum(c[i] * sum(p[i, j], j), i)", "c.sum()"),
        ("sum(2 * p) + 0 * sum(c)", "2 * len(c)"),
        ("sum(c[i] / 2 * p[i, j] * c[a], i, j, a)", "c.sum()**2 / 2"),
    ],
)
def test_what_adds_up_to_a_constant_is_none_of_the_work(
    expr: str, meaning: str
) -> None:
    text = body(expr, "f")
    assert "softmax" not in text
    module: Any = tensorgen.load(SPEC.format(expr=expr))
    rng = np.random.default_rng(3)
    data = {name: rng.normal(size=shape) for name, shape in ARRAYS.items()}
    kept = module.f.__code__.co_varnames[: module.f.__code__.co_argcount]
    found = module.f(*(data[name] for name in kept))
    np.testing.assert_allclose(found, eval(meaning, {"c": data["c"]}), atol=1e-12)


def test_the_mean_of_deviations_gives_digits_back() -> None:
    """Far from the origin a mean is rounded, which is seen in what is left of it."""
    text = """
tensorgen: 1
inputs: {z: [n], M: [n, n], r: [n]}
functions:
  f:
    where: |
      p = softmax(M @ z)
      v = sum(p * r)
    expr: sum(p * (r - v)**2)
    wrt: z
    emit: [gradient]
"""
    z, r = np.array([0.5, -1.0, 0.25]), np.array([0.0, 1.0, -2.5])
    module: Any = tensorgen.load(text)
    near, far = (module.f_grad(z, np.eye(3), r + x) for x in (0.0, 1e8))
    np.testing.assert_allclose(far, near, rtol=1e-13)


def test_nothing_to_share_adds_up_to_0() -> None:
    module: Any = tensorgen.load(
        "tensorgen: 1\ninputs: {x: [n]}\nfunctions: {f: sum(softmax(x))}"
    )
    assert module.f(np.array([-np.inf, 1.0])) == 1
    assert module.f(np.full(2, -np.inf)) == 0


def test_a_plan_of_transport_is_a_softmax() -> None:
    text = """
tensorgen: 1
inputs: {g: [n], C: [m, n], a: [m], eps: scalar}
functions:
  plan[i, j]:
    where: |
      f[i] = -eps * logsumexp(2 * (g[j] - C[i, j]) / eps, j)
    expr: a[i] * exp(2 * (f[i] / 2 + g[j] - C[i, j]) / eps)
"""
    assert "np.exp(" not in body_of_plan(text) and "_softmax" in body_of_plan(text)
    rng = np.random.default_rng(5)
    g, C, a = rng.normal(size=3), rng.normal(size=(4, 3)), rng.uniform(size=4)
    module: Any = tensorgen.load(text)
    found = module.plan(g, C, a, 1e-3)
    np.testing.assert_allclose(found, a[:, None] * softmax(2 * (g - C) / 1e-3))


def body_of_plan(text: str) -> str:
    return re.sub(r'"""[\s\S]*?"""', "", source(tensorgen.generate(text), "plan"))


def test_the_shares_on_a_diagonal_are_no_whole() -> None:
    """They are along a label that is kept as well, and add up to anything."""
    text = """
        tensorgen: 1
        inputs: {a: [n], b: [n], c: [n], x: [p]}
        functions:
          f:
            expr: sum(c * diagonal(softmax((x[0]*a)[:, None] * b, axis=0)))
            wrt: x
            emit: [gradient]
    """
    module: Any = tensorgen.load(textwrap.dedent(text))
    rng = np.random.default_rng(5)
    a, b, c = rng.normal(size=(3, 4))
    x = np.array([0.3, 0.7])
    P = softmax(np.outer(b, x[0] * a)).T
    slope = c @ (np.diag(P) * b * (a - P.T @ a))
    np.testing.assert_allclose(module.f_grad(a, b, c, x), [slope, 0], atol=1e-14)
