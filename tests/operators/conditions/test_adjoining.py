"""A range of an array and the place beside it are one range."""

from __future__ import annotations

import numpy as np
import pytest

from tests.made import generate, load

SPEC = """tensorgen: 1
inputs: {{x: [T, K], y: [K], c: [T, K]}}
functions:
  f:
    where: |
      z = x*y
    expr: {}
    wrt: y
    emit: [gradient]
"""
WHOLE = "return (x * c).sum(axis=0)"
EXPRESSIONS = {
    "first": "sum(c[0]*z[0]) + sum(c[1:]*z[1:])",
    "last": "sum(c[T - 1]*z[T - 1]) + sum(c[:T - 1]*z[:T - 1])",
    "two": "sum(c[0]*z[0]) + sum(c[1]*z[1]) + sum(c[2:]*z[2:])",
}


def gradient(expr: str) -> str:
    """The statements of the gradient."""
    text = generate(SPEC.format(expr)).split("def f_grad(")[1]
    return text.split('"""')[2].split("\n\n\n")[0]


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_what_is_taken_apart_is_put_together(name: str) -> None:
    assert gradient(EXPRESSIONS[name]).endswith(WHOLE)


@pytest.mark.parametrize(
    "expr",
    [
        "sum(c[0]*z[0]) + sum(c[2:]*z[2:])",
        "2*sum(c[0]*z[0]) + sum(c[1:]*z[1:])",
        "sum(c[1]*z[0]) + sum(c[1:]*z[1:])",
    ],
)
def test_what_does_not_adjoin_stays_apart(expr: str) -> None:
    assert WHOLE not in gradient(expr)
    rng = np.random.default_rng(0)
    x, c = rng.normal(size=(2, 4, 3))
    y, step = rng.normal(size=3), 1e-6
    spec = SPEC.format(expr).replace("[gradient]", "[value, gradient]")
    module = load(spec)
    for k, unit in enumerate(np.eye(3)):
        ends = [module.f(x, y + s * step * unit, c) for s in (1, -1)]
        slope = (ends[0] - ends[1]) / (2 * step)
        np.testing.assert_allclose(module.f_grad(x, y, c)[k], slope, atol=1e-8)
