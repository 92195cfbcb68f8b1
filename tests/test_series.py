"""Recurrences against statsmodels' filters, JAX's scans and closed forms."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from statsmodels.tsa.statespace.kalman_filter import (
    INVERT_UNIVARIATE,
    SOLVE_LU,
    KalmanFilter,
)
from statsmodels.tsa.statespace.sarimax import SARIMAX
from statsmodels.tsa.statespace.structural import UnobservedComponents

import tensorgen
from tests.device.library import execute

Array = Any
GOLDEN = Path(__file__).resolve().parent / "golden"

# Negative log-likelihoods. `exact` is the recursion of innovations of an ARMA model and
# `filtered` the same model as Harvey's states; the first states of `level` and `trend`
# are as good as unknown, and what they predict is left out.
SERIES = """
tensorgen: 1
dims: {T: 80}
inputs: {y: [T], arma: [3], levels: [2], trends: [3]}
functions:
  exact:
    where: |
      phi = arma[0]
      theta = arma[1]
      s = arma[2]
      v[0] = (1 + 2*phi*theta + theta**2)/(1 - phi**2)
      p[0] = 0
      v[t + 1] = 1 + theta**2 - theta**2/v[t]
      p[t + 1] = phi*y[t] + theta/v[t]*(y[t] - p[t])
    expr: sum(log(2*pi*s*v[:T]) + (y - p[:T])**2/(s*v[:T]))/2
    wrt: arma
    emit: [value, gradient, hvp]
  filtered:
    where: |
      phi = arma[0]
      g = [1, arma[1]]
      A = [[phi, 1], [0, 0]]
      start = dot(g, g) + 2*phi*arma[1]
      m[0] = zeros(2)
      P[0] = arma[2]*[[start/(1 - phi**2), arma[1]], [arma[1], arma[1]**2]]
      F[t] = P[t, 0, 0]
      r[t] = y[t] - m[t, 0]
      m[t + 1] = A @ (m[t] + P[t, 0]*r[t]/F[t])
      P[t + 1] = A @ (P[t] - outer(P[t, 0], P[t, 0])/F[t]) @ A.T + arma[2]*outer(g, g)
      l[t] = log(2*pi*F[t]) + r[t]**2/F[t]
    expr: sum(l)/2
    wrt: arma
    emit: [value, gradient]
  level:
    where: |
      m[0] = 0
      P[0] = 1e6
      F[t] = P[t] + levels[0]
      r[t] = y[t] - m[t]
      m[t + 1] = m[t] + P[t]*r[t]/F[t]
      P[t + 1] = P[t]*levels[0]/F[t] + levels[1]
      l[t] = log(2*pi*F[t]) + r[t]**2/F[t]
    expr: sum(l[1:])/2
    wrt: levels
    emit: [value, gradient, hvp]
  trend:
    where: |
      A = [[1, 1], [0, 1]]
      m[0] = zeros(2)
      P[0] = 1e6*eye(2)
      F[t] = P[t, 0, 0] + trends[0]
      r[t] = y[t] - m[t, 0]
      m[t + 1] = A @ (m[t] + P[t, 0]*r[t]/F[t])
      P[t + 1] = A @ (P[t] - outer(P[t, 0], P[t, 0])/F[t]) @ A.T + diag(trends[1:])
      l[t] = log(2*pi*F[t]) + r[t]**2/F[t]
    expr: sum(l[2:])/2
    wrt: trends
    emit: [value, gradient]
"""

# Networks and a chain beside `scan`, and what has a closed form.
SCANS = """
tensorgen: 1
dims: {n: 4, k: 3, T: 12, K: 5, D: 4}
inputs:
  A: [n, n]
  B: [n, k]
  x: [T, k]
  W: [4, D, k]
  U: [4, D, D]
  b: [4, D]
  L: [K, K]
  E: [T, K]
