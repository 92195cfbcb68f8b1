"""Multiples of a state and something more: all steps at once, against one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.made import load

Array = Any

LINEAR = """tensorgen: 1
inputs: {a: [T], b: [T]}
functions:
  f:
    where: |
      s[0] = 1
      s[t + 1] = a[t]*s[t] + b[t]
    expr: sum(s**2)
    wrt: a
    emit: [gradient]
"""


def stepped(x: Array, gains: Array) -> Array:
    """Each row with the one before it, one after the other."""
    y = x.copy()
    for t, gain in enumerate(gains):
        y[t + 1] += gain * y[t]
    return y


@pytest.mark.parametrize("shape", [(), (3,), (70,)])
@pytest.mark.parametrize("most", [1.0, 4.0, 1e-30, 1e30])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_gains_of_any_size_are_those_of_one_step_after_the_other(
    shape: tuple[int, ...], most: float, dtype: type
) -> None:
    own = load(LINEAR)._filtered_by
    rng = np.random.default_rng(5)
    for count in (0, 1, 63, 64, 65, 1000, 5000):
        gains: Array = (most * rng.uniform(-1, 1, (count, *shape))).astype(dtype)
        x: Array = rng.standard_normal((count + 1, *shape)).astype(dtype)
        with np.errstate(all="ignore"):
            want = stepped(x, gains)
            exact, size = (
                stepped(of(x).astype(np.longdouble), of(gains))
                for of in (np.asarray, np.abs)
            )
            found = own(x, gains)
            back = own(x[::-1], gains[::-1], back=True)[::-1]
            error, allowed = (
                np.abs(np.where(np.isfinite(want), y - exact, 0)) for y in (found, want)
            )
        np.testing.assert_array_equal(found, back)
        kept = np.isfinite(want)
        assert np.all(np.isfinite(found)[kept])
        allowed = allowed + 300 * np.finfo(dtype).eps * size
        assert np.all((error <= allowed)[kept])


@pytest.mark.parametrize("shape", [(), (3,)])
@pytest.mark.parametrize("back", [False, True])
def test_gains_near_one_are_filtered_in_one_run_as_accurately_as_by_steps(
    shape: tuple[int, ...], back: bool
) -> None:
    module, count = load(LINEAR), 3000
    own, rng = module._filtered_by, np.random.default_rng(8)
    turn = np.linspace(0, 2 * np.pi, count).reshape(-1, *(1,) * len(shape))
    drift = 1 + rng.standard_normal((count, *shape)) / 100
    jump = np.where(np.arange(count) == 1500, 1e70, 1.0).reshape(turn.shape)
    wide: Array = 10.0 ** rng.uniform(-30, 30, (count + 1, *shape))
    x = rng.standard_normal((count + 1, *shape))
    rises = {"rise, fall": np.exp(0.1 * np.sin(turn)) * drift, "jump": jump * drift}
    falls = {"fall, rise": np.exp(-0.1 * np.sin(turn)) * drift, "drop": drift / jump}
    for gains in (drift, *rises.values(), *falls.values()):
        assert module._products_near_one(gains, 0) is not None
        for b in (x, np.abs(x), wide * x):
            exact, size = (
                stepped(of(b).astype(np.longdouble), of(gains))
                for of in (np.asarray, np.abs)
            )
            found = (
                own(b[::-1], gains[::-1], back=True)[::-1] if back else own(b, gains)
            )
            error, steps = (np.abs(y - exact) for y in (found, stepped(b, gains)))
            eps = np.finfo(float).eps
            assert np.all(error <= 3 * steps.max(axis=0) + 40 * eps * size)


@pytest.mark.parametrize("bad", [0.0, 1e-300, 1e300, np.nan, np.inf])
def test_one_gain_far_from_one_leaves_all_others_what_they_are(bad: float) -> None:
    module, rng = load(LINEAR), np.random.default_rng(8)
    x, gains = rng.standard_normal(1001), 1 + rng.standard_normal(1000) / 100
    gains[700] = bad
    with np.errstate(all="ignore" if np.isnan(bad) or np.isinf(bad) else "raise"):
        assert module._products_near_one(gains, 0) is None
        found = module._filtered_by(x, gains)
    np.testing.assert_allclose(found, stepped(x, gains), rtol=1e-11)


def test_gains_that_vanish_stop_what_comes_before_them() -> None:
    a, b = np.full(200, 0.5), np.zeros(200)
    a[100] = 0.0
    slopes = load(LINEAR).f_grad(a=a, b=b)
    assert not slopes[100:].any()
    np.testing.assert_allclose(slopes[0], np.sum(0.25 ** np.arange(100)))
