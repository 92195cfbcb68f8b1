"""Sums with low rank whose base is nearly singular: right, or refused, never wrong.

In factor analysis a specific variance that tends to zero is a Heywood case. The
covariance stays well conditioned; its inverse by parts is a difference of two matrices
that grow without bound.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import mpmath
import numpy as np
import pytest

from tensorgen.operators.matrices.capacitance import LARGEST_DENSE
from tests.made import load

SPEC = """
tensorgen: 1
module: cancelling
dims: {p: 50, k: 5, n: 1000}
inputs:
  L: [p, k]
  log_psi: [p]
  C: {shape: [k, k], spd: true}
  S: {shape: [p, p], symmetric: true}
  Z: [n, k]
  d: [n]
  e: [n]
  s2: {shape: [], positive: true}
  y: [n]
functions:
  nll:
    where: Sigma = L @ L.T + diag(exp(log_psi))
    expr: (logdet(Sigma) + trace(inv(Sigma) @ S)) / 2
    wrt: [L, log_psi]
    emit: [value, gradient, hvp, problem]
  curved:
    where: Sigma = L @ L.T + diag(exp(log_psi))
    expr: (logdet(Sigma) + trace(inv(Sigma) @ S)) / 2
    wrt: log_psi
    emit: [hessian]
  solved:
    where: Sigma = L @ L.T + diag(exp(log_psi))
    expr: solve(Sigma, S[:, 0])
    wrt: log_psi
    emit: [jacobian, jvp]
  several:
    where: Sigma = L @ L.T + diag(exp(log_psi))
    expr: {one: logdet(Sigma), other: trace(inv(Sigma) @ S)}
    wrt: [L, log_psi]
    emit: [value, gradient]
  cored:
    where: Sigma = L @ C @ L.T + diag(exp(log_psi))
    expr: (logdet(Sigma) + trace(inv(Sigma) @ S)) / 2
    wrt: [L, log_psi]
    emit: [value, gradient]
  banded:
    where: B = spd(diag(d) + diag(e[1:], -1) + diag(e[1:], 1)) + Z @ Z.T
    expr: y @ solve(B, y) + logdet(B)
    wrt: Z
    emit: [value, gradient]
  ridge:
    where: B = s2*eye(n) + Z @ Z.T
    expr: y @ solve(B, y) + logdet(B)
    wrt: [Z, s2]
    emit: [value, gradient]
