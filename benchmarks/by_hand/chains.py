"""Linear chains: conditional random fields."""

from typing import Any

import numpy as np
from numpy.random import Generator

from by_hand.problem import Data, Problem

Array = Any


def _crf(wrt: str) -> str:
    return f"""
tensorgen: 1
module: chains
inputs: {{U: [T, K], S: [K, K], y: [T, K]}}
functions:
  f:
    where: |
      alpha[0, j] = U[0, j]
      alpha[t + 1, j] = logsumexp(alpha[t, i] + S[i, j], i) + U[t + 1, j]
    expr: logsumexp(alpha[T - 1, j], j) - sum(y * U)
    wrt: {wrt}
    emit: [hvp]
"""


def _data(name: str, T: int, K: int) -> Any:
    def data(rng: Generator) -> Data:
        shapes = {"U": (T, K), "S": (K, K)}
        return {
            "U": rng.normal(size=(T, K)),
            "S": rng.normal(size=(K, K)),
            "y": np.eye(K)[rng.integers(0, K, T)],
            f"d{name}": rng.normal(size=shapes[name]),
        }

    return data


def _forward(U: Array, S: Array) -> tuple[Array, Array, Array]:
    """Potentials before a step, by columns' levels, and what they sum to."""
    T, K = U.shape
    alpha, level, total = np.empty((T, K)), np.empty((T - 1, K)), np.empty((T - 1, K))
    alpha[0] = U[0]
    for t in range(T - 1):
        Z = S + alpha[t][:, None]
        level[t] = Z.max(axis=0)
        total[t] = np.exp(Z - level[t]).sum(axis=0)
        alpha[t + 1] = level[t] + np.log(total[t]) + U[t + 1]
    return alpha, level, 1 / total


def _last(alpha: Array) -> Array:
    p = np.exp(alpha[-1] - alpha[-1].max())
    return p / p.sum()


def crf_potentials(U: Array, S: Array, y: Array, dU: Array) -> Array:
    """One product with the transition's exponentials a step and sweep; else rows."""
    T, K = U.shape
    alpha, level, scale = _forward(U, S)
    dot = np.empty((T, K))
    mean = np.empty((T - 1, K))
    dot[0] = dU[0]
    for t in range(T - 1):
        E = np.exp(S + alpha[t][:, None] - level[t])
        mean[t] = (dot[t] @ E) * scale[t]
        dot[t + 1] = mean[t] + dU[t + 1]
    p = _last(alpha)
    beta, beta_dot = np.empty((T, K)), np.empty((T, K))
    beta[-1] = p
    beta_dot[-1] = p * (dot[-1] - p @ dot[-1])
    for t in reversed(range(T - 1)):
        E = np.exp(S + alpha[t][:, None] - level[t])
        w = scale[t] * beta[t + 1]
        beta[t] = E @ w
        beta_dot[t] = E @ (scale[t] * beta_dot[t + 1] - mean[t] * w) + dot[t] * beta[t]
    return beta_dot


def crf_transitions(U: Array, S: Array, y: Array, dS: Array) -> Array:
    """Marginals of pairs, and how they change: one array of them a step."""
    T, K = U.shape
    alpha, level, scale = _forward(U, S)
    dot = np.zeros((T, K))
    for t in range(T - 1):
        E = np.exp(S + alpha[t][:, None] - level[t])
        dot[t + 1] = ((dS + dot[t][:, None]) * E).sum(axis=0) * scale[t]
    p = _last(alpha)
    beta, beta_dot = p, p * (dot[-1] - p @ dot[-1])
    H = np.zeros((K, K))
    for t in reversed(range(T - 1)):
        E = np.exp(S + alpha[t][:, None] - level[t])
        w = scale[t] * beta
        part = E * ((dS + dot[t][:, None]) * w + (scale[t] * beta_dot - dot[t + 1] * w))
        H += part
        beta, beta_dot = E @ w, part.sum(axis=1)
    return H


PROBLEMS = [
    Problem(
        f"CRF, hvp by {what}, {T} x {K}",
        _crf(name),
        "f_hvp",
        _data(name, T, K),
        hand,
    )
    for what, name, hand in (
        ("potentials", "U", crf_potentials),
        ("transitions", "S", crf_transitions),
    )
    for T, K in ((200, 20), (100, 100))
]
