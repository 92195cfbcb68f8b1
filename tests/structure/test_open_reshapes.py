"""Derivatives of reshapes whose strides are numbers, or that have few rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorgen

SPEC = """tensorgen: 1
dims: {{h: 100000}}
inputs: {{x: [2*h], a: [h]}}
functions:
  f: {{expr: "{}", wrt: x, emit: [jacobian, dense_jacobian]}}
"""
TEXTS = [
    "a * reshape(x, (h, 2))[:, 1]",
    "sum(reshape(x, (h, 2)), axis=1) - a * x[:h]",
    "a * reshape(x, (2, h))[1]",
    "sin(ravel(stack([x[::2], a * x[h:]])))",
    "ravel(stack([x[1::2], x[h:]], axis=1))",
    "ravel(reshape(x, (h, 2)).T) * x",
]


@pytest.mark.parametrize("text", TEXTS)
def test_few_numbers_are_held_and_they_are_right(text: str) -> None:
    module: Any = tensorgen.load(SPEC.format(text))
    h = 6
    rng = np.random.default_rng(0)
    given = {"x": rng.normal(size=2 * h)}
    if "a *" in text:
        given["a"] = rng.normal(size=h)
    J = module.f_jac(**given)
    i, j, values = J.coo()
    assert len(i) <= 4 * h
    dense = np.zeros(J.shape)
    np.add.at(dense, (i, j), values)
    np.testing.assert_allclose(dense, module.f_jac_dense(**given), atol=1e-14)


def test_a_chain_of_parts_of_large_vectors_takes_no_array_of_all_pairs() -> None:
    text = SPEC.format("sum((reshape(x, (h, 2))[:, 0] - a * x[h:])**4)")
    text = text.replace("jacobian, dense_jacobian", "hessian")
    module: Any = tensorgen.load(text)
    h = 100_000
    H = module.f_hess(np.ones(2 * h), np.ones(h))
    assert H.nbytes < 100 * h and np.isfinite(H @ np.ones(2 * h)).all()


def test_terms_by_rule_are_not_spread_and_added_up_without_end() -> None:
    text = """tensorgen: 1
dims: {h: 100000}
inputs: {x: [2*h], u: [h], w: [h]}
functions:
  f:
    expr: >-
      sum(w[i] * tanh(x[2*i] * x[i + 1]) + u[i] * sqrt(1 + (x[2*i] - x[i + 1])**2)
      + x[2*i] * x[i + 1]**2, i=range(h))
    wrt: x
    emit: [hessian]
"""
    H = tensorgen.load(text).f_hess(np.ones(200), np.ones(100), np.ones(100))
    assert len(H.coo()[0]) <= 1000  # and not 40,000
