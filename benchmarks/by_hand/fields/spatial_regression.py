"""Statistics: a regression whose errors follow from neighbours (Ord 1975)."""

import numpy as np
from numpy.random import Generator

from by_hand.fields.pair import Array, Data, Operation, Pair, dense_times

SPEC = """
tensorgen: 1
module: spatial_regression
doc: Simultaneous autoregression on a map, by maximum likelihood (Ord 1975).
dims: {n: 400, k: 5}
inputs:
  b: {shape: [k], doc: coefficients}
  rho: {shape: scalar, doc: strength of the neighbours}
  tau: {shape: scalar, doc: logarithm of the variance}
  X: {shape: [n, k], doc: covariates}
  W: {shape: [n, n], doc: weights of neighbours, rows sum to 1}
  y: {shape: [n], doc: responses}
functions:
  nll:
    where: |
      A = eye(n) - rho*W
      e = A @ y - X @ b
    expr: exp(-tau)*sum(e**2)/2 + n*tau/2 - logdet(A)
    wrt: [b, rho, tau]
    emit: [value, gradient, hessian]
"""


def _residuals(b: Array, rho: float, X: Array, W: Array, y: Array) -> Array:
    lag = W @ y
    return y - rho * lag - X @ b, lag


def value(b: Array, rho: float, tau: float, X: Array, W: Array, y: Array) -> Array:
    """Return the negative log-likelihood, without its constant."""
    e, _ = _residuals(b, rho, X, W, y)
    n = len(y)
    _, logdet = np.linalg.slogdet(np.eye(n) - rho * W)
    return np.exp(-tau) * (e @ e) / 2 + n * tau / 2 - logdet


def gradient(
    b: Array, rho: float, tau: float, X: Array, W: Array, y: Array
) -> tuple[Array, Array, Array]:
    """Return the score, with the sign of a loss."""
    e, lag = _residuals(b, rho, X, W, y)
    n = len(y)
    G = np.linalg.solve(np.eye(n) - rho * W, W)
    precision = np.exp(-tau)
    return (
        -precision * (X.T @ e),
        np.trace(G) - precision * (lag @ e),
        n / 2 - precision * (e @ e) / 2,
    )


def hessian(b: Array, rho: float, tau: float, X: Array, W: Array, y: Array) -> Array:
    """Return the observed information of b, rho and tau."""
    e, lag = _residuals(b, rho, X, W, y)
    n, k = X.shape
    G = np.linalg.solve(np.eye(n) - rho * W, W)
    Z = np.column_stack([X, lag])
    H = np.empty((k + 2, k + 2))
    H[: k + 1, : k + 1] = Z.T @ Z
    H[-1, :-1] = H[:-1, -1] = Z.T @ e
    H[-1, -1] = e @ e / 2
    H *= np.exp(-tau)
    H[k, k] += np.sum(G * G.T)
    return H


def _data(n: int, rng: Generator) -> Data:
    W = (rng.random((n, n)) < 4 / n) + np.eye(n, k=1) + np.eye(n, k=1 - n)
    np.fill_diagonal(W, 0)
    return {
        "b": rng.normal(size=5),
        "rho": 0.6,
        "tau": -0.3,
        "X": rng.normal(size=(n, 5)),
        "W": W / W.sum(1, keepdims=True),
        "y": rng.normal(size=n),
    }


PAIR = Pair(
    "statistics",
    "spatial regression",
    SPEC,
    "n",
    (10, 400),
    _data,
    (
        Operation("value", "nll", value),
        Operation("gradient", "nll_grad", gradient),
        Operation("Hessian", "nll_hess", hessian, dense_times),
    ),
)
