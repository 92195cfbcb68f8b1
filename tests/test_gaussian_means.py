"""Means of polynomials of normal variables.

Against Gauss-Hermite quadrature, which is exact for polynomials, and closed forms.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest

import tensorgen
from tests.lang.speak import faults, numbers, value

Array = Any

N = numbers()
POINTS, WEIGHTS = np.polynomial.hermite_e.hermegauss(5)
WEIGHTS = WEIGHTS / WEIGHTS.sum()


def mean(f: Callable[[Array], Array], x: Array, covariance: Array) -> Array:
    """Return the mean of a polynomial of degree 9 or less, by quadrature."""
    x, size = np.asarray(x), np.size(x)
    if np.shape(covariance) == x.shape:
        covariance = np.diag(np.ravel(covariance))
    root = np.linalg.cholesky(np.reshape(covariance, (size, size)))
    total: Array = 0.0
    for at in product(range(len(POINTS)), repeat=size):
        moved = x + (root @ POINTS[[*at]]).reshape(x.shape)
        total = total + np.prod(WEIGHTS[[*at]]) * np.asarray(f(moved))
    return total


def at(name: str, f: Callable[..., Array]) -> Callable[[Array], Array]:
    """Return a function of all inputs as one of one of them."""
    return lambda x: f(**{**N, name: x})


def four(v: Array) -> Array:
    """Return a product of four matrices of the entries."""
    M = v.reshape(2, 2)
    return M @ M.T @ M @ M.T


S = "(A @ A.T)"  # of four entries, as v
COVARIANCE = N["A"] @ N["A"].T
Case = tuple[str, Callable[..., Array]]
POLYNOMIALS: list[Case] = [
    ("3 * c", lambda c, **_: 3 * c),
    ("v @ w + c", lambda v, w, c, **_: v @ w + c),
    ("v @ B[0] @ v", lambda v, B, **_: v @ B[0] @ v),
    (
        "(v @ B[0] @ v) * (v @ B[1] @ v)",
        lambda v, B, **_: (v @ B[0] @ v) * (v @ B[1] @ v),
    ),
    ("norm(X @ v - u)**4 / 3", lambda X, v, u, **_: ((X @ v - u) ** 2).sum() ** 2 / 3),
    ("(v @ w)**5", lambda v, w, **_: (v @ w) ** 5),
    ("outer(v, v) @ v", lambda v, **_: np.outer(v, v) @ v),
    ("reshape(v, (2, 2)) @ [1, c]", lambda v, c, **_: v.reshape(2, 2) @ [1, c]),
    ("cumsum(v)**2 * v[::-1]", lambda v, **_: np.cumsum(v) ** 2 * v[::-1]),
    ("where(w > 0, v**2, v**3)", lambda v, w, **_: np.where(w > 0, v**2, v**3)),
    ("v[tri] * v[0]", lambda v, tri, **_: v[tri] * v[0]),
    (
        "diff(v)**3 / (1 + w[1:]**2)",
        lambda v, w, **_: np.diff(v) ** 3 / (1 + w[1:] ** 2),
    ),
    ("(v @ v) * v * (v @ w)", lambda v, w, **_: (v @ v) * v * (v @ w)),
    (
        "(v @ v + c) * (v @ A @ v) * (w @ v)**2",
        lambda v, A, w, c, **_: (v @ v + c) * (v @ A @ v) * (w @ v) ** 2,
    ),
    (
        "sum(A[i, j] * v[i]**2 * (X[p, j] * v[j] + v[j]**3), i, j)",
        lambda v, A, X, **_: (X * v + v**3) @ (A.T @ v**2),
    ),
    (
        "einsum('i,j,k,ij,jk->', v**2, v, v**2, A, B[0])",
        lambda v, A, B, **_: np.einsum("i,j,k,ij,jk", v**2, v, v**2, A, B[0]),
    ),
    ("trace(square(v))", lambda v, **_: np.trace(four(v))),
    ("(2 * v**2 - w)**3 * v", lambda v, w, **_: (2 * v**2 - w) ** 3 * v),
    ("solve(A, v) * v", lambda A, v, **_: np.linalg.solve(A, v) * v),
    ("exp(w) * (v - w)**6", lambda v, w, **_: np.exp(w) * (v - w) ** 6),
]


@pytest.mark.parametrize(("text", "f"), POLYNOMIALS, ids=[x for x, _ in POLYNOMIALS])
def test_a_mean_is_that_of_quadrature(text: str, f: Callable[..., Array]) -> None:
    left = "f[p]" if "[p" in text else "f"
    squares = "reshape(v, (2, 2)) @ reshape(v, (2, 2)).T"
    text = text.replace("square(v)", f"{squares} @ {squares}")
    expected = mean(at("v", f), N["v"], COVARIANCE)
    found = value(f"gaussian_mean({text}, v, {S})", left)
    np.testing.assert_allclose(found, expected, 1e-9)
    alone = mean(at("v", f), N["v"], N["w"] ** 2)
    found = value(f"gaussian_mean({text}, v, w**2)", left)
    np.testing.assert_allclose(found, alone, 1e-9)


def test_of_a_number() -> None:
    found = value("gaussian_mean(c**8 + 2*c**3, c, u[0]**2)")
    expected = mean(lambda c: c**8 + 2 * c**3, N["c"], N["u"][0] ** 2)
    np.testing.assert_allclose(found, expected)


def test_of_a_name_by_steps_and_with_indices() -> None:
    where = "h = v / 2\nz = h**2"
    found = value(f"gaussian_mean(sum(z * w), h, {S})", where=where)
    expected = mean(lambda h: (h**2 * N["w"]).sum(), N["v"] / 2, COVARIANCE)
    np.testing.assert_allclose(found, expected)
    steps = "x[0] = v[0]\nx[t + 1] = x[t] / 2 + v[t + 1]"
    found = value(f"gaussian_mean(sum(x**2), v, {S})", where=steps)

    def filtered(v: Array) -> Array:
        x = [v[0]]
        for one in v[1:]:
            x.append(x[-1] / 2 + one)
        return np.square(x).sum()

    np.testing.assert_allclose(found, mean(filtered, N["v"], COVARIANCE))
    found = value(f"gaussian_mean(sum(X[i, j] * v[j]**2, j), v, {S})", "f[i]")
    expected = mean(lambda v: N["X"] @ v**2, N["v"], COVARIANCE)
    np.testing.assert_allclose(found, expected)


def test_one_within_another_is_over_two_variables() -> None:
    found = value(f"gaussian_mean(gaussian_mean((v @ A @ w)**2, w, w**2), v, {S})")

    def outer(v: Array) -> Array:
        along = v @ N["A"]
        return (along @ N["w"]) ** 2 + along**2 @ N["w"] ** 2

    np.testing.assert_allclose(found, mean(outer, N["v"], COVARIANCE))


def test_a_covariance_may_depend_on_the_variable() -> None:
    found = value("gaussian_mean(v**4, v, v**2)")
    np.testing.assert_allclose(found, 10 * N["v"] ** 4)  # v (1 + z), E (1 + z)**4 = 10


def test_of_a_variance_nothing_cancels() -> None:
    where = "mid = gaussian_mean(1e9 + v @ A @ v, v, w**2)\nx = v"
    text = "gaussian_mean((1e9 + x @ A @ x - mid)**2, x, w**2)"
    even, v = N["A"] + N["A"].T, N["v"]
    squares = np.diag(N["w"] ** 2)
    expected = np.trace(even @ squares @ even @ squares) / 2
    expected += v @ even @ squares @ even @ v
    np.testing.assert_allclose(value(text, where=where), expected, 1e-12)


def test_definitions_are_looked_into() -> None:
    macros = "p(a, b) = (a @ A @ b)**2 + a @ b"
    text = f"gaussian_mean(p(v, v) + p(v, w) * p(w, v), v, {S}) + p(w, w)"
    A, w = N["A"], N["w"]

    def p(a: Array, b: Array) -> Array:
        return (a @ A @ b) ** 2 + a @ b

    expected = mean(lambda v: p(v, v) + p(v, w) * p(w, v), N["v"], COVARIANCE)
    np.testing.assert_allclose(value(text, macros=macros), expected + p(w, w))


MODULE = """\
tensorgen: 1
inputs:
  mu: [n]
  S: {shape: [n, n], spd: true}
  A: [n, n]
  B: [n, n]
  X: [n, m]
  C: [n, m, n, m]
