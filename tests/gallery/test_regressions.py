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
    fit = regression.PHReg(time, X, died, ties="breslow").fit()
    np.testing.assert_allclose(found("cox")["beta"], fit.params, rtol=1e-4, atol=1e-6)


@named("sleep")
def test_the_mixed_model_is_that_of_the_manual_of_lme4() -> None:
    # Bates and others 2015, with `REML = FALSE`; as many digits as are printed there.
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


@named("co2")
def test_the_marginal_likelihood_and_its_gradient_are_those_of_scikit_learn() -> None:
    process = pytest.importorskip("sklearn.gaussian_process")
    k = process.kernels
    h, problem = found("co2")["h"], found("co2")["problem"]
    s = np.exp(h)
    mixed = k.RationalQuadratic(length_scale=s[6], alpha=s[7])
    season = k.ExpSineSquared(s[4], 1.0, periodicity_bounds="fixed")
    kernel = (
        k.ConstantKernel(s[0]) * k.RBF(s[1])
        + k.ConstantKernel(s[2]) * k.RBF(s[3]) * season
        + k.ConstantKernel(s[5]) * mixed
        + k.WhiteKernel(s[8])
    )
    t, y = entry("co2").air()
    own = process.GaussianProcessRegressor(kernel, alpha=0, optimizer=None)
    own.fit(t[:, None], y - y.mean())
    value, gradient = own.log_marginal_likelihood(own.kernel_.theta, eval_gradient=True)
    assert -problem.value(h) == pytest.approx(value, rel=1e-9)
    # In its own order: names of parameters within a kernel are sorted.
    order = [0, 1, 2, 3, 4, 5, 7, 6, 8]
    shifted = h + 0.1
    own.kernel_.theta = shifted[order]
    value, gradient = own.log_marginal_likelihood(shifted[order], eval_gradient=True)
    np.testing.assert_allclose(-problem.gradient(shifted)[order], gradient, rtol=1e-6)
    assert np.max(np.abs(problem.gradient(h))) < 1e-2


@named("travel")
def test_the_choice_is_that_of_greene() -> None:
    # Greene, Econometric Analysis, table of the conditional logit.
    want = [5.20743, 3.86904, 3.16319, -0.01550, -0.09612, 0.01329]
    np.testing.assert_allclose(found("travel")["beta"], want, atol=2e-5)
    beta, problem = found("travel")["beta"], found("travel")["problem"]
    assert -problem.value(beta) == pytest.approx(-199.1284, abs=1e-4)


@named("football")
def test_strengths_are_those_of_a_logistic_regression() -> None:
    api = pytest.importorskip("statsmodels.api")
    teams, host, guest, won = entry("football").games()
    unit = np.eye(len(teams))
    X = np.column_stack([np.ones(len(won)), (unit[host] - unit[guest])[:, 1:]])
    fit = api.Logit(won, X).fit(disp=False, tol=1e-12)
    own = found("football")
    strength = own["strength"]
    assert own["home"] == pytest.approx(fit.params[0], abs=1e-7)
    np.testing.assert_allclose(strength[1:] - strength[0], fit.params[1:], atol=1e-6)
    assert np.sum(strength) == pytest.approx(0, abs=1e-8)
