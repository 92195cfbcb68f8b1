"""Conditions that say keys are equal: equals are numbered, and added up by key."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests import made
from tests.operators.scans.test_ranks import MONOIDS, peak_of, survival

TIED = """
tensorgen: 1
inputs:
  z: [m]
  t: [m]
  s: [n]
functions:
  f[i]:
    expr: {}(z[j], j, {})
    wrt: z
    emit: [value, jvp, vjp]
"""


def ties(m: int, n: int) -> tuple[np.ndarray, ...]:
    """Numbers, keys with ties, and limits that are all among the keys."""
    rng = np.random.default_rng(1)
    t = rng.integers(0, 1 + m // 2, m).astype(float)
    return rng.normal(size=m), t, rng.choice(t, n)


@pytest.mark.parametrize("m", [1, 8])
@pytest.mark.parametrize("equal", ["t[j] == s[i]", "s[i]**2 == t[j]**2"])
@pytest.mark.parametrize("monoid", MONOIDS)
def test_every_monoid_is_reduced_over_equals(monoid: str, equal: str, m: int) -> None:
    model: Any = made.load(TIED.format(monoid, equal))
    z, t, s = ties(m, 5)
    rng = np.random.default_rng(2)
    dz, ct = rng.normal(size=m), rng.normal(size=5)

    def truth(z: np.ndarray) -> np.ndarray:
        return np.array([MONOIDS[monoid](z[t == key]) for key in s])

    value, tangent = model.f_jvp(z, t, s, dz)
    np.testing.assert_allclose(value, truth(z))
    slope = (truth(z + 1e-6 * dz) - truth(z - 1e-6 * dz)) / 2e-6
    np.testing.assert_allclose(tangent, slope, atol=1e-7)
    np.testing.assert_allclose(model.f_vjp(z, t, s, ct)[1] @ dz, ct @ tangent)


def test_what_equals_no_key_takes_in_nothing_and_nan_equals_nothing() -> None:
    z, t = np.array([1.0, 2.0, 4.0, 8.0]), np.array([1.0, np.nan, 3.0, 1.0])
    s = np.array([1.0, np.nan, 0.0, 9.0])
    nothing = {"sum": 0.0, "max": -np.inf, "logsumexp": -np.inf, "prod": 1.0}
    some = {"sum": 9.0, "max": 8.0, "logsumexp": np.logaddexp(1, 8), "prod": 8.0}
    for monoid, none in nothing.items():
        model: Any = made.load(TIED.format(monoid, "t[j] == s[i]"))
        expected = [some[monoid], none, none, none]
        np.testing.assert_allclose(model.f(z, t, s), expected)
        cotangent = model.f_vjp(z, t, s, np.ones(4))[1]
        assert cotangent[1] == cotangent[2] == 0 and np.isfinite(cotangent).all()


@pytest.mark.parametrize("monoid", MONOIDS)
def test_equals_take_no_matrix(monoid: str) -> None:
    model: Any = made.load(TIED.format(monoid, "t[j] == s[i]"))
    z, t, s = ties(4_000, 4_000)
    assert peak_of(model.f_vjp, z, t, s, z) < 24 * z.nbytes


EFRON = """
tensorgen: 1
inputs:
  eta: [m]
  t: [m]
  d: [m]
  w: [m]
functions:
  f:
    where: |
      risk[i] = sum(exp(eta[j]), j, t[j] >= t[i])
      tie[i] = sum({}exp(eta[j]), j, t[j] == t[i])
    expr: sum(d*(eta - log(risk - w*tie)))
    wrt: eta
    emit: [value, gradient, hvp, hessian]
"""


@pytest.mark.parametrize("weight", ["", "d[j]*"])
def test_ties_are_taken_from_risk_sets(weight: str) -> None:
    model: Any = made.load(EFRON.format(weight))
    eta, t, d = survival(9)
    w = np.linspace(0, 0.9, 9)
    own = d if weight else np.ones(9)
    sets = (t >= t[:, None]) - w[:, None] * (t == t[:, None]) * own
    share = sets * np.exp(eta)
    value = d @ (eta - np.log(share.sum(axis=1)))
    share /= share.sum(axis=1, keepdims=True)
    hessian = share.T @ (d[:, None] * share) - np.diag(d @ share)
    given = eta, t, d, w
    np.testing.assert_allclose(model.f(*given), value)
    np.testing.assert_allclose(model.f_grad(*given), d - d @ share, atol=1e-13)
    np.testing.assert_allclose(model.f_hvp(*given, t), hessian @ t, atol=1e-12)
    np.testing.assert_allclose(model.f_hess(*given).dense(), hessian, atol=1e-12)


@pytest.mark.parametrize("weight", ["", "d[j]*"])
def test_risk_sets_less_ties_take_no_matrix(weight: str) -> None:
    model: Any = made.load(EFRON.format(weight))
    eta, t, d = survival(4_000)
    w = np.full(4_000, 0.5)
    assert peak_of(model.f_value_and_grad, eta, t, d, w) < 32 * t.nbytes
    assert peak_of(model.f_hvp, eta, t, d, w, t) < 48 * t.nbytes


def test_hazards_far_apart_keep_their_digits_beside_ties() -> None:
    model: Any = made.load(EFRON.format("d[j]*"))
    eta, t = np.array([-900.0, 800.0, -900.0]), np.array([3.0, 1.0, 3.0])
    value = model.f(eta, t, np.array([1.0, 0.0, 0.0]), np.full(3, 0.5))
    np.testing.assert_allclose(value, -np.log(1.5))
