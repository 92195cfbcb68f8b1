"""Factors, embeddings, distances: sums by key, gathers, masked products."""

from typing import Any

import numpy as np
from numpy.random import Generator
from scipy import sparse

from by_hand.problem import Data, Problem

Array = Any

GLOVE = """
tensorgen: 1
module: factors
dims: {E: 200000, V: 5000, D: 50}
inputs:
  W: [V, D]
  C: [V, D]
  bw: [V]
  bc: [V]
  row: {shape: [E], index: V}
  col: {shape: [E], index: V}
  x: [E]
  weight: [E]
functions:
  f:
    where: |
      r[e] = sum(W[row[e], d]*C[col[e], d], d) + bw[row[e]] + bc[col[e]] - x[e]
    expr: sum(weight*r**2)
    wrt: [W, C, bw, bc]
    emit: [value, gradient]
"""


def _glove_data(rng: Generator) -> Data:
    E, V, D = 200_000, 5_000, 50
    return {
        "W": rng.normal(size=(V, D)) / 7,
        "C": rng.normal(size=(V, D)) / 7,
        "bw": rng.normal(size=V),
        "bc": rng.normal(size=V),
        "row": rng.integers(0, V, E),
        "col": rng.integers(0, V, E),
        "x": rng.normal(size=E),
        "weight": rng.random(E),
    }


def glove(
    W: Array,
    C: Array,
    bw: Array,
    bc: Array,
    row: Array,
    col: Array,
    x: Array,
    weight: Array,
) -> tuple[Array, ...]:
    """Slopes are products with the sparse matrix of weighted residuals."""
    r = np.einsum("ed,ed->e", W[row], C[col]) + bw[row] + bc[col] - x
    s = 2 * weight * r
    V = W.shape[0]
    S = sparse.csr_array((s, (row, col)), (V, V))
    return (
        r @ s / 2,
        S @ C,
        S.T @ W,
        np.bincount(row, s, V),
        np.bincount(col, s, V),
    )


RATINGS = """
tensorgen: 1
module: factors
dims: {E: 1000000, m: 100000, n: 100000, k: 10}
inputs:
  U: [m, k]
  V: [n, k]
  user: {shape: [E], index: m}
  item: {shape: [E], index: n}
  rating: [E]
  lam: scalar
functions:
  f:
    where: |
      r[e] = sum(U[user[e], c]*V[item[e], c], c) - rating[e]
    expr: sum(r**2)/2 + lam/2*(sum(U**2) + sum(V**2))
    wrt: [U, V]
    emit: [value, gradient]
"""


def _ratings_data(rng: Generator) -> Data:
    entries, m, k = 1_000_000, 100_000, 10
    return {
        "U": rng.normal(size=(m, k)),
        "V": rng.normal(size=(m, k)),
        "user": rng.integers(0, m, entries),
        "item": rng.integers(0, m, entries),
        "rating": rng.normal(size=entries),
        "lam": 0.1,
    }


def ratings(
    U: Array, V: Array, user: Array, item: Array, rating: Array, lam: float
) -> tuple[Array, ...]:
    """Slopes are products with the sparse matrix of residuals."""
    r = np.einsum("ek,ek->e", U[user], V[item]) - rating
    R = sparse.csr_array((r, (user, item)), (len(U), len(V)))
    value = r @ r / 2 + lam / 2 * (np.vdot(U, U) + np.vdot(V, V))
    du, dv = R @ V, R.T @ U
    du += lam * U
    dv += lam * V
    return value, du, dv


MASKED = """
tensorgen: 1
module: factors
dims: {m: 2000, n: 2000, k: 5}
inputs: {U: [m, k], V: [n, k], R: [m, n], M: [m, n]}
functions:
  f:
    expr: sum((M*(U @ V.T - R))**2)
    wrt: [U, V]
    emit: [value, gradient]
"""


