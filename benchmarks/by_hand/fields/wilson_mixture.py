"""Chemistry: tangent plane distances of liquids after Wilson (1964)."""

import numpy as np
from numpy.random import Generator

from by_hand.fields.pair import Array, Data, Operation, Pair, direction

SPEC = """
tensorgen: 1
module: wilson_mixture
doc: Michelsen's tangent plane distance of trial phases, activities by Wilson.
dims: {m: 5000, c: 4}
inputs:
  x: {shape: [m, c], positive: true, doc: "mole numbers, a trial phase a row"}
  L: {shape: [c, c], positive: true, doc: Wilson's parameters}
  h: {shape: [c], doc: potentials in the feed}
functions:
  distance:
    where: |
      total = sum(x, axis=1)
      s = x @ L.T
      activity = -log(s/total[:, None])
    expr: sum(x*(log(x) + activity - h - 1))
    wrt: x
    emit: [value, gradient, hessian]
"""


def _ratios(x: Array, L: Array) -> tuple[Array, Array, Array]:
    """Return mole numbers in rows, what Wilson divides by, and numbers over that."""
    s = x @ L.T
    return x.sum(1, keepdims=True), s, x / s


def value(x: Array, L: Array, h: Array) -> Array:
    """Return the sum of the distances."""
    total, _, ratio = _ratios(x, L)
    return np.vdot(x, np.log(ratio * total) - h - 1)


def gradient(x: Array, L: Array, h: Array) -> Array:
    """Return how far potentials are from those in the feed."""
    total, _, ratio = _ratios(x, L)
    return np.log(ratio * total) + 1 - ratio @ L - h


def hessian(x: Array, L: Array) -> Array:
    """Return a block for each trial phase."""
    total, s, _ = _ratios(x, L)
    M = L / s[:, :, None]
    H = M.transpose(0, 2, 1) @ (x[:, :, None] * M)
    H -= M
    H -= M.transpose(0, 2, 1)
    H += 1 / total[:, :, None]
    i = np.arange(len(L))
    H[:, i, i] += 1 / x
    return H


def newton(x: Array, L: Array, h: Array) -> Array:
    """Return the step of Newton's method, phase by phase."""
    return np.linalg.solve(hessian(x, L), gradient(x, L, h)[:, :, None])[:, :, 0]


def _times(H: Array) -> Array:
    m, c, _ = H.shape
    return (H @ direction(m * c).reshape(m, c, 1)).ravel()


def _data(m: int, rng: Generator) -> Data:
    c = 4 if m > 100 else 3
    return {
        "x": rng.random((m, c)) + 0.2,
        "L": np.exp(rng.normal(size=(c, c)) / 2),
        "h": rng.normal(size=c),
    }


PAIR = Pair(
    "chemistry",
    "Wilson's mixture",
    SPEC,
    "m",
    (3, 5000),
    _data,
    (
        Operation("value", "distance", value),
        Operation("gradient", "distance_grad", gradient),
        Operation("Hessian", "distance_hess", hessian, _times),
        Operation("Newton step", "distance_hess", newton, solves="distance_grad"),
    ),
)
