"""Geodesy: a plane network of points, adjusted to distances between them."""

from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from by_hand.fields.pair import Array, Data, Operation, Pair, direction

SPEC = """
tensorgen: 1
module: trilateration
doc: Adjustment of a trilateration network to measured distances.
dims: {n: 2000, m: 10000}
inputs:
  P: {shape: [n, 2], doc: "coordinates, a point a row"}
  a: {shape: [m], index: n, doc: where a line starts}
  b: {shape: [m], index: n, doc: where it ends}
  d: {shape: [m], doc: measured distances}
  w: {shape: [m], nonnegative: true, doc: weights of the measurements}
functions:
  loss:
    where: |
      s[e, k] = P[a[e], k] - P[b[e], k]
      length[e] = norm(s[e, k], k)
      r = length - d
    expr: sum(w*r**2)/2
    wrt: P
    emit: [value, gradient, hessian, hvp]
"""


class _Lines(NamedTuple):
    """Unit vectors along lines, their lengths, and residuals."""

    unit: Array
    length: Array
    r: Array


def _lines(P: Array, a: Array, b: Array, d: Array) -> _Lines:
    s = P[a] - P[b]
    length = np.sqrt((s * s).sum(1))
    return _Lines(s / length[:, None], length, length - d)


def _assemble(forces: Array, a: Array, b: Array, n: int) -> Array:
    """Add up what pulls at both ends of each line."""
    return np.column_stack(
        [np.bincount(a, f, n) - np.bincount(b, f, n) for f in forces.T]
    )


def value(P: Array, a: Array, b: Array, d: Array, w: Array) -> Array:
    """Return half the weighted squares of residuals."""
    r = _lines(P, a, b, d).r
    return w @ (r * r) / 2


def gradient(P: Array, a: Array, b: Array, d: Array, w: Array) -> Array:
    """Return the forces of springs at rest where measured."""
    unit, _, r = _lines(P, a, b, d)
    return _assemble((w * r)[:, None] * unit, a, b, len(P))


def hvp(P: Array, a: Array, b: Array, d: Array, w: Array, dP: Array) -> Array:
    """Return the forces that a displacement adds, along lines and across them."""
    unit, length, r = _lines(P, a, b, d)
    ds = dP[a] - dP[b]
    along = (unit * ds).sum(1)
    tension = w * r / length
    forces = tension[:, None] * ds + ((w - tension) * along)[:, None] * unit
    return _assemble(forces, a, b, len(P))


def hessian(
    P: Array, a: Array, b: Array, d: Array, w: Array
) -> tuple[Array, Array, Array]:
    """Return the stiffness of each line, a 2 by 2 block, and its ends."""
    unit, length, r = _lines(P, a, b, d)
    tension = w * r / length
    K = (w - tension)[:, None, None] * unit[:, :, None] * unit[:, None, :]
    K[:, 0, 0] += tension
    K[:, 1, 1] += tension
    return K, a, b


def _times(parts: tuple[Array, Array, Array]) -> Array:
    K, a, b = parts
    V = direction(2 * (max(a.max(), b.max()) + 1)).reshape(-1, 2)
    forces = np.einsum("ekl,el->ek", K, V[a] - V[b])
    return _assemble(forces, a, b, len(V)).ravel()


def _data(n: int, rng: Generator) -> Data:
    m = 5 * n
    a = rng.integers(0, n, m)
    return {
        "P": rng.normal(size=(n, 2)),
        "a": a,
        "b": (a + rng.integers(1, n, m)) % n,
        "d": rng.random(m) + 0.5,
        "w": rng.random(m),
        "dP": rng.normal(size=(n, 2)),
    }


PAIR = Pair(
    "geodesy",
    "trilateration",
    SPEC,
    "n",
    (4, 2000),
    _data,
    (
        Operation("value", "loss", value),
        Operation("gradient", "loss_grad", gradient),
        Operation("hvp", "loss_hvp", hvp),
        Operation("Hessian", "loss_hess", hessian, _times),
    ),
)