functions:
  rnn:
    where: |
      h[0] = zeros(n)
      h[t + 1] = tanh(A @ h[t] + B @ x[t])
    expr: sum(h**2)
    wrt: [A, B, x]
    emit: [value, gradient, hvp]
  lstm:
    where: |
      h[0] = zeros(D)
      c[0] = zeros(D)
      i[t] = sigmoid(W[0] @ x[t] + U[0] @ h[t] + b[0])
      f[t] = sigmoid(W[1] @ x[t] + U[1] @ h[t] + b[1])
      o[t] = sigmoid(W[2] @ x[t] + U[2] @ h[t] + b[2])
      g[t] = tanh(W[3] @ x[t] + U[3] @ h[t] + b[3])
      c[t + 1] = f[t]*c[t] + i[t]*g[t]
      h[t + 1] = o[t]*tanh(c[t + 1])
    expr: sum(h[T]**3)
    wrt: [W, U, b]
    emit: [value, gradient]
  hmm:
    where: |
      s[0] = E[0]
      s[t + 1, j] = E[t + 1, j] + logsumexp(s[t, i] + L[i, j], i)
    expr: logsumexp(s[T - 1])
    wrt: [L, E]
    emit: [value, gradient, hvp]
"""

CLOSED = """
tensorgen: 1
dims: {n: 4, T: 9}
inputs: {q: scalar, A: [n, n], a: scalar, y: [T]}
functions:
  geometric:
    where: |
      s[0] = 1
      s[t=range(1, 31)] = q*s[t - 1] + 1
    expr: s[30]
    wrt: q
    emit: [value, gradient, hvp]
  power:
    where: |
      X[0] = eye(n)
      X[t=range(1, 8)] = A @ X[t - 1]
    expr: trace(X[7])
    wrt: A
    emit: [value, gradient, hvp]
  chebyshev:
    where: |
      p[0] = 1
      p[1] = q
      p[t=range(2, 13)] = 2*q*p[t - 1] - p[t - 2]
    expr: p[12]
    wrt: q
    emit: [value, gradient, hvp]
  heron:
    where: |
      x[0] = 1
      x[t=range(1, 9)] = (x[t - 1] + a/x[t - 1])/2
    expr: x[8]
    wrt: a
    emit: [value, gradient, hvp]
  horner:
    where: |
      v[T] = 0
      v[t - 1] = y[t - 1] + q*v[t]
    expr: v[0]
    wrt: [q, y]
    emit: [value, gradient]
