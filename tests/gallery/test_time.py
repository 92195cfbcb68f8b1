"""Models of time in the gallery find what other programs find."""

from __future__ import annotations

import numpy as np
import pytest

from tests.gallery.entries import entry, found, named


@named("kalman_nile")
def test_the_variances_are_those_of_durbin_and_koopman() -> None:
    np.testing.assert_allclose(found("kalman_nile")["variances"], [15099, 1469.1], 1e-4)


@named("kalman_nile")
def test_the_level_is_that_of_statsmodels() -> None:
    structural = pytest.importorskip("statsmodels.tsa.statespace.structural")
    own = found("kalman_nile")
    model = structural.UnobservedComponents(own["y"], "llevel", use_exact_diffuse=True)
    want = model.filter(own["variances"]).filtered_state[0]
    np.testing.assert_allclose(own["level"], want, 1e-8)


@named("volatility")
def test_the_volatility_is_the_recursion_and_stationary() -> None:
    model = entry("volatility").tensorgen.load(entry("volatility").SPEC)
    theta, r = found("volatility")["theta"], found("volatility")["r"]

    def minus(v: np.ndarray) -> float:
        square = (r - v[0]) ** 2
        h, total = square.mean(), 0.0
        for s in square.tolist():
            total += (np.log(2 * np.pi * h) + s / h) / 2
            h = v[1] + v[2] * s + v[3] * h
        return float(total)

    assert model.loss(theta, r) == pytest.approx(minus(theta), rel=1e-12)
    for step in np.diag(1e-3 * theta):
        assert min(minus(theta + step), minus(theta - step)) > minus(theta)


@named("regimes")
def test_the_states_are_those_of_statsmodels() -> None:
    api = pytest.importorskip("statsmodels.api")
    own = found("regimes")
    model = api.tsa.MarkovRegression(own["r"], k_regimes=2, switching_variance=True)
    stays = own["stays"]
    given = [stays[0], 1 - stays[1], *own["mu"], *own["sigma"] ** 2]
    fit = model.smooth(given)
    assert -own["loss"] == pytest.approx(fit.llf, rel=1e-9)
    want = fit.smoothed_marginal_probabilities
    np.testing.assert_allclose(own["state"], want, atol=1e-8)
    assert np.max(np.abs(own["gradient"])) < 1e-2


@named("influenza")
def test_the_epidemic_is_that_of_an_adaptive_integrator() -> None:
    integrate = pytest.importorskip("scipy.integrate")
    optimize = pytest.importorskip("scipy.optimize")
    module = entry("influenza")
    days = np.arange(1.0, 15)

    def residual(v: np.ndarray) -> np.ndarray:
        def rate(t: float, x: np.ndarray) -> list[float]:
            new = v[0] * x[0] * x[1] / module.BOYS
            return [-new, new - v[1] * x[1]]

        x0 = [module.BOYS - 1, 1]
        path = integrate.solve_ivp(rate, (0, 14), x0, "LSODA", days, rtol=1e-9)
        return np.asarray(path.y[1] - module.ILL)

    fit = optimize.least_squares(residual, [1.5, 0.4])
    # The midpoint rule of twenty steps a day is that far off.
    np.testing.assert_allclose(found("influenza")["v"], fit.x, rtol=1e-3)