"""

HALF = 2e-8
"""What is left of the digits of a number where the parts are about to be refused."""

SMALL = 10.0 ** -np.arange(15)
RNG = np.random.default_rng(5)
P, K = 9, 2
LOADINGS = RNG.standard_normal((P, K))
COVARIANCE = np.cov(RNG.standard_normal((P, 40)))
CORE = np.array([[2.0, 0.5], [0.5, 1.0]])


@pytest.fixture(scope="module")
def module() -> ModuleType:
    return load(SPEC)


def truth(L: Any, log_psi: Any, core: Any) -> list[Any]:
    """Value and gradient in sixty digits, by the dense matrix."""
    with mpmath.workdps(60):
        inner, outer = mpmath.matrix(core.tolist()), mpmath.matrix(L.tolist())
        psi = [mpmath.exp(float(x)) for x in log_psi]
        sigma = outer * inner * outer.T + mpmath.diag(psi)
        inverse = sigma**-1
        solved = inverse * mpmath.matrix(COVARIANCE.tolist())
        slope = inverse - solved * inverse
        trace = sum(solved[i, i] for i in range(P))
        value = (mpmath.log(mpmath.det(sigma)) + trace) / 2
        by_psi = [psi[i] * slope[i, i] / 2 for i in range(P)]
        by_L = slope * outer * inner
        return [
            float(value),
            np.array(by_L.tolist(), dtype=float),
            np.array(by_psi, dtype=float),
        ]


def far(found: Any, exact: Any) -> float:
    return float(np.abs(found - exact).max() / np.abs(exact).max())


def refused(function: Callable[..., Any], *given: Any) -> Any:
    """What a call returns; None where it says that digits would cancel."""
    try:
        return function(*given)
    except np.linalg.LinAlgError as error:
        assert "without its part of low rank" in str(error)
        return None


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("name", ["nll", "cored"])
@pytest.mark.parametrize("small", SMALL)
def test_a_heywood_case_is_right(
    module: ModuleType, name: str, count: int, small: float
) -> None:
    log_psi = np.zeros(P)
    log_psi[:count] = np.log(small)
    own = [COVARIANCE] if name == "nll" else [CORE, COVARIANCE]
    exact = truth(LOADINGS, log_psi, np.eye(K) if name == "nll" else CORE)
    given = LOADINGS, log_psi, *own
    value, gradient = getattr(module, f"{name}_value_and_grad")(*given)
    alone = getattr(module, name)(*given), *getattr(module, f"{name}_grad")(*given)
    digits = HALF if small > 1e-6 else 1e-10  # the dense matrix has them nearly all
    for found in ((value, *gradient), alone):
        for one, other in zip(found, exact, strict=True):
            assert far(one, other) < digits


def test_products_with_the_hessian_are_right(module: ModuleType) -> None:
    log_psi, step = np.zeros(P), 1e-5
    log_psi[0] = -20
    along = RNG.standard_normal((P, K)), RNG.standard_normal(P)
    found = module.nll_hvp(LOADINGS, log_psi, COVARIANCE, *along)
    ahead, behind = (
        truth(LOADINGS + s * along[0], log_psi + s * along[1], np.eye(K))[1:]
        for s in (step, -step)
    )
    for one, more, less in zip(found, ahead, behind, strict=True):
        assert far(one, (more - less) / (2 * step)) < 1e-6


def test_all_kinds_of_derivatives_are_right(module: ModuleType) -> None:
    log_psi, step = np.zeros(P), 1e-5
    log_psi[0] = -20
    given = LOADINGS, log_psi, COVARIANCE
    hessian, jacobian = module.curved_hess(*given), module.solved_jac(*given)
    turn = np.eye(P)[1]
    found = module.nll_hvp(*given, np.zeros((P, K)), turn).log_psi
    np.testing.assert_allclose(hessian @ turn, found, rtol=1e-9, atol=1e-12)
    moved = module.solved_jvp(*given, turn)[1]
    np.testing.assert_allclose(jacobian @ turn, moved, rtol=1e-9, atol=1e-12)
    sigma = LOADINGS @ LOADINGS.T + np.diag(np.exp(log_psi))
    ahead, behind = (
        np.linalg.solve(sigma + np.diag(s * turn), COVARIANCE[:, 0])
        for s in (step, -step)
    )
    assert far(moved, (ahead - behind) / (2 * step)) < 1e-6
    value, gradient = module.several_value_and_grad(*given)
    exact = truth(LOADINGS, log_psi, np.eye(K))
    assert far((value.one + value.other) / 2, exact[0]) < 1e-10
    by_L = (gradient.one.L + gradient.other.L) / 2
    assert far(by_L, exact[1]) < 1e-10


def test_classes_and_large_matrices_refuse(module: ModuleType) -> None:
    log_psi = np.zeros(P)
    log_psi[0] = -20
    problem = module.NllProblem(S=COVARIANCE)
    point = np.concatenate([LOADINGS.ravel(), log_psi])
    assert refused(problem.value, point) is None
    assert refused(problem.value_and_gradient, point) is None
    Z, s2 = np.zeros((LARGEST_DENSE + 1, K)), 1e-9
    Z[0, 0] = Z[1, 1] = 1
    assert refused(module.ridge, Z, s2, np.ones(len(Z))) is None


def test_single_precision_turns_to_the_dense_matrix_earlier(
    module: ModuleType,
) -> None:
    given = [x.astype(np.float32) for x in (LOADINGS, np.zeros(P), COVARIANCE)]
    for small in SMALL[:8]:
        given[1][0] = np.log(small)
        exact = truth(given[0], given[1], np.eye(K))
        value, gradient = module.nll_value_and_grad(*given)
        assert value.dtype == np.float32
        for one, other in zip((value, *gradient), exact, strict=True):
            assert far(one, other) < 1e-2


@pytest.mark.parametrize("small", SMALL)
def test_a_band_that_is_nearly_singular_is_right(
    module: ModuleType, small: float
) -> None:
    pytest.importorskip("scipy")
    n = 30
    e = -np.ones(n)
    d = 4 * np.sin(np.pi / (2 * n + 2)) ** 2  # the smallest eigenvalue of the chain
    d = np.full(n, 2 - d + small)
    Z, y = RNG.standard_normal((2, n, K))
    B = np.diag(d) + np.diag(e[1:], 1) + np.diag(e[1:], -1) + Z @ Z.T
    exact = y[:, 0] @ np.linalg.solve(B, y[:, 0]) + np.linalg.slogdet(B)[1]
    assert far(module.banded(Z, d, e, y[:, 0]), exact) < HALF


@pytest.mark.parametrize("small", SMALL)
def test_what_is_as_ill_conditioned_as_its_base_is_no_worse_by_parts(
    module: ModuleType, small: float
) -> None:
    n = 20
    Z, y = RNG.standard_normal((n, K)), RNG.standard_normal(n)
    orthogonal, singular, _ = np.linalg.svd(Z)
    values = np.r_[singular**2 + small, np.full(n - K, small)]
    exact = np.sum((orthogonal.T @ y) ** 2 / values) + np.log(values).sum()
    assert far(module.ridge(Z, small, y), exact) < 1e-14 / small
