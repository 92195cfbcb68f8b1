"""Squared distances keep their digits, whatever the vectors are made of."""

from __future__ import annotations

import numpy as np
import pytest

from tests.made import load

ARM = """
tensorgen: 1
inputs: {q: [n], length: [n], target: [2]}
functions:
  f:
    where: tip = stack([sum(length*cos(q)), sum(length*sin(q))])
    expr: %s
    wrt: q
    emit: [value, gradient]
"""


@pytest.mark.parametrize("expr", ["norm(tip - target)**2", "norm(target - tip)**2"])
def test_a_distance_has_digits_where_it_is_small(expr: str) -> None:
    module = load(ARM % expr)
    q, length = np.array([0.3, 1.1, -0.4]), np.array([1.0, 2.0, 3.0])
    tip = np.array([length @ np.cos(q), length @ np.sin(q)])
    apart = np.array([3e-9, -4e-9])
    target = tip + apart
    wanted = (tip - target) @ (tip - target)
    for found in (
        module.f(q, length, target),
        module.f_value_and_grad(q, length, target)[0],
    ):
        np.testing.assert_allclose(found, wanted, rtol=1e-6)
