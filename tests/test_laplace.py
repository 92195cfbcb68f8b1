"""Latent variables integrated out: the specs of the page, against SciPy."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import approx_fprime, minimize

from tensorgen.errors import SpecError
from tests.device.library import execute
from tests.documents import blocks
from tests.made import generate, source

Array = Any
PAGE = Path(__file__).resolve().parents[1] / "docs" / "laplace.md"
GLMM, VOLATILITY = (x.text for x in blocks(PAGE) if x.language == "yaml")


def laplace(
    joint: Callable[[Array], float], slope: Callable[[Array], Array], start: Array
) -> float:
    """The marginal of a density, its Hessian by differences of its slope."""
    found = minimize(joint, start, jac=slope, method="BFGS", options={"gtol": 1e-10})
    rows = differences(slope, found.x)
    sign, size = np.linalg.slogdet((rows + rows.T) / 2)
    assert sign == 1
    return float(joint(found.x) + size / 2 - start.size * np.log(2 * np.pi) / 2)


def differences(f: Callable[[Array], Any], x: Array) -> Array:
    """Derivatives by five points each, one a row."""
    h = 2e-3
    rows = [
        8 * (f(x + e) - f(x - e)) - (f(x + 2 * e) - f(x - 2 * e))
        for e in h * np.eye(x.size)
    ]
    return np.array(rows) / (12 * h)


def test_latent_variables_in_a_table_are_those_in_a_row() -> None:
    text = PAGE.read_text("utf-8")
    (table,) = re.findall(r"`(logdet\(reshape\(.*\)\))`", text)
    own, emitted = "logdet(hess(joint, u))", "[value, gradient, hessian, problem]"
    two = GLMM.replace("u[group[i]]", "(u[group[i], 0] + X[i, 0] * u[group[i], 1])")
    two = two.replace("u: {shape: [g]", "u: {shape: [g, 2]")
    with pytest.raises(SpecError, match=re.escape("reshape(hess(f, v), (2*g, 2*g))")):
        generate(two)
    row = GLMM.replace("u[group[i]]", "(u[2*group[i]] + X[i, 0] * u[2*group[i] + 1])")
    row = row.replace("u: {shape: [g]", "u: {shape: [2*g]")
    rng = np.random.default_rng(3)
    X, group = rng.normal(size=(40, 2)), rng.integers(0, 3, 40)
    y = (rng.random(40) < 0.6).astype(float)
    given: Array = ([0.3, -0.2], -0.4, X, y, group)
    one, other = (
        execute(generate(spec.replace(emitted, "[value]"))).marginal(*given, g=3)
        for spec in (two.replace(own, table), row)
    )
    assert one == pytest.approx(other)


@pytest.mark.thorough
def test_a_mixed_model_is_what_scipy_makes_of_it() -> None:
    module = execute(generate(GLMM))
    rng = np.random.default_rng(0)
    X, group = rng.normal(size=(60, 2)), rng.integers(0, 4, 60)
    y = (rng.random(60) < 0.6).astype(float)
    p = module.MarginalProblem(X=X, y=y, group=group, g=5)  # one group has no data

    def marginal(v: Array) -> float:
        def joint(u: Array) -> float:
            eta = X @ v[:2] + np.exp(v[2]) * u[group]
            return float(
                np.sum(np.logaddexp(0, eta) - y * eta)
                + u @ u / 2
                + 5 * np.log(2 * np.pi) / 2
            )

        def slope(u: Array) -> Array:
            eta = X @ v[:2] + np.exp(v[2]) * u[group]
            residual = np.exp(v[2]) * (1 / (1 + np.exp(-eta)) - y)
            return u + np.bincount(group, residual, 5)

        return laplace(joint, slope, np.zeros(5))

    held(p, marginal, p.pack(beta=np.array([0.3, -0.8]), log_sd=0.2))


CROSSED = """
tensorgen: 1
inputs: {beta: [p], ls: scalar, X: [m, p], Z: {shape: [m, q], sparse: true}, y: [m]}
unknowns: {u: {shape: [q], minimises: joint}}
functions:
  joint:
    where: eta = X @ beta + exp(ls)*(Z @ u)
    expr: sum(exp(eta) - y*eta) + sum(u**2)/2
  marginal:
    expr: joint + logdet(hess(joint, u))/2 - q*log(2*pi)/2
    wrt: [beta, ls]
    emit: [value, gradient]
