"""Robotics: a path that is smooth and avoids obstacles (Zucker et al. 2013)."""

import numpy as np
from numpy.random import Generator
from scipy.special import expit

from by_hand.fields.pair import Array, Data, Operation, Pair, direction

SPEC = """
tensorgen: 1
module: chomp
doc: Path of a point in the plane, accelerations and a soft hinge on obstacles.
dims: {T: 2000, m: 10}
inputs:
  q: {shape: [T, 2], doc: "waypoints, a time a row"}
  start: [2]
  goal: [2]
  P: {shape: [m, 2], doc: centres of obstacles}
  R: {shape: [m], doc: their radii}
  lam: {shape: scalar, doc: weight of obstacles}
  eps: {shape: scalar, doc: how far away they are felt}
functions:
  cost:
    where: |
      path = concatenate([start[None, :], q, goal[None, :]])
      acc = path[2:, :] - 2*path[1:-1, :] + path[:-2, :]
      dist[t, j] = norm(q[t, k] - P[j, k], k)
      hinge[t, j] = eps*log(1 + exp((R[j] - dist[t, j])/eps))
    expr: sum(acc**2)/2 + lam*sum(hinge)
    wrt: q
    emit: [value, gradient, hessian]
"""


def _accelerations(q: Array, start: Array, goal: Array) -> Array:
    return np.diff(np.vstack([start, q, goal]), n=2, axis=0)


def _clearances(q: Array, P: Array, R: Array) -> tuple[Array, Array, Array]:
    """Return unit vectors from obstacles, distances of their centres, and depths."""
    away = q[:, None, :] - P
    dist = np.sqrt((away**2).sum(2))
    return away / dist[:, :, None], dist, R - dist


def value(
    q: Array,
    start: Array,
    goal: Array,
    P: Array,
    R: Array,
    lam: float,
    eps: float,
) -> Array:
    """Return the cost of a path."""
    acc = _accelerations(q, start, goal)
    _, _, depth = _clearances(q, P, R)
    return np.vdot(acc, acc) / 2 + lam * eps * np.logaddexp(0, depth / eps).sum()


def gradient(
    q: Array,
    start: Array,
    goal: Array,
    P: Array,
    R: Array,
    lam: float,
    eps: float,
) -> Array:
    """Return the slope at each waypoint."""
    acc = _accelerations(q, start, goal)
    unit, _, depth = _clearances(q, P, R)
    g = -lam * np.einsum("tj,tjk->tk", expit(depth / eps), unit)
    g -= 2 * acc
    g[1:] += acc[:-1]
    g[:-1] += acc[1:]
    return g


def hessian(
    q: Array,
    start: Array,
    goal: Array,
    P: Array,
    R: Array,
    lam: float,
    eps: float,
) -> Array:
    """Return a band of width 4 for coordinates of each time in turn, lower form."""
    T = len(q)
    unit, dist, depth = _clearances(q, P, R)
    push = expit(depth / eps)
    across = -push / dist
    along = push * expit(-depth / eps) / eps - across
    block = np.einsum("tj,tjk,tjl->tkl", along, unit, unit)
    level = across.sum(1)
    band = np.zeros((5, T, 2))
    band[0] = 6
    band[0, [0, -1]] = 5
    band[0, :, 0] += lam * (block[:, 0, 0] + level)
    band[0, :, 1] += lam * (block[:, 1, 1] + level)
    band[1, :, 0] = lam * block[:, 0, 1]
    band[2, :-1] = -4
    band[4, :-2] = 1
    return band.reshape(5, 2 * T)


def _times(band: Array) -> Array:
    v = direction(band.shape[1])
    product = band[0] * v
    for k in range(1, 5):
        product[k:] += band[k, :-k] * v[:-k]
        product[:-k] += band[k, :-k] * v[k:]
    return product


def _data(T: int, rng: Generator) -> Data:
    m = 10 if T > 100 else 2
    return {
        "q": np.cumsum(rng.normal(size=(T, 2)), axis=0) / np.sqrt(T),
        "start": rng.normal(size=2),
        "goal": rng.normal(size=2),
        "P": rng.normal(size=(m, 2)),
        "R": rng.random(m) / 2,
        "lam": 0.7,
        "eps": 0.1,
    }


PAIR = Pair(
    "robotics",
    "CHOMP",
    SPEC,
    "T",
    (6, 2000),
    _data,
    (
        Operation("value", "cost", value),
        Operation("gradient", "cost_grad", gradient),
        Operation("Hessian", "cost_hess", hessian, _times),
    ),
)
