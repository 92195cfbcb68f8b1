"""Finance: how much less a portfolio moves than its assets do."""

from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from by_hand.fields.pair import Array, Data, Operation, Pair, direction

SPEC = """
tensorgen: 1
module: diversification
doc: Diversification ratio of Choueifaty and Coignard, under a factor model of risk.
dims: {n: 5000, k: 20}
inputs:
  w: {shape: [n], doc: weights of the assets}
  B: {shape: [n, k], doc: exposures to factors of unit variance}
  d: {shape: [n], positive: true, doc: specific variances}
  s: {shape: [n], positive: true, doc: volatilities of the assets}
functions:
  ratio:
    where: |
      variance = sum((B.T @ w)**2) + sum(d*w**2)
    expr: (w @ s)/sqrt(variance)
    wrt: w
    emit: [value, gradient, hessian]
"""


def value(w: Array, B: Array, d: Array, s: Array) -> Array:
    """Return the ratio."""
    f = B.T @ w
    return w @ s / np.sqrt(f @ f + d @ (w * w))


class _Risk(NamedTuple):
    """The covariance times the weights, the volatility, and the ratio."""

    covariances: Array
    volatility: Array
    ratio: Array


def _risk(w: Array, B: Array, d: Array, s: Array) -> _Risk:
    covariances = B @ (B.T @ w) + d * w
    volatility = np.sqrt(w @ covariances)
    return _Risk(covariances, volatility, w @ s / volatility)


def gradient(w: Array, B: Array, d: Array, s: Array) -> Array:
    """Return the slope by each weight."""
    covariances, volatility, ratio = _risk(w, B, d, s)
    return (s - ratio / volatility * covariances) / volatility


def hessian(w: Array, B: Array, d: Array, s: Array) -> tuple[Array, Array, Array]:
    """Return a diagonal, and U and C of U @ C @ U.T beside it."""
    covariances, volatility, ratio = _risk(w, B, d, s)
    beta = covariances / volatility
    k = B.shape[1]
    C = np.zeros((k + 2, k + 2))
    C[range(k), range(k)] = -ratio
    C[k, k + 1] = C[k + 1, k] = -1
    C[k + 1, k + 1] = 3 * ratio
    C /= volatility**2
    return -ratio / volatility**2 * d, np.column_stack([B, s, beta]), C


def _times(parts: tuple[Array, Array, Array]) -> Array:
    diagonal, U, C = parts
    v = direction(len(U))
    return diagonal * v + U @ (C @ (U.T @ v))


def _data(n: int, rng: Generator) -> Data:
    k = 20 if n > 100 else 2
    B, d = rng.normal(size=(n, k)), rng.random(n) + 0.5
    return {
        "w": rng.dirichlet(np.ones(n)),
        "B": B,
        "d": d,
        "s": np.sqrt((B * B).sum(1) + d),
    }


PAIR = Pair(
    "finance",
    "diversification ratio",
    SPEC,
    "n",
    (6, 5000),
    _data,
    (
        Operation("value", "ratio", value),
        Operation("gradient", "ratio_grad", gradient),
        Operation("Hessian", "ratio_hess", hessian, _times),
    ),
)
