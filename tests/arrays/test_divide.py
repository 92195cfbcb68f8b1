"""Quotients by what is one over something else."""

import numpy as np
import pytest

import tensorgen
from tests.made import generate

SPEC = """tensorgen: 1
dims: {n: 10}
inputs: {P: [n, n], y: {shape: [n], positive: true}}
functions:
  f:
    where: |
      w[i, j] = 1/(1 + y[i]*y[j])
      Z = sum(w[i, j], i, j, i != j)
    expr: sum(P[i, j]*log(P[i, j]/(w[i, j]/Z)), i, j, i != j)
"""


def test_a_logarithm_of_a_quotient_by_one_over_something_multiplies() -> None:
    text = generate(SPEC)
    assert "/ (1 / " not in text.partition("\ndef f(")[2].partition("\ndef ")[0]
    P, y = np.random.default_rng(0).random((4, 4)), np.array([0.5, 2.0, 7.0, 1.0])
    P[0, 1] = P[2, 2] = 0
    s = 1 + np.outer(y, y)
    s *= (1 / s).sum() - np.trace(1 / s)
    expected = sum(
        P[i, j] * np.log(P[i, j] * s[i, j])
        for i in range(4)
        for j in range(4)
        if i != j and P[i, j]
    )
    assert tensorgen.load(SPEC).f(P, y) == pytest.approx(expected, rel=1e-14)
