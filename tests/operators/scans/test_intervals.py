"""Conditions by a key and an order, or by both ends of an order: sums of intervals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests import made
from tests.operators.scans.test_ranks import peak_of

INTERVALS = """
tensorgen: 1
inputs:
  w: [m]
  t: [m]
  g: {{shape: [m], index: m}}
functions:
  f:
    where: r[i] = sum(exp(w[j]), j, {})
    expr: sum(r**2*t/(1 + t**2)) + sum(w[g]*0)
    wrt: w
    emit: [value, gradient, hvp]
"""
Truth = Callable[[np.ndarray, np.ndarray, np.ndarray, np.ndarray], np.ndarray]
CONDITIONS: dict[str, Truth] = {
    "(t[j] >= t[i]) & (g[j] == g[i])": lambda s, t, h, g: (t >= s) & (g == h),
    "g[j] == g[i], t[j] < t[i]": lambda s, t, h, g: (t < s) & (g == h),
    "t[j] == t[i], g[j] == g[i]": lambda s, t, h, g: (t == s) & (g == h),
    "t[j] == t[i], j < i": lambda s, t, h, g: np.tril(t == s, -1),
    "g[j] == g[i], j >= i": lambda s, t, h, g: np.triu(g == h),
    "t[j] >= t[i] - 2, t[j] <= t[i]": lambda s, t, h, g: (t >= s - 2) & (t <= s),
    "t[i] - 2 < t[j], t[j] < t[i] + 1": lambda s, t, h, g: (s - 2 < t) & (t < s + 1),
}


def keys(m: int) -> tuple[np.ndarray, ...]:
    """Numbers, keys with ties, and what stratum each is in."""
    rng = np.random.default_rng(0)
    t = rng.integers(0, 1 + m // 2, m).astype(float)
    return rng.normal(size=m), t, rng.integers(0, 3, m) % max(m, 1)


@pytest.mark.parametrize("m", [0, 1, 13])
@pytest.mark.parametrize("condition", CONDITIONS)
def test_what_a_key_and_an_order_select_is_added_up(condition: str, m: int) -> None:
    model: Any = made.load(INTERVALS.format(condition))
    w, t, g = keys(m)
    holds = CONDITIONS[condition](t[:, None], t, g[:, None], g)
    weight = t / (1 + t**2)
    e = np.exp(w)
    r = holds @ e
    slope = 2 * e * (holds.T @ (weight * r))
    product = 2 * e * (holds.T @ (weight * (holds @ (e * t)))) + slope * t
    np.testing.assert_allclose(model.f(w, t, g), weight @ r**2)
    np.testing.assert_allclose(model.f_grad(w, t, g), slope)
    np.testing.assert_allclose(model.f_hvp(w, t, g, t), product)


@pytest.mark.parametrize("condition", CONDITIONS)
def test_a_key_and_an_order_take_no_matrix(condition: str) -> None:
    model: Any = made.load(INTERVALS.format(condition))
    w, t, g = keys(4_000)
    assert peak_of(model.f_value_and_grad, w, t, g) < 48 * w.nbytes
    assert peak_of(model.f_hvp, w, t, g, t) < 48 * w.nbytes


def test_terms_of_windows_are_added_and_none_is_taken_away() -> None:
    model: Any = made.load(INTERVALS.format("t[j] >= t[i] - 1, t[j] <= t[i]"))
    w, t = np.array([300.0, 0.0, -3.0, -300.0]), np.array([0.0, 2.0, 4.0, 6.0])
    slope = 2 * np.exp(2 * w) * t / (1 + t**2)
    np.testing.assert_allclose(model.f_grad(w, t, np.zeros(4, dtype=int)), slope)


def test_a_key_or_limit_that_is_nan_is_in_no_window() -> None:
    model: Any = made.load(INTERVALS.format("t[j] >= t[i] - 1, t[j] <= t[i]"))
    w, t, g = np.zeros(4), np.array([1.0, 2.0, 0.0, np.nan]), np.zeros(4, dtype=int)
    clean = model.f_grad(w[:3], t[:3], g[:3])
    np.testing.assert_allclose(model.f_grad(w, t, g), [*clean, 0.0])


SELF = [condition for condition in CONDITIONS if " < " not in condition]
"""Those that take in what they are asked of, so that no mean is of nothing."""

MEANS = """
tensorgen: 1
inputs:
  w: [m]
  t: [m]
  g: {{shape: [m], index: m}}
functions:
  f[i]:
    expr: mean(w[j]*(g[j] + t[j]), j, {})
    wrt: w
    emit: [value, vjp]
"""


@pytest.mark.parametrize("condition", SELF)
def test_means_count_what_a_key_and_an_order_select(condition: str) -> None:
    model: Any = made.load(MEANS.format(condition))
    w, t, g = keys(13)
    holds = CONDITIONS[condition](t[:, None], t, g[:, None], g) * 1.0
    share = holds / holds.sum(axis=1, keepdims=True)
    value, cotangent = model.f_vjp(w, t, g, t)
    np.testing.assert_allclose(value, share @ (w * (g + t)))
    np.testing.assert_allclose(cotangent, (g + t) * (share.T @ t))
    w, t, g = keys(4_000)
    assert peak_of(model.f_vjp, w, t, g, t) < 48 * w.nbytes


WINDOWS = """
tensorgen: 1
inputs:
  w: [m, 2]
  t: [m]
  s: [n]
functions:
  f[i, k]:
    expr: sum(w[j, k]**2, j, t[j] > s[i] - 1, t[j] <= s[i] + 1)
    wrt: w
    emit: [value, vjp]
"""


def test_windows_lie_around_other_keys_and_rows_are_added_up() -> None:
    model: Any = made.load(WINDOWS)
    rng = np.random.default_rng(1)
    w, t, s = rng.normal(size=(9, 2)), rng.integers(0, 5, 9) / 1.0, np.arange(4.0)
    holds = (t > s[:, None] - 1) & (t <= s[:, None] + 1)
    ct = rng.normal(size=(4, 2))
    value, cotangent = model.f_vjp(w, t, s, ct)
    np.testing.assert_allclose(value, holds @ w**2)
    np.testing.assert_allclose(cotangent, 2 * w * (holds.T @ ct))
