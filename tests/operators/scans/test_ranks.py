"""Conditions that compare one key: a sort made once, and running reductions."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests import made

COX = """
tensorgen: 1
inputs:
  eta: [m]
  t: [m]
  d: [m]
functions:
  f:
    where: |
      u[i] = {}
    expr: "sum(d[i]*(eta[i] - u[i]), i)"
    wrt: eta
    emit: [value, gradient, hvp, hessian]
"""
RISK_SETS = [
    "log(sum(exp(eta[j]), j, t[j] >= t[i]))",
    "logsumexp(eta[j], j, t[i] <= t[j])",
    "log(sum(where(t[j] >= t[i], exp(eta[j]), 0), j))",
]


def survival(m: int) -> tuple[np.ndarray, ...]:
    """Hazards, times with ties, and which of these are events."""
    rng = np.random.default_rng(0)
    times = rng.integers(0, 1 + m // 2, m).astype(float)
    return rng.normal(size=m), times, (rng.uniform(size=m) < 0.6).astype(float)


def peak_of(call: Callable[..., Any], *arguments: Any) -> int:
    """The most memory that a call takes, in bytes."""
    tracemalloc.start()
    try:
        call(*arguments)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("risk", RISK_SETS)
def test_the_partial_likelihood_is_that_of_its_risk_sets(risk: str) -> None:
    model: Any = made.load(COX.format(risk))
    eta, t, d = given = survival(9)
    at_risk = t >= t[:, None]
    share = at_risk * np.exp(eta)
    share /= share.sum(axis=1, keepdims=True)
    hessian = share.T @ (d[:, None] * share) - np.diag(d @ share)
    value = d @ (eta - np.log(at_risk @ np.exp(eta)))
    np.testing.assert_allclose(model.f(*given), value)
    np.testing.assert_allclose(model.f_grad(*given), d - d @ share, atol=1e-13)
    np.testing.assert_allclose(model.f_hvp(*given, t), hessian @ t, atol=1e-12)
    np.testing.assert_allclose(model.f_hess(*given).dense(), hessian, atol=1e-13)


@pytest.mark.parametrize("risk", RISK_SETS)
def test_risk_sets_take_no_matrix(risk: str) -> None:
    model: Any = made.load(COX.format(risk))
    m = 4_000
    eta, t, d = survival(m)
    assert peak_of(model.f_value_and_grad, eta, t, d) < 24 * 8 * m
    assert peak_of(model.f_hvp, eta, t, d, t) < 24 * 8 * m


@pytest.mark.parametrize("risk", RISK_SETS)
def test_hazards_far_apart_keep_their_digits(risk: str) -> None:
    model: Any = made.load(COX.format(risk))
    eta, t = np.array([-900.0, 800.0, -900.0]), np.array([3.0, 1.0, 2.0])
    value = model.f(eta, t, np.array([0.0, 0.0, 1.0]))
    np.testing.assert_allclose(value, -np.log(2))


TWO_KEYS = """
tensorgen: 1
inputs:
  z: [m]
  t: [m]
  s: [n]
functions:
  f[i]:
    expr: {}(z[j], j, t[j] {} s[i])
    wrt: z
    emit: [value, jvp, vjp]
"""
MONOIDS: dict[str, Callable[[np.ndarray], Any]] = {
    "sum": np.sum,
    "mean": np.mean,
    "prod": np.prod,
    "max": np.max,
    "min": np.min,
    "logsumexp": np.logaddexp.reduce,
}


@pytest.mark.parametrize("compare", ["<", "<=", ">", ">="])
@pytest.mark.parametrize("monoid", MONOIDS)
def test_every_monoid_is_reduced_within_limits_that_are_other_keys(
    monoid: str, compare: str
) -> None:
    model: Any = made.load(TWO_KEYS.format(monoid, compare))
    rng = np.random.default_rng(1)
    z, t = rng.normal(size=8), rng.integers(0, 5, 8).astype(float)
    s = np.array([2.0, 1.5, 3.0, 2.0])
    holds = {"<": np.less, "<=": np.less_equal}.get(compare, np.greater_equal)
    holds = np.greater if compare == ">" else holds
    truth = [MONOIDS[monoid](z[holds(t, limit)]) for limit in s]
    np.testing.assert_allclose(model.f(z, t, s), truth)
    dz, ct = rng.normal(size=8), rng.normal(size=4)
    ahead, back = (model.f(z + h * dz, t, s) for h in (1e-6, -1e-6))
    value, tangent = model.f_jvp(z, t, s, dz)
    np.testing.assert_allclose(value, truth)
    np.testing.assert_allclose(tangent, (ahead - back) / 2e-6, atol=1e-7)
    np.testing.assert_allclose(model.f_vjp(z, t, s, ct)[1] @ dz, ct @ tangent)


def test_nothing_is_within_a_limit_that_is_nan_and_no_key_that_is_nan_within_any() -> (
    None
):
    z, t = np.array([1.0, 2.0, 4.0, 8.0]), np.array([1.0, np.nan, 3.0, 2.0])
    s = np.array([2.0, np.nan, 0.0, 9.0])
    expected = {"sum": [9.0, 0.0, 0.0, 13.0], "max": [8.0, -np.inf, -np.inf, 8.0]}
    for monoid, truth in expected.items():
        model: Any = made.load(TWO_KEYS.format(monoid, "<="))
        np.testing.assert_array_equal(model.f(z, t, s), truth)
        cotangent = model.f_vjp(z, t, s, np.ones(4))[1]
        assert cotangent[1] == 0 and np.isfinite(cotangent).all()


def test_what_no_limit_takes_in_may_be_infinite() -> None:
    model: Any = made.load(TWO_KEYS.format("sum", "<="))
    z, t, s = np.array([1.0, np.inf, 2.0]), np.array([0.0, 5.0, 1.0]), np.ones(2)
    np.testing.assert_array_equal(model.f(z, t, s), [3.0, 3.0])
    np.testing.assert_array_equal(model.f_vjp(z, t, s, np.ones(2))[1], [2.0, 0.0, 2.0])


def test_places_that_are_given_bound_running_sums() -> None:
    model: Any = made.load(
        "tensorgen: 1\ninputs: {z: [m], last: {shape: [n], index: m}}\nfunctions:\n"
        "  f[i]: {expr: 'sum(z[p]**2, p, p <= last[i])', wrt: z, emit: [value, vjp]}"
    )
    z, last = np.arange(1.0, 6), np.array([3, 0, 4, 3])
    np.testing.assert_allclose(model.f(z, last), np.cumsum(z**2)[last])
    cotangent = model.f_vjp(z, last, np.ones(4))[1]
    np.testing.assert_allclose(cotangent, 2 * z * [4, 3, 3, 3, 1])
    m = 3_000
    assert peak_of(model.f_vjp, np.ones(m), np.arange(m), np.ones(m)) < 16 * 8 * m