"""


def test_a_sparse_design_is_eliminated_as_it_is() -> None:
    text = generate(CROSSED)
    own = source(text, "marginal_grad")
    assert "_Sparse(" in own and ".inverse_at(" in own
    module = execute(text)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    Z = sp.random_array((40, 6), density=0.4, rng=rng, format="csr")
    y = rng.poisson(2, 40).astype(float)

    def marginal(v: Array) -> float:
        def joint(u: Array) -> float:
            eta = X @ v[:2] + np.exp(v[2]) * (Z @ u)
            return float(np.sum(np.exp(eta) - y * eta) + u @ u / 2)

        def slope(u: Array) -> Array:
            residual = np.exp(X @ v[:2] + np.exp(v[2]) * (Z @ u)) - y
            return u + np.exp(v[2]) * (Z.T @ residual)

        return laplace(joint, slope, np.zeros(6))

    v = np.array([0.3, -0.2, 0.1])
    value, slope = module.marginal_value_and_grad(v[:2], v[2], X, Z, y)
    assert value == pytest.approx(marginal(v), rel=1e-8)
    found = np.append(slope.beta, slope.ls)
    np.testing.assert_allclose(found, differences(marginal, v), 1e-4, 1e-5)


@pytest.mark.thorough
def test_a_state_space_model_is_what_scipy_makes_of_it() -> None:
    text = generate(VOLATILITY)
    module = execute(text)
    y = np.random.default_rng(1).normal(size=7)
    p = module.MarginalProblem(y=y)

    def marginal(v: Array) -> float:
        mu, phi, sd = v[0], np.tanh(v[1]), np.exp(v[2])

        def joint(x: Array) -> float:
            z = x - mu
            steps = (1 - phi**2) * z[0] ** 2 + np.sum((z[1:] - phi * z[:-1]) ** 2)
            return float(
                np.sum(x + y**2 * np.exp(-x)) / 2
                + steps / (2 * sd**2)
                + 7 * np.log(sd)
                - np.log(1 - phi**2) / 2
                + 7 * np.log(2 * np.pi)
            )

        def slope(x: Array) -> Array:
            found = (1 - y**2 * np.exp(-x)) / 2
            z = (x - mu) / sd**2
            found[0] += (1 - phi**2) * z[0]
            found[1:] += z[1:] - phi * z[:-1]
            found[:-1] -= phi * (z[1:] - phi * z[:-1])
            return found

        return laplace(joint, slope, np.full(7, mu))

    held(p, marginal, p.pack(mu=-0.2, a=0.7, log_sd=-0.4))
    # A path couples neighbours: what is solved with is a band.
    own = source(text, "marginal_grad")
    assert "_Banded(" in own


def held(p: Any, marginal: Callable[[Array], float], v: Array) -> None:
    """Compare a problem with a marginal that is computed otherwise."""
    assert p.value(v) == pytest.approx(marginal(v), rel=1e-8)
    np.testing.assert_allclose(p.gradient(v), differences(marginal, v), 1e-4, 1e-5)
    rows = approx_fprime(v, p.gradient, 1e-7)
    np.testing.assert_allclose(np.asarray(p.hessian(v)), rows, 1e-5, 1e-5)
    fit = minimize(p.value_and_gradient, v, jac=True, hessp=p.hvp, method="trust-ncg")
    assert np.linalg.norm(p.gradient(fit.x)) < 1e-3


SELF = "tensorgen: 1\ninputs: {x: [n]}\n"


def test_what_reads_its_own_unknown_is_read_with_it_as_a_variable() -> None:
    module = execute(
        generate(
            SELF + "definitions:\n"
            "  off(s): s*sum((y - x)**2)\n"
            "  plain: off(1) + sum(y**4)\n"
            "unknowns: {y: {shape: [n], minimises: cost}}\n"
            "functions:\n"
            "  cost: {expr: plain + off(2), wrt: x, emit: [value, gradient]}\n"
            "  slope: grad(cost, y)\n"
            "  whole: grad(cost, x)\n"
            "  bend: hess(plain, y) + 0*hess(off(2), y)\n"
            "  moved: jac(y, x)\n"
        )
    )
    x = np.array([0.5, -1.0, 2.0])
    y = module.y_solve(x)
    np.testing.assert_allclose(6 * (y - x) + 4 * y**3, 0, atol=1e-12)
    np.testing.assert_allclose(module.slope(x), 0, atol=1e-12)
    np.testing.assert_allclose(module.whole(x), -6 * (y - x), 1e-12)
    np.testing.assert_allclose(module.cost_grad(x), module.whole(x), 1e-12)
    np.testing.assert_allclose(module.bend(x), np.diag(2 + 12 * y**2), 1e-12)
    np.testing.assert_allclose(module.moved(x), np.diag(6 / (6 + 12 * y**2)), 1e-12)


def test_sizes_that_follow_from_no_shape_are_asked_for() -> None:
    spec = (
        "tensorgen: 1\ninputs: {y: [m], group: {shape: [m], index: g}, v: [g]}\n"
        "unknowns:\n"
        "  u: {shape: [g], minimises: 'sum((y - u[group])**2) + sum(u**2)'}\n"
        "  w: {shape: [g], equation: w + w**3 - u}\n"
        "functions:\n"
        "  f: {expr: 'dot(w, v)', wrt: y, emit: [value, gradient, problem]}\n"
        "  h: {expr: 'sum(w)', wrt: y}\n"
    )
    module = execute(generate(spec))
    y, group, v = np.array([1.0, 2.0, 4.0]), np.array([0, 2, 2]), np.arange(4.0)
    u = np.array([1 / 2, 0, 6 / 3, 0])
    np.testing.assert_allclose(module.u_solve(y, group, g=4), u, atol=1e-12)
    w = module.w_solve(y, group, g=4, u=module.u_solve(y, group, g=4))
    np.testing.assert_allclose(w + w**3, u, atol=1e-12)
    assert module.f(y, group, v, g=4) == pytest.approx(w @ v)
    assert module.h(y, group, g=4) == pytest.approx(w.sum())
    p = module.FProblem(group=group, v=v, g=4)
    slope = v[group] / (1 + 3 * w[group] ** 2) / np.array([2, 3, 3])
    np.testing.assert_allclose(p.gradient(p.pack(y=y)), slope, 1e-10)
    with pytest.raises(ValueError, match="g = 4 was set by v"):
        module.f(y, group, v, g=5)
