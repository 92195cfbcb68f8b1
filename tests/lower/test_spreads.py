"""Entries of arrays of zeros are written where they belong, and once."""

from __future__ import annotations

import re

import numpy as np
import pytest

import tensorgen

HEAD = """
tensorgen: 1
inputs: {x: [n + 1, 2], u: [n], c: [n], row: {shape: [n], index: k}}
functions:
  f:
    expr: "%s"
    wrt: %s
    emit: [value, gradient]
"""
EXPRESSIONS = [
    # Entries of entries: of a column, and of all of its rows but one.
    "sum(c * x[:-1, 0] * (1 - x[:-1, 1]**2))",
    "sum(c * exp(x[1:, 1] * u) + c * x[1:, 1]**2 + c * sin(x[1:, 1]))",
    "sum(c * (x[1:, 0] - x[:-1, 0])**2 + u * x[:-1, 1] * x[1:, 1])",
    "sum(c * x[0, 0] * x[-1, 1] + cos(x[::-1, 0][:-1] * u))",
]


@pytest.mark.parametrize("expr", EXPRESSIONS)
def test_gradients_are_right_and_write_to_a_place_once(expr: str) -> None:
    text = HEAD % (expr, "x")
    module = tensorgen.load(text)
    rng = np.random.default_rng(0)
    given = {"x": rng.standard_normal((6, 2)), "u": rng.random(5), "c": rng.random(5)}
    given = {
        name: value for name, value in given.items() if re.search(rf"\b{name}\b", expr)
    }
    found = module.f_grad(**given)
    for at in np.ndindex(6, 2):
        step = np.zeros((6, 2))
        step[at] = 1e-5
        low, high = (module.f(**{**given, "x": given["x"] + s * step}) for s in (-1, 1))
        assert found[at] == pytest.approx((high - low) / 2e-5, rel=1e-6, abs=1e-8)
    code = tensorgen.generate(text).split("def f_grad")[1].split("\ndef ")[0]
    targets = re.findall(r"^    (\w+\[.*?\]) [+-]?=", code, re.MULTILINE)
    assert len(targets) == len({*targets})


def test_entries_at_index_arrays_are_added_up_in_the_smallest_array() -> None:
    text = "tensorgen: 1\ninputs: {v: [e], row: {shape: [e], index: k}, b: [k]}\n"
    text += (
        "functions:\n  f[i, j=range(k)]: sum(v[a] * b[i], a, row[a] == i) * delta(i, j)"
    )
    module = tensorgen.load(text)
    v, row, b = np.arange(4.0), np.array([0, 2, 2, 1]), np.array([1.0, 2.0, 3.0])
    sums = np.bincount(row, v, 3)
    np.testing.assert_allclose(module.f(v, row, b), np.diag(sums * b))