def _masked_data(rng: Generator) -> Data:
    return {
        "U": rng.normal(size=(2000, 5)),
        "V": rng.normal(size=(2000, 5)),
        "R": rng.normal(size=(2000, 2000)),
        "M": (rng.random((2000, 2000)) < 0.3).astype(float),
    }


def masked(U: Array, V: Array, R: Array, M: Array) -> tuple[Array, ...]:
    """Blocks of rows of about 512 KB, one buffer."""
    step = max(65536 // V.shape[0], 1)
    value, du, dv = 0.0, np.empty_like(U), np.zeros_like(V)
    buffer = np.empty((step, V.shape[0]))
    for i in range(0, len(U), step):
        u, mask = U[i : i + step], M[i : i + step]
        e = np.matmul(u, V.T, out=buffer[: len(u)])
        e -= R[i : i + step]
        e *= mask
        value += np.vdot(e, e)
        e *= mask
        np.matmul(e, V, out=du[i : i + step])
        dv += e.T @ u
    return value, 2 * du, 2 * dv


BUNDLE = """
tensorgen: 1
module: factors
dims: {O: 50000, C: 100, P: 8000}
inputs:
  rot: [C, 3]
  pos: [C, 3]
  foc: [C]
  bend: [C]
  X: [P, 3]
  cam: {shape: [O], index: C}
  pt: {shape: [O], index: P}
  obs: [O, 2]
functions:
  f:
    where: |
      th[o] = sqrt(sum(rot[cam[o], a]**2, a))
      v[o, a] = rot[cam[o], a]/th[o]
      x[o, a] = X[pt[o], a]
      vx[o] = sum(v[o, a]*x[o, a], a)
      s[o] = sin(th[o])
      w[o] = (1 - cos(th[o]))*vx[o]
      k1[o] = v[o, 1]*x[o, 2] - v[o, 2]*x[o, 1]
      k2[o] = v[o, 2]*x[o, 0] - v[o, 0]*x[o, 2]
      k3[o] = v[o, 0]*x[o, 1] - v[o, 1]*x[o, 0]
      k = stack([k1, k2, k3], axis=1)
      r[o, a] = cos(th[o])*x[o, a] + s[o]*k[o, a] + w[o]*v[o, a] + pos[cam[o], a]
      p[o, a=range(2)] = r[o, a]/r[o, 2]
      n2[o] = p[o, 0]**2 + p[o, 1]**2
      e[o, a] = foc[cam[o]]*(1 + bend[cam[o]]*n2[o])*p[o, a] - obs[o, a]
    expr: sum(e**2)/2
    wrt: [rot, pos, foc, bend, X]
    emit: [value, gradient]
"""


def _bundle_data(rng: Generator) -> Data:
    entries, C, P = 50_000, 100, 8_000
    return {
        "rot": 0.1 * rng.normal(size=(C, 3)),
        "pos": rng.normal(size=(C, 3)) + np.array([0, 0, 20]),
        "foc": 500 + rng.random(C),
        "bend": 0.01 * rng.normal(size=C),
        "X": rng.normal(size=(P, 3)),
        "cam": rng.integers(0, C, entries),
        "pt": rng.integers(0, P, entries),
        "obs": rng.normal(size=(entries, 2)),
    }


def bundle(
    rot: Array,
    pos: Array,
    foc: Array,
    bend: Array,
    X: Array,
    cam: Array,
    pt: Array,
    obs: Array,
) -> tuple[Array, ...]:
    """Rotations once a camera, one gather each, one scatter each."""
    th = np.sqrt((rot * rot).sum(1))
    axis = rot / th[:, None]
    c, s = np.cos(th), np.sin(th)
    v, x, co, so = axis[cam], X[pt], c[cam], s[cam]
    vx = (v * x).sum(1)
    k = np.cross(v, x)
    w = (1 - co) * vx
    r = co[:, None] * x + so[:, None] * k + w[:, None] * v + pos[cam]
    p = r[:, :2] / r[:, 2:]
    n2 = (p * p).sum(1)
    f, q = foc[cam], bend[cam]
    g = 1 + q * n2
    e = (f * g)[:, None] * p - obs
    ep = (e * p).sum(1)
    dp = (f * g)[:, None] * e + (2 * f * q * ep)[:, None] * p
    dr = np.empty_like(r)
    dr[:, :2] = dp / r[:, 2:]
    dr[:, 2] = -(dp * p).sum(1) / r[:, 2]
    drv = (dr * v).sum(1)
    dx = co[:, None] * dr + so[:, None] * np.cross(dr, v)
    dx += ((1 - co) * drv)[:, None] * v
    dv = so[:, None] * np.cross(x, dr)
    dv += (1 - co)[:, None] * (drv[:, None] * x + vx[:, None] * dr)
    dth = -so * (dr * x).sum(1) + co * (dr * k).sum(1) + so * vx * drv

    def by(keys: Array, values: Array, size: int) -> Array:
        if values.ndim == 1:
            return np.bincount(keys, values, size)
        return np.stack([np.bincount(keys, column, size) for column in values.T], 1)

    C = len(rot)
    daxis, dangle = by(cam, dv, C), by(cam, dth, C)
    drot = (daxis - (daxis * axis).sum(1)[:, None] * axis) / th[:, None]
    drot += dangle[:, None] * axis
    dfoc, dk1 = by(cam, g * ep, C), by(cam, f * n2 * ep, C)
    value = np.vdot(e, e) / 2
    return value, drot, by(cam, dr, C), dfoc, dk1, by(pt, dx, len(X))


DISTANCES = """
tensorgen: 1
module: factors
dims: {n: 1000, d: 2}
inputs: {Y: [n, d], P: [n, n]}
functions:
  f:
    where: |
      q[i, j] = 1/(1 + norm(Y[i, :] - Y[j, :])**2)
      Z = sum(q[i, j], i, j, i != j)
    expr: sum(P[i, j]*log(P[i, j]/(q[i, j]/Z)), i, j, i != j)
    wrt: Y
    emit: [value, gradient]
"""


def _distances_data(rng: Generator) -> Data:
    P = rng.random((1000, 1000))
    P += P.T
    np.fill_diagonal(P, 0)
    return {"Y": rng.normal(size=(1000, 2)), "P": P / P.sum() + 1e-12}


def distances(Y: Array, P: Array) -> tuple[Array, Array]:
    """Distances from the Gram matrix; the slope as row sums and one product."""
    s = (Y * Y).sum(1)
    q = Y @ Y.T
    q *= -2
    q += s[:, None]
    q += s
    q += 1
    np.reciprocal(q, out=q)
    np.fill_diagonal(q, 0)
    Z = q.sum()
    total = P.sum() - np.trace(P)
    off = ~np.eye(len(Y), dtype=bool)
    value = (P[off] * np.log(P[off])).sum() - (P[off] * np.log(q[off])).sum()
    value += total * np.log(Z)
    # d/d square distance: P*q - total*q*q/Z, symmetric up to P.
    W = (P + P.T) / 2
    W -= total / Z * q
    W *= q
    return value, 4 * (W.sum(1)[:, None] * Y - W @ Y)


PROBLEMS = [
    Problem(
        "GloVe",
        GLOVE,
        "f_value_and_grad",
        _glove_data,
        glove,
        jax="glove",
        variables=4,
    ),
    Problem("ratings", RATINGS, "f_value_and_grad", _ratings_data, ratings),
    Problem(
        "masked factorisation",
        MASKED,
        "f_value_and_grad",
        _masked_data,
        masked,
    ),
    Problem("bundle adjustment", BUNDLE, "f_value_and_grad", _bundle_data, bundle),
    Problem(
        "t-SNE",
        DISTANCES,
        "f_value_and_grad",
        _distances_data,
        distances,
        jax="distances",
    ),
]
