"""What is read of pairs is masked once, with all terms together."""

from __future__ import annotations

import inspect
import re

import numpy as np
import pytest

import tensorgen

SPEC = """
tensorgen: 1
inputs: {x: [n, 3]}
functions:
  f:
    where: |
      r[i, j] = 1 / sum((x[i, a] - x[j, a])**2, a)
    expr: EXPR
    wrt: x
    emit: [gradient]
"""


@pytest.mark.parametrize(
    "expr",
    [
        "sum(r[i, j]**6 - r[i, j]**3, i, j, i < j)",
        "sum(r[i, j]**6, i, j, i < j) - sum(r[i, j]**3, i, j, i < j)",
        "sum(where(i < j, r[i, j]**6 - r[i, j]**3, 0), i, j)",
    ],
)
def test_slopes_of_pairs_are_masked_once(expr: str) -> None:
    module = tensorgen.load(SPEC.replace("EXPR", expr))
    source = inspect.getsource(module.f_grad)
    masks = re.findall(r"np\.(?:triu|tril|where)\(", source)
    assert len(masks) <= 2, source  # that of distances, and that of slopes
    x = np.random.default_rng(0).normal(size=(6, 3))
    difference = x[:, None] - x
    squares = (difference**2).sum(axis=-1) + np.eye(6)
    slope = 6 / squares**4 - 12 / squares**7
    want = (slope[:, :, None] * difference).sum(axis=1)
    np.testing.assert_allclose(module.f_grad(x), want, rtol=1e-12)
