"""Control, vision and finance of the gallery: conditions of optimality, and books."""

from __future__ import annotations

import numpy as np
import pytest

from tests.gallery.entries import entry, found, named


@named("mpc")
def test_the_first_plan_is_the_bounded_least_squares_of_scipy() -> None:
    optimize = pytest.importorskip("scipy.optimize")
    module, own = entry("mpc"), found("mpc")
    steps, h = module.HORIZON - 1, module.STEP
    # States are linear in the forces: rows of the position and velocity at each time.
    powers = [np.linalg.matrix_power(module.A, k) for k in range(steps + 1)]
    free = np.array([P @ [3.0, 0.0] for P in powers])
    forced = np.zeros((steps + 1, 2, steps))
    for t in range(1, steps + 1):
        for k in range(t):
            forced[t, :, k] = (powers[t - 1 - k] @ module.B)[:, 0]
    root = np.linalg.cholesky(own["S"]).T
    weights = [np.sqrt(h) * np.eye(2)] * steps + [root]
    rows = [
        *(W @ F for W, F in zip(weights, forced, strict=True)),
        np.sqrt(h * module.PRICE) * np.eye(steps),
    ]
    want = [*(-W @ f for W, f in zip(weights, free, strict=True)), np.zeros(steps)]
    fit = optimize.lsq_linear(
        np.concatenate(rows), np.concatenate(want), (-1, 1), tol=1e-14
    )
    np.testing.assert_allclose(own["plans"][0][:-1, 2], fit.x, atol=1e-6)
    assert np.sum(np.abs(fit.x) > 1 - 1e-6) > 5


@named("mpc")
def test_where_no_bound_is_met_the_plan_is_that_of_riccati() -> None:
    own = found("mpc")
    inside = np.array([np.max(np.abs(plan[:, 2])) < 0.9 for plan in own["plans"]])
    assert np.sum(inside) > 20
    want = -own["path"][:-1] @ own["feedback"][0]
    np.testing.assert_allclose(own["forces"][inside], want[inside], atol=1e-6)


@named("mpc")
def test_the_matrix_of_a_plan_is_a_band() -> None:
    own = found("mpc")
    given = {"now": own["path"][0], "S": own["S"], "barrier": 1e-3}
    H = own["model"].lagrangian_hess(0.1 * own["plans"][-1], **given)
    rows, columns, values = H.coo()
    assert np.max(np.abs(rows - columns)[values != 0]) <= 8
    assert H.nbytes < 8 * H.shape[0] ** 2 / 4


@named("cart_pole")
def test_the_swing_satisfies_the_conditions_of_optimality() -> None:
    own = found("cart_pole")
    p, v = own["problem"], own["v"]
    rows, columns = p.jacobianstructure()
    slope = p.gradient(v)
    np.add.at(slope, columns, p.jacobian(v) * own["lagrange"][rows])
    np.testing.assert_allclose(slope, 0, atol=1e-8)
    np.testing.assert_allclose(p.constraints(v), 0, atol=1e-8)
    _, u = p.unpack(v)
    assert np.max(np.abs(u)) < 20


@named("cart_pole")
def test_the_cart_and_its_pole_move_by_lagranges_equations() -> None:
    own, module = found("cart_pole"), entry("cart_pole")
    x, u = own["problem"].unpack(own["v"])
    rates = []
    for (_, angle, speed, spin), push in zip(x, u, strict=True):
        # Of both masses, with a pole of half a meter and a bob of 0.3 kg.
        M = np.array([[1.3, 0.15 * np.cos(angle)], [np.cos(angle), 0.5]])
        forces = [push + 0.15 * spin**2 * np.sin(angle), -9.81 * np.sin(angle)]
        rates.append([speed, spin, *np.linalg.solve(M, forces)])
    h, f = module.LONG / (module.TIMES - 1), np.array(rates)
    np.testing.assert_allclose(np.diff(x, axis=0), h / 2 * (f[1:] + f[:-1]), atol=1e-8)
    np.testing.assert_allclose(x[[0, -1]], [np.zeros(4), module.GOAL], atol=1e-8)


@named("bundle")
def test_no_adjustment_is_better_by_least_squares() -> None:
    optimize = pytest.importorskip("scipy.optimize")
    module, own = entry("bundle"), found("bundle")
    data = own["data"]

    def misses(v: np.ndarray) -> np.ndarray:
        turn, shift, point = own["problem"].unpack(v)
        R = module.rotations(turn)[data["c"]]
        moved = np.einsum("eij,ej->ei", R, point[data["q"]]) + shift[data["c"]]
        seen = 500 * moved[:, :2] / moved[:, 2:]
        return np.asarray((seen - data["seen"]).ravel())

    value = own["problem"].value(own["v"])
    assert np.sum(misses(own["v"]) ** 2) / 2 == pytest.approx(value, rel=1e-10)
    fit = optimize.least_squares(misses, own["v"], max_nfev=5)
    assert fit.cost == pytest.approx(value, rel=1e-8)
    # What is left is noise, but for what 288 unknowns less 7 motions take up.
    left = 1 - (len(own["v"]) - 7) / own["count"]
    assert own["rms"] == pytest.approx(module.NOISE * np.sqrt(left), rel=0.1)


@named("bundle")
def test_points_meet_no_other_points() -> None:
    module, own = entry("bundle"), found("bundle")
    points = own["hessian"].blocks["point", "point"]
    assert points.nbytes == module.POINTS * 9 * 8
    assert points.structure.startswith("block diagonal")


@named("portfolio")
def test_all_assets_bear_the_same_risk() -> None:
    own = found("portfolio")
    np.testing.assert_allclose(own["risk"], own["risk"].mean(), rtol=1e-9)
    even, S = own["even"], own["S"]
    assert own["risk"].sum() == pytest.approx(np.sqrt(even @ S @ even), rel=1e-12)


@named("portfolio")
def test_the_frontier_is_optimal() -> None:
    own = found("portfolio")
    mean, S = own["mean"], own["S"]
    for w in own["frontier"][4:-1:4]:
        held = w > 1e-6
        assert np.sum(w) == pytest.approx(1, abs=1e-8)
        # On what is held, the slope is a price of money plus a price of return.
        both = np.stack([np.ones(len(w)), mean], axis=1)
        slope = 2 * S @ w
        price = np.linalg.lstsq(both[held], slope[held], rcond=None)[0]
        rest = slope - both @ price
        np.testing.assert_allclose(rest[held] / slope.max(), 0, atol=1e-10)
        assert np.all(rest[~held] > -1e-4 * slope.max())
        assert price[1] > -1e-6


@named("options")
def test_the_greeks_are_those_of_hull() -> None:
    letters = found("options")["letters"]
    want = [
        *(("delta", "0.522"), ("gamma", "0.066"), ("theta, a year", "-4.31")),
        *(("vega", "12.1"), ("rho", "8.91"), ("price", "2.40")),
    ]
    for name, printed in want:
        digits = len(printed.partition(".")[2])
        assert f"{letters[name]:.{digits}f}" == printed, name


@named("options")
def test_the_implied_volatility_is_that_of_hull_and_follows_the_price() -> None:
    own, module = found("options"), entry("options")
    assert own["implied"] == pytest.approx(0.235, abs=5e-4)
    given = module.OTHER_SHARE | {"vol": own["implied"]}
    spot = np.array([21.0])
    assert own["model"].value(spot, **given)[0] == pytest.approx(1.875, abs=1e-9)
    vega = own["model"].vega(spot, **given)
    assert own["slope"] == pytest.approx(1 / vega, rel=1e-8)