definitions:
  form(A): mu @ A @ mu
functions:
  first: {expr: "gaussian_mean(form(A), mu, S)", wrt: [mu, S], emit: [value, gradient]}
  variance:
    where: |
      x = mu
    expr: gaussian_mean((x @ A @ x - first)**2, x, S)
  second:
    expr: gaussian_mean(form(A) * form(B), mu, S)
    wrt: [mu, S]
    emit: [value, gradient, hessian]
  fourth[i, j, k, l]: gaussian_mean(mu[i]*mu[j]*mu[k]*mu[l], mu, S)
  gram: {expr: "gaussian_mean(X.T @ A @ X, X, C)", wrt: X, emit: [value, jacobian]}
"""


def test_closed_forms_and_their_derivatives() -> None:
    module = tensorgen.load(MODULE)
    rng = np.random.default_rng(0)
    n, m, close = 5, 3, np.testing.assert_allclose
    mu, A, B = rng.normal(size=n), rng.normal(size=(n, n)), rng.normal(size=(n, n))
    S = np.cov(rng.normal(size=(n, 9)))
    close(module.first(mu, S, A), mu @ A @ mu + np.trace(A @ S))
    slopes = module.first_grad(mu, S, A)
    close(slopes.mu, (A + A.T) @ mu)
    close(slopes.S, (A + A.T) / 2)  # entries of S are independent
    E, F = A + A.T, B + B.T
    spread = np.trace(E @ S @ E @ S) / 2 + mu @ E @ S @ E @ mu
    close(module.variance(mu, S, A), spread)
    a, b = mu @ A @ mu + np.trace(A @ S), mu @ B @ mu + np.trace(B @ S)
    traced = np.trace(E @ S @ F @ S) / 2
    close(module.second(mu, S, A, B), a * b + traced + mu @ E @ S @ F @ mu)
    slopes = module.second_grad(mu, S, A, B)
    close(slopes.mu, b * E @ mu + a * F @ mu + (E @ S @ F + F @ S @ E) @ mu)
    vectors = np.outer(E @ mu, F @ mu)
    by_S = (a * F + b * E + E @ S @ F + F @ S @ E + vectors + vectors.T) / 2
    close((slopes.S + slopes.S.T) / 2, by_S)
    twice = module.second_hess(mu, S, A, B).blocks["mu", "mu"].dense()
    cross = np.outer(E @ mu, F @ mu)
    close(twice, b * E + a * F + E @ S @ F + F @ S @ E + cross + cross.T)
    # Isserlis: about zero, the sum over the three pairings.
    pairs = np.einsum("ij,kl->ijkl", S, S)
    three = pairs + pairs.transpose(0, 2, 1, 3) + pairs.transpose(0, 3, 2, 1)
    close(module.fourth(0 * mu, S), three, atol=1e-12)
    X, R = rng.normal(size=(n, m)), rng.normal(size=(n * m, n * m))
    C = (R @ R.T).reshape(n, m, n, m)
    close(module.gram(A, X, C), X.T @ A @ X + np.einsum("ik,ijkl->jl", A, C))


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("gaussian_mean(v, v)", "this is not how 'gaussian_mean'", "(f, x, S)"),
        ("gaussian_mean(exp(v), v, A)", "no polynomial in v: it takes 'exp'", "points"),
        ("gaussian_mean(1 / v, v, A)", "a power that is not whole", "sums, products"),
        ("gaussian_mean(v**c, v, A)", "a power that is not whole", ""),
        ("gaussian_mean(v**(1/2), v, A)", "it takes 'sqrt' of it", ""),
        ("gaussian_mean(abs(v), v, A)", "it takes 'abs' of it", ""),
        ("gaussian_mean(floor(v), v, A)", "it takes 'floor' of it", ""),
        ("gaussian_mean(sort(v), v, A)", "it takes 'argsort' of it", ""),
        ("gaussian_mean(where(v > 0, v, w), v, A)", "it takes ", ""),
        ("gaussian_mean(inv(A), A, A**2)", "it takes 'inv' of it", ""),
        ("gaussian_mean(stop_gradient(v), v, A)", "it takes 'stop_gradient'", ""),
        ("gaussian_mean(c**17, c, 1)", "has degree 17 in c", "up to degree 16"),
        ("gaussian_mean(v, v, X)", "the covariance X must have shape (n, n), or", ""),
        ("gaussian_mean(v, v, c)", "must have shape (n, n), or (n,)", "variances"),
        ("gaussian_mean(v, v + w, A)", "'v + w' is not an input to", ""),
        ("sum(gaussian_mean(v, v, B[s, :, :]), s)", "over one variable", "variances"),
        ("expectation(v, v, A)", "unknown function 'expectation'", "gaussian_mean(f"),
    ],
)
def test_what_has_no_mean_is_a_fault(text: str, message: str, hint: str) -> None:
    found = faults(text)[0]
    assert message in found.message and hint in str(found.hint or "")
