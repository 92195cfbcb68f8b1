"""Regressions of the gallery find what other programs and books state."""

from __future__ import annotations

import numpy as np
import pytest

from tests.gallery.entries import entry, found, named


@named("logistic")
def test_the_odds_are_those_of_scikit_learn() -> None:
    data = entry("logistic").breast_cancer.DATA
    want = np.loadtxt(data / "expected_coefficients.txt", usecols=0)
    np.testing.assert_allclose(found("logistic")["w"], want, atol=1e-6)


@named("insurance")
def test_claims_are_those_of_statsmodels() -> None:
    api = pytest.importorskip("statsmodels.api")
    _, X, y, exposure = entry("insurance").policies()
    fit = api.GLM(y, X, api.families.Poisson(), exposure=exposure).fit(tol=1e-14)
    np.testing.assert_allclose(found("insurance")["w"], fit.params, atol=1e-8)
    np.testing.assert_allclose(found("insurance")["error"], fit.bse, rtol=1e-6)


@named("cox")
def test_hazard_ratios_are_those_of_statsmodels() -> None:
    regression = pytest.importorskip("statsmodels.duration.hazard_regression")
    _, X, time, died = entry("cox").veterans()
    fit = regression.PHReg(time, X, died, ties="breslow").fit(gtol=1e-10)
    np.testing.assert_allclose(found("cox")["beta"], fit.params, rtol=1e-4, atol=1e-6)


@named("sleep")
def test_the_mixed_model_is_that_of_the_manual_of_lme4() -> None:
    # Bates and others 2015, with `REML = FALSE`.
    cov = found("sleep")["cov"]
    deviations = np.sqrt(np.diag(cov))
    np.testing.assert_allclose(found("sleep")["beta"], [251.405, 10.467], atol=1e-3)
    np.testing.assert_allclose(deviations, [23.780, 5.717], rtol=1e-4)
    assert cov[0, 1] / np.prod(deviations) == pytest.approx(0.08, abs=5e-3)
    assert found("sleep")["noise"] == pytest.approx(25.592, rel=1e-4)


@named("sleep")
def test_the_mixed_model_is_that_of_statsmodels() -> None:
    api = pytest.importorskip("statsmodels.api")
    Z, Y = entry("sleep").drivers()
    all_Z, groups = np.tile(Z, (len(Y), 1)), np.repeat(np.arange(len(Y)), len(Z))
    fit = api.MixedLM(Y.ravel(), all_Z, groups, exog_re=all_Z).fit(reml=False)
    np.testing.assert_allclose(found("sleep")["beta"], fit.fe_params, rtol=1e-5)
    np.testing.assert_allclose(found("sleep")["cov"], fit.cov_re, rtol=2e-3, atol=0.1)


@named("arthritis")
def test_the_odds_of_the_trial_are_those_of_statsmodels() -> None:
    ordinal = pytest.importorskip("statsmodels.miscmodels.ordinal_model")
    X, answer = entry("arthritis").patients()
    model = ordinal.OrderedModel(answer, X, distr="logit")
    fit = model.fit(method="newton", disp=False, maxiter=100)
    np.testing.assert_allclose(found("arthritis")["beta"], fit.params[:3], atol=1e-6)
    cuts = model.transform_threshold_params(fit.params)[1:-1]
    np.testing.assert_allclose(found("arthritis")["cut"], cuts, atol=1e-6)


@named("tides")
def test_the_tides_are_those_of_coles() -> None:
    # Coles 2001, section 3.4.1.
    parameters, covariance = found("tides")["parameters"], found("tides")["covariance"]
    np.testing.assert_allclose(parameters, [3.87, 0.198, -0.050], atol=5e-3)
    errors = np.sqrt(np.diag(covariance))
    np.testing.assert_allclose(errors, [0.028, 0.020, 0.098], atol=6e-4)


@named("tides")
def test_the_tides_are_those_of_scipy() -> None:
    stats = pytest.importorskip("scipy.stats")
    mu, sigma, xi = found("tides")["parameters"]
    shape, where, scale = stats.genextreme.fit(entry("tides").highest(), 0.05)
    np.testing.assert_allclose([mu, sigma, xi], [where, scale, -shape], atol=2e-3)
