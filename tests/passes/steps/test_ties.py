"""Largest entries of what steps compute: who compares them reads the same digits.

A product of a matrix and a vector in a step, and of all vectors and that matrix at
once, differ in last digits, so that no entry would equal the largest.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import tensorgen

SPEC = """tensorgen: 1
inputs: {{x0: [n], p: [n], A: [n, n], F: [T, n], h: scalar}}
definitions:
  rate(x): {rate}
functions:
  f:
    where: |
      {where}
    expr: sum(tanh(x)) + sum(p)
    wrt: [x0]
    emit: [value, gradient, hvp]
"""
RATES = {
    "largest": "(max(A.T @ x)*x - p)/(1 + (A @ x)**2)",
    "least": "min(A @ x)*(A.T @ x) - p*x",
    "by rows": "max(x + A*x, axis=1)*max(A @ x)",
    "norm": "max(abs(A @ x))*x - A.T @ x",
}
WAYS = {
    "one": "x[0] = x0\nx[t + 1] = x[t] + h*rate(x[t]) + F[t]",
    "two": "x[0] = x0\nk[t] = rate(x[t])\n"
    "x[t + 1] = x[t] + h/2*(k[t] + rate(x[t] + h*k[t])) + F[t]",
    "a state": "m[0] = max(x0)\nx[0] = x0\n"
    "m[t + 1] = max(A @ x[t])\nx[t + 1] = x[t] + h*m[t + 1]*rate(x[t]) + F[t]",
}


def spec(rate: str, way: str) -> str:
    where = WAYS[way].replace("\n", "\n      ")
    return SPEC.format(rate=RATES[rate], where=where)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("rate", RATES)
def test_slopes_of_largest_entries_of_steps(rate: str, way: str) -> None:
    module = tensorgen.load(spec(rate, way))
    rng = np.random.default_rng(5)
    shapes = {"x0": (3,), "p": (3,), "A": (3, 3), "F": (6, 3)}
    given: dict[str, Any] = {x: rng.normal(size=own) / 2 for x, own in shapes.items()}
    given["h"] = 0.2
    gradient, eye = module.f_grad(**given), 1e-6 * np.eye(3)
    values = [
        [module.f(**{**given, "x0": given["x0"] + sign * e}) for e in eye]
        for sign in (1, -1)
    ]
    wanted = (np.array(values[0]) - np.array(values[1])) / 2e-6
    np.testing.assert_allclose(gradient, wanted, rtol=1e-6, atol=1e-8)
    ends = [
        module.f_grad(**{**given, "x0": given["x0"] + sign * eye[0]})
        for sign in (1, -1)
    ]
    product = module.f_hvp(**given, dx0=np.eye(3)[0])
    np.testing.assert_allclose(
        product, (ends[0] - ends[1]) / 2e-6, rtol=1e-5, atol=1e-6
    )


def test_both_sides_of_a_comparison_are_kept_or_neither() -> None:
    text = tensorgen.generate(spec("by rows", "one").replace(", hvp", ""))
    sides = re.findall(r"(\w+)(?:\[.*\])? == (\w+)", text)
    rows = max(re.findall(r" +(.*) = _f_parts\(", text), key=len).split(", ")
    kept = [{side in rows for side in both} for both in sides]
    assert {True} in kept and {True, False} not in kept
