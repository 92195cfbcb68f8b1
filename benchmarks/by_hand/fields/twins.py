"""Machine learning: embeddings of two views, to be correlated by the identity."""

from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from by_hand.fields.pair import Array, Data, Operation, Pair

SPEC = """
tensorgen: 1
module: twins
doc: Barlow Twins (Zbontar et al. 2021), two views of a batch.
dims: {m: 256, d: 128}
definitions: |
  standardised(Z) = (Z - mean(Z, axis=0))/sqrt(var(Z, axis=0))
inputs:
  A: {shape: [m, d], doc: "embeddings of one view, a sample a row"}
  B: {shape: [m, d], doc: embeddings of the other}
  lam: {shape: scalar, doc: weight of redundancy}
functions:
  loss:
    where: |
      C = standardised(A).T @ standardised(B) / m
    expr: sum((1 - diag(C))**2) + lam*(sum(C**2) - sum(diag(C)**2))
    wrt: [A, B]
    emit: [value, gradient, hvp]
"""


class _View(NamedTuple):
    """A standardised view, and the deviations it was divided by."""

    z: Array
    deviation: Array


def _standardise(Z: Array) -> _View:
    centred = Z - Z.mean(0)
    deviation = np.sqrt((centred**2).mean(0))
    return _View(centred / deviation, deviation)


def _project(view: _View, T: Array) -> Array:
    """Apply the derivative of standardisation, which is symmetric."""
    z, deviation = view
    return (T - T.mean(0) - z * (z * T).mean(0)) / deviation


def _slope(C: Array, lam: float) -> Array:
    dC = 2 * lam * C
    np.fill_diagonal(dC, 2 * (np.diagonal(C) - 1))
    return dC


def value(A: Array, B: Array, lam: float) -> Array:
    """Return the loss."""
    C = _standardise(A).z.T @ _standardise(B).z / len(A)
    diagonal = np.diagonal(C)
    return np.sum((1 - diagonal) ** 2) + lam * (np.sum(C**2) - diagonal @ diagonal)


def gradient(A: Array, B: Array, lam: float) -> tuple[Array, Array]:
    """Return the gradients by both views."""
    a, b = _standardise(A), _standardise(B)
    dC = _slope(a.z.T @ b.z / len(A), lam) / len(A)
    return _project(a, b.z @ dC.T), _project(b, a.z @ dC)


def hvp(A: Array, B: Array, lam: float, dA: Array, dB: Array) -> tuple[Array, Array]:
    """Return the Hessian times a direction."""
    m = len(A)
    a, b = _standardise(A), _standardise(B)
    C = a.z.T @ b.z / m
    dC = _slope(C, lam) / m
    a_dot, b_dot = _project(a, dA), _project(b, dB)
    C_dot = (a_dot.T @ b.z + a.z.T @ b_dot) / m
    dC_dot = 2 * lam * C_dot
    np.fill_diagonal(dC_dot, 2 * np.diagonal(C_dot))
    dC_dot /= m
    return (
        _project_dot(a, b.z @ dC.T, dA, a_dot, b_dot @ dC.T + b.z @ dC_dot.T),
        _project_dot(b, a.z @ dC, dB, b_dot, a_dot @ dC + a.z @ dC_dot),
    )


def _project_dot(view: _View, T: Array, dZ: Array, z_dot: Array, T_dot: Array) -> Array:
    """Differentiate `_project(view, T)` along a direction of the view."""
    z, deviation = view
    level = (z * T).mean(0)
    projected = (T - T.mean(0) - z * level) / deviation
    relative = (z * dZ).mean(0) / deviation  # how fast the deviation grows
    moved = z_dot * level + z * (z_dot * T).mean(0)
    return _project(view, T_dot) - moved / deviation - projected * relative


def _data(m: int, rng: Generator) -> Data:
    d = max(3, m // 2)
    A = rng.normal(size=(m, d))
    return {
        "A": A,
        "B": A + rng.normal(size=(m, d)),
        "lam": 0.005,
        "dA": rng.normal(size=(m, d)),
        "dB": rng.normal(size=(m, d)),
    }


PAIR = Pair(
    "machine learning",
    "Barlow Twins",
    SPEC,
    "m",
    (8, 256),
    _data,
    (
        Operation("value", "loss", value),
        Operation("gradient", "loss_grad", gradient),
        Operation("hvp", "loss_hvp", hvp),
    ),
)
