"""Each example runs, and finds what an independent computation finds."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import tensorgen
from tests.device.library import execute

ROOT = Path(__file__).resolve().parent.parent


def golden(spec: Path) -> ModuleType:
    """The module of an example, from its golden file: that is what `load` makes."""
    path = ROOT / "tests" / "golden" / f"{spec.stem}_numpy.py"
    return execute(path.read_text(encoding="utf-8"))


@pytest.fixture
def example(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> ModuleType:
    """Import an example as if from its folder."""
    monkeypatch.syspath_prepend(str(ROOT / "examples"))
    monkeypatch.setattr(tensorgen, "load", golden)
    name: str = request.param
    monkeypatch.delitem(sys.modules, name, raising=False)
    return importlib.import_module(name)


def named(name: str) -> pytest.MarkDecorator:
    """Say which example a test is about."""
    return pytest.mark.parametrize("example", [name], indirect=True)


@named("recommender")
def test_the_recommender_predicts_ratings_that_it_has_not_seen(
    example: ModuleType,
) -> None:
    error, baseline = example.main()
    assert error < 0.98 * baseline


@named("recommender")
def test_a_newton_step_of_the_recommender_is_a_regression_for_each_row(
    example: ModuleType,
) -> None:
    model = tensorgen.load(ROOT / "examples" / "recommender.yaml")
    rng = np.random.default_rng(0)
    ratings = example.lectures()
    ratings = ratings.part(ratings.row < 200)
    m, p = 200, ratings.col.max() + 1
    U, V = rng.standard_normal((m, 3)), rng.standard_normal((p, 3))
    b, c = rng.standard_normal(m), rng.standard_normal(p)
    factors = {"U": U, "V": V, "b": b, "c": c, "lam": 2.0, "mu": 0.5}
    result = model.rows_value_grad_hess(**factors, **ratings._asdict())
    dU, db = example.step(result[2], result[1])
    for i in range(m):
        _, col, value = ratings.part(ratings.row == i)
        A = np.column_stack([V[col], np.ones(len(col))])
        penalty = np.diag([2.0, 2.0, 2.0, 0.5])
        expected = np.linalg.solve(A.T @ A + penalty, A.T @ (value - c[col]))
        found = [*(U - dU)[i], (b - db)[i]]
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


@named("sparse_logistic")
def test_the_sparse_fit_is_that_of_scikit_learn(example: ModuleType) -> None:
    linear_model = pytest.importorskip("sklearn.linear_model")
    w, b = example.main()
    data = example.coordinates()
    X = np.zeros((len(data.y), data.columns))
    X[data.row, data.col] = data.val
    fit = linear_model.LogisticRegression(C=1 / example.LAM, tol=1e-10, max_iter=9999)
    fit.fit(X, data.y)
    np.testing.assert_allclose(w, fit.coef_[0], atol=1e-5)
    np.testing.assert_allclose(b, fit.intercept_[0], atol=1e-5)


@named("gaussian_mixture")
def test_the_mixture_is_a_stationary_point_of_expectation_maximisation(
    example: ModuleType,
) -> None:
    mixture = pytest.importorskip("sklearn.mixture")
    likelihood, table = example.main()
    X, _ = example.flowers()
    fit = mixture.GaussianMixture(3, tol=1e-10, max_iter=5000, n_init=5, random_state=0)
    fit.fit(X)
    # scikit-learn adds 1e-6 to the variances.
    np.testing.assert_allclose(likelihood, fit.score(X), atol=1e-4)
    assert np.sum(np.max(table, axis=0)) >= 140


@named("mesh_energy")
def test_the_holds_of_the_beam_bear_its_weight(example: ModuleType) -> None:
    rest, x = example.main()
    mesh = example.beam()
    pull = 1e3 * (mesh.arguments["anchor"] - x[mesh.arguments["pin"]])
    np.testing.assert_allclose(pull.sum(axis=0), [0, example.LOAD], atol=1e-11)
    assert x[-1, 1] < rest[-1, 1] - 0.05


@named("mesh_energy")
def test_the_beam_at_rest_bears_no_force(example: ModuleType) -> None:
    model = tensorgen.load(ROOT / "examples" / "mesh_energy.yaml")
    mesh = example.beam()
    mesh.arguments["load"] = np.zeros_like(mesh.rest)
    # A rotation costs nothing either, without the holds.
    turn = np.array([[0.6, -0.8], [0.8, 0.6]])
    for x in (mesh.rest, mesh.rest @ turn):
        force = model.energy_grad(x, **mesh.arguments, hold=0.0)
        np.testing.assert_allclose(force, 0, atol=1e-12)


@named("optimal_control")
def test_the_torque_found_swings_the_pendulum_up(example: ModuleType) -> None:
    Z = example.main()
    angle, velocity, torque = Z[:, 0], Z[:, 1], Z[:, 2]
    h = example.TIME / (example.POINTS - 1)
    rate = torque - 9.81 * np.sin(angle) - 0.1 * velocity
    for values, rates in ((angle, velocity), (velocity, rate)):
        defect = np.diff(values) - h / 2 * (rates[1:] + rates[:-1])
        np.testing.assert_allclose(defect, 0, atol=1e-8)
    np.testing.assert_allclose([angle[0], velocity[0]], example.START, atol=1e-8)
    np.testing.assert_allclose([angle[-1], velocity[-1]], example.GOAL, atol=0.05)


@named("oscillator_pinn")
def test_the_network_solves_the_oscillator(example: ModuleType) -> None:
    assert example.main() < 1e-3


@named("total_variation")
def test_total_variation_takes_most_of_the_noise_away(example: ModuleType) -> None:
    before, after = example.main()
    assert after < before / 3


@named("attention_layer")
def test_attention_learns_to_look_up(example: ModuleType) -> None:
    seen, fresh = example.main()
    assert seen < 1e-4
    assert fresh < 1e-2


@named("bilevel_ridge")
def test_penalties_are_chosen_by_what_they_do_elsewhere(example: ModuleType) -> None:
    before, after = example.main()
    assert after < 0.9 * before
    model = tensorgen.load(ROOT / "examples" / "bilevel_ridge.yaml")
    (X, y), (Xv, yv), _ = example.parts()
    rho = np.linspace(-1, 1, X.shape[1])
    found, step = model.error_grad(rho, X, y, Xv, yv), 1e-5
    for k, unit in enumerate(step * np.eye(len(rho))):
        ends = [model.error(rho + s * unit, X, y, Xv, yv) for s in (1, -1)]
        assert found[k] == pytest.approx((ends[0] - ends[1]) / (2 * step), rel=1e-4)


@named("deep_equilibrium")
def test_the_equilibrium_network_tells_species_apart(example: ModuleType) -> None:
    loss, right = example.main()
    assert loss < 0.08
    assert right > 0.97


@named("nile")
def test_the_level_of_the_nile_is_that_of_statsmodels(example: ModuleType) -> None:
    structural = pytest.importorskip("statsmodels.tsa.statespace.structural")
    likelihood, variances = example.main()
    _, y = example.flows()
    model = structural.UnobservedComponents(y, "llevel", use_exact_diffuse=True)
    fit = model.fit(variances, disp=False)
    # A flow of which nothing is known counts with a constant there.
    assert likelihood == pytest.approx(fit.llf + np.log(2 * np.pi) / 2, rel=1e-9)
    np.testing.assert_allclose(variances, fit.params, 1e-3)
    # The values that Durbin and Koopman state.
    np.testing.assert_allclose(variances, [15099, 1469.1], 1e-4)
    module = tensorgen.load(ROOT / "examples" / "nile.yaml")
    level = module.level(*np.sqrt(variances), y)
    want = model.filter(variances).filtered_state[0]
    np.testing.assert_allclose(level, want, 1e-8)


@named("garch")
def test_no_parameters_are_likelier_than_those_of_the_volatility(
    example: ModuleType,
) -> None:
    optimize = pytest.importorskip("scipy.optimize")
    likelihood, found = example.main()
    r = example.returns()

    def minus(v: np.ndarray) -> float:
        mu, omega, alpha, beta = v
        if min(omega, alpha, beta) < 0:
            return np.inf
        square = (r - mu) ** 2
        h, total = square.mean(), 0.0
        for s in square.tolist():
            total += (np.log(2 * np.pi * h) + s / h) / 2
            h = omega + alpha * s + beta * h
        return float(total)

    assert likelihood == pytest.approx(-minus(found), rel=1e-12)
    start = found * [0.8, 1.2, 0.9, 0.98]
    fit = optimize.minimize(minus, start, method="Nelder-Mead", options={"fatol": 1e-7})
    np.testing.assert_allclose(fit.x, found, 1e-2)
    assert likelihood == pytest.approx(-fit.fun, abs=1e-3)


@named("neural_ode")
def test_the_network_follows_the_spiral(example: ModuleType) -> None:
    seen, path = example.main()
    assert np.sqrt(np.mean(np.sum((path - seen) ** 2, axis=1))) < 0.2