"""


@cache
def made(text: str) -> ModuleType:
    """A module, made once."""
    return execute(tensorgen.generate(text))


def walk() -> Array:
    """A level that moves, seen through noise."""
    rng = np.random.default_rng(3)
    return np.cumsum(rng.normal(size=80)) + rng.normal(size=80)


MODELS: dict[str, tuple[Callable[[Array], Any], list[float]]] = {
    "exact": (lambda y: SARIMAX(y, order=(1, 0, 1)), [0.6, 0.3, 1.4]),
    "filtered": (lambda y: SARIMAX(y, order=(1, 0, 1)), [0.9, -0.5, 0.8]),
    "level": (lambda y: UnobservedComponents(y, "llevel"), [1.2, 0.7]),
    "trend": (lambda y: UnobservedComponents(y, "lltrend"), [1.2, 0.7, 0.1]),
}


@pytest.mark.parametrize("name", MODELS)
def test_likelihoods_and_scores_are_those_of_statsmodels(name: str) -> None:
    start, given = MODELS[name]
    y, at = walk(), np.array(given)
    model = start(y)
    model.tolerance = 0  # the filter goes on where variances settle
    value, slope = getattr(made(SERIES), f"{name}_value_and_grad")(y, at)
    assert value == pytest.approx(-model.loglike(at), rel=1e-10)
    want = -model.score(at, approx_complex_step=True, transformed=True)
    np.testing.assert_allclose(slope, want, 1e-8, 1e-8)


@pytest.mark.parametrize("name", ["exact", "level"])
def test_curvatures_are_slopes_of_the_scores_of_statsmodels(name: str) -> None:
    start, given = MODELS[name]
    y, at = walk(), np.array(given)
    model = start(y)
    model.tolerance = 0  # the filter goes on where variances settle
    for step in 1e-5 * np.eye(len(at)):
        ahead, behind = (model.score(at + s * step) for s in (1, -1))
        found = getattr(made(SERIES), f"{name}_hvp")(y, at, step)
        np.testing.assert_allclose(found, (behind - ahead) / 2, 1e-5, 1e-9)


def system() -> dict[str, Array]:
    """A system of three states, of which two mixtures are seen."""
    rng = np.random.default_rng(4)
    half = rng.normal(size=(3, 3))
    return {
        "A": 0.4 * rng.normal(size=(3, 3)),
        "H": rng.normal(size=(2, 3)),
        "Q": 0.3 * np.eye(3) + 0.1 * half @ half.T,
        "R": np.array([[1.0, 0.3], [0.3, 0.8]]),
        "m0": rng.normal(size=3),
        "P0": np.eye(3) + half @ half.T,
        "y": rng.normal(size=(30, 2)),
    }


def loglike(given: dict[str, Array]) -> Array:
    """The log-likelihood by the filter of statsmodels, of complex matrices too."""
    A = given["A"]
    model = KalmanFilter(k_endog=2, k_states=3, k_posdef=3, dtype=A.dtype)
    # No end of the filter where covariances settle, and no Hermitian factors.
    model.tolerance = 0
    model.inversion_method = INVERT_UNIVARIATE | SOLVE_LU
    model.bind(given["y"].real.copy())
    model["design"], model["transition"], model["selection"] = given["H"], A, np.eye(3)
    model["obs_cov"], model["state_cov"] = given["R"], given["Q"]
    model.initialize_known(given["m0"], given["P0"])
    return model.loglike()


def test_a_system_of_several_series_has_the_score_of_statsmodels() -> None:
    module = execute((GOLDEN / "kalman_numpy.py").read_text(encoding="utf-8"))
    given = system()
    value, slopes = module.loss_value_and_grad(**given)
    constant = given["y"].size * np.log(2 * np.pi) / 2
    assert value + constant == pytest.approx(-loglike(given), rel=1e-12)
    for name in ("A", "Q", "R"):
        want = np.zeros(given[name].shape)
        for at in np.ndindex(want.shape):
            # Covariances stay symmetric.
            step = np.zeros(want.shape, complex)
            step[at] += 1e-20j
            step = step if name == "A" else (step + step.T) / 2
            moved = {x: np.asarray(v, complex) for x, v in given.items()}
            moved[name] += step
            want[at] = -loglike(moved).imag / 1e-20
        found = getattr(slopes, name)
        found = found if name == "A" else (found + found.T) / 2
        np.testing.assert_allclose(found, want, 1e-9, 1e-10)


def rnn(A: Array, B: Array, x: Array) -> Array:
    def step(h: Array, row: Array) -> tuple[Array, Array]:
        h = jnp.tanh(A @ h + B @ row)
        return h, jnp.sum(h**2)

    return jnp.sum(jax.lax.scan(step, jnp.zeros(len(A)), x)[1])


def lstm(W: Array, U: Array, b: Array, x: Array) -> Array:
    def step(state: Array, row: Array) -> tuple[Array, None]:
        h, c = state
        i, f, o, g = W @ row + U @ h + b
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        return (jax.nn.sigmoid(o) * jnp.tanh(c), c), None

    zero = jnp.zeros(b.shape[1])
    return jnp.sum(jax.lax.scan(step, (zero, zero), x)[0][0] ** 3)


def hmm(L: Array, E: Array) -> Array:
    def step(s: Array, row: Array) -> tuple[Array, None]:
        return row + jax.nn.logsumexp(s[:, None] + L, axis=0), None

    return jax.nn.logsumexp(jax.lax.scan(step, E[0], E[1:])[0])


SCANNED: dict[str, tuple[Callable[..., Array], dict[str, tuple[int, ...]], int]] = {
    "rnn": (rnn, {"A": (4, 4), "B": (4, 3), "x": (12, 3)}, 3),
    "lstm": (lstm, {"W": (4, 4, 3), "U": (4, 4, 4), "b": (4, 4), "x": (12, 3)}, 3),
    "hmm": (hmm, {"L": (5, 5), "E": (12, 5)}, 2),
}


@pytest.mark.parametrize("name", SCANNED)
def test_values_and_derivatives_are_those_of_scans(name: str) -> None:
    scan, shapes, count = SCANNED[name]
    rng = np.random.default_rng(5)
    given = {x: rng.normal(size=shape) for x, shape in shapes.items()}
    along = [rng.normal(size=shape) for shape in [*shapes.values()][:count]]
    value, slopes = getattr(made(SCANS), f"{name}_value_and_grad")(**given)
    directions = {f"d{x}": d for x, d in zip(given, along, strict=False)}
    hvp = getattr(made(SCANS), f"{name}_hvp", None)

    def judge(arrays: list[Array]) -> Array:
        def first(*at: Array) -> Array:
            return jax.value_and_grad(scan, tuple(range(count)))(*at, *arrays[count:])

        at = tuple(arrays[:count])
        return (*first(*at), jax.jvp(first, at, tuple(along))[1][1] if hvp else None)

    with jax.enable_x64(True):
        compiled = jax.jit(judge)
        want, gradient, turned = compiled([jnp.asarray(x) for x in given.values()])
    assert value == pytest.approx(float(want), rel=1e-12)
    pairs = [*zip(slopes, gradient, strict=True)]
    if hvp:
        pairs += zip(hvp(**given, **directions), turned, strict=True)
    for found, expected in pairs:
        np.testing.assert_allclose(found, expected, 1e-10, 1e-12)


def upto_second(name: str, q: float) -> list[float]:
    """A value and the first two derivatives by a number."""
    value, slope = getattr(made(CLOSED), f"{name}_value_and_grad")(q)
    return [value, slope, getattr(made(CLOSED), f"{name}_hvp")(q, 1.0)]


def test_geometric_sums_and_derivatives_have_their_closed_forms() -> None:
    q = 1.1
    t: Array = np.arange(31)
    want = [(q**31 - 1) / (q - 1), t @ q ** (t - 1), t * (t - 1) @ q ** (t - 2)]
    np.testing.assert_allclose(upto_second("geometric", q), want, 1e-13)


def test_the_trace_of_a_power_has_its_closed_derivatives() -> None:
    rng = np.random.default_rng(6)
    A, D = rng.normal(size=(4, 4)), rng.normal(size=(4, 4))
    powers = [np.linalg.matrix_power(A, k) for k in range(8)]
    value, slope = made(CLOSED).power_value_and_grad(A)
    assert value == pytest.approx(np.sum(np.linalg.eigvals(A) ** 7).real, rel=1e-11)
    np.testing.assert_allclose(slope, 7 * powers[6].T, 1e-11, 1e-11)
    turned = 7 * sum(powers[k] @ D @ powers[5 - k] for k in range(6)).T
    np.testing.assert_allclose(made(CLOSED).power_hvp(A, D), turned, 1e-10, 1e-10)


def test_polynomials_of_chebyshev_have_their_closed_derivatives() -> None:
    angle = 0.7
    q = np.cos(angle)
    value, slope = np.cos(12 * angle), 12 * np.sin(12 * angle) / np.sin(angle)
    # (1 - q^2) T'' = q T' - n^2 T
    curvature = (q * slope - 144 * value) / (1 - q**2)
    found = upto_second("chebyshev", q)
    np.testing.assert_allclose(found, [value, slope, curvature], 1e-11)


def test_steps_of_heron_end_in_the_root_and_its_derivatives() -> None:
    a = 2.3
    want = [a**0.5, a**-0.5 / 2, -(a**-1.5) / 4]
    np.testing.assert_allclose(upto_second("heron", a), want, 1e-13)


def test_the_scheme_of_horner_has_the_derivatives_of_the_polynomial() -> None:
    y, q = np.random.default_rng(7).normal(size=9), 1.3
    polynomial = np.polynomial.Polynomial(y)
    value, slopes = made(CLOSED).horner_value_and_grad(q=q, y=y)
    assert value == pytest.approx(polynomial(q), rel=1e-13)
    assert slopes.q == pytest.approx(polynomial.deriv()(q), rel=1e-12)
    np.testing.assert_allclose(slopes.y, q ** np.arange(9), 1e-13)
