"""Sums over pairs of keys in an order, as sums over one key of sums over another."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests import made
from tests.operators.scans.test_ranks import peak_of

PAIRS = """
tensorgen: 1
inputs:
  w: [m]
  t: [m]
  d: [m]
functions:
  f:
    expr: sum({}, i, j, {})
    wrt: w
    emit: [value, gradient, hvp]
"""
TERMS = {
    "d[i]*w[i]*exp(w[j])": lambda a, b, d: d * a * np.exp(b),
    "d[i]*(w[i] - w[j])**2": lambda a, b, d: d * (a - b) ** 2,
    "d[i]*w[i]*(w[i]**2 + w[j])": lambda a, b, d: d * a * (a**2 + b),
}
ORDERS = {
    "t[i] < t[j]": np.less,
    "t[j] <= t[i]": np.greater_equal,
    "t[i] == t[j]": np.equal,
}


def pairs(m: int) -> tuple[np.ndarray, ...]:
    """Numbers, keys with ties of which one is NaN, and weights."""
    rng = np.random.default_rng(0)
    t = rng.integers(0, 1 + m // 2, m).astype(float)
    t[m // 3] = np.nan
    return rng.normal(size=m), t, rng.uniform(size=m)


@pytest.mark.parametrize("m", [0, 1, 9])
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("term", TERMS)
def test_pairs_in_an_order_are_those_that_are_compared(
    term: str, order: str, m: int
) -> None:
    model: Any = made.load(PAIRS.format(term, order))
    w, t, d = pairs(9)
    w, t, d = w[:m], t[:m], d[:m]
    holds = ORDERS[order](t[:, None], t)

    def truth(w: np.ndarray) -> Any:
        return np.sum(holds * TERMS[term](w[:, None], w, d[:, None]))

    np.testing.assert_allclose(model.f(w, t, d), truth(w))
    slope = [truth(w + 1e-20j * unit).imag / 1e-20 for unit in np.eye(m)]
    np.testing.assert_allclose(model.f_grad(w, t, d), slope, atol=1e-13)
    ahead, back = (model.f_grad(w + h * d, t, d) for h in (1e-5, -1e-5))
    product = model.f_hvp(w, t, d, d)
    np.testing.assert_allclose(product, (ahead - back) / 2e-5, atol=1e-7)


@pytest.mark.parametrize("order", ["t[i] < t[j]", "t[j] <= t[i]"])
@pytest.mark.parametrize("term", TERMS)
def test_pairs_in_an_order_take_no_matrix(term: str, order: str) -> None:
    model: Any = made.load(PAIRS.format(term, order))
    w, t, d = pairs(4_000)
    assert peak_of(model.f_value_and_grad, w, t, d) < 32 * w.nbytes
    assert peak_of(model.f_hvp, w, t, d, d) < 32 * w.nbytes


def test_squares_of_differences_keep_their_digits_where_all_are_large_and_alike() -> (
    None
):
    model: Any = made.load(PAIRS.format("d[i]*(w[i] - w[j])**2", "t[i] < t[j]"))
    w, t, d = pairs(9)
    near = model.f(w, t, d)
    np.testing.assert_allclose(model.f(w + 2.0**20, t, d), near, rtol=1e-8)


def test_what_no_pair_has_may_be_infinite() -> None:
    model: Any = made.load(PAIRS.format("d[i]*w[j]", "t[i] < t[j]"))
    w, t = np.array([1.0, 2.0, 4.0]), np.array([0.0, 2.0, 1.0])
    d = np.array([1.0, np.inf, 1.0])
    np.testing.assert_allclose(model.f(w, t, d), 8.0)
    np.testing.assert_allclose(model.f_grad(w, t, d), [0.0, 2.0, 1.0])
