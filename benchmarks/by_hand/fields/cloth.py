"""Graphics: cloth of triangles that resist stretch and shear."""

import numpy as np
from numpy.random import Generator

from by_hand.fields.pair import Array, Data, Operation, Pair

SPEC = """
tensorgen: 1
module: cloth
doc: Energy of cloth after Saint Venant and Kirchhoff, linear triangles in space.
dims: {n: 2601, m: 5000}
inputs:
  X: {shape: [n, 3], doc: "positions, a vertex a row"}
  tri: {shape: [m, 3], index: n, doc: vertices of the triangles}
  D: {shape: [m, 2, 2], doc: inverses of their edges at rest}
  area: {shape: [m], doc: areas at rest}
  mu: {shape: scalar, doc: Lame's second constant}
  lam: {shape: scalar, doc: and his first}
functions:
  energy:
    where: |
      F[e, a, b] = sum((X[tri[e, c + 1], a] - X[tri[e, 0], a])*D[e, c, b], c)
      E[e, b, g] = (sum(F[e, a, b]*F[e, a, g], a) - delta(b, g))/2
      tr[e] = sum(E[e, b, b], b)
    expr: sum(area[e]*(mu*sum(E[e, b, g]**2, b, g) + lam/2*tr[e]**2), e)
    wrt: X
    emit: [value, gradient, hvp]
"""


def _gradients(X: Array, tri: Array, D: Array) -> Array:
    """Return F of each triangle, 3 by 2."""
    corners = X[tri]
    edges = corners[:, 1:] - corners[:, :1]
    return edges.transpose(0, 2, 1) @ D


def _strain(F: Array) -> Array:
    """Return Green's strain of each triangle."""
    return (F.transpose(0, 2, 1) @ F - np.eye(2)) / 2


def _stress(E: Array, mu: float, lam: float) -> Array:
    """Return the second stress of Piola and Kirchhoff; it is linear in E."""
    S = 2 * mu * E
    pressure = lam * np.trace(E, axis1=1, axis2=2)
    S[:, 0, 0] += pressure
    S[:, 1, 1] += pressure
    return S


def _forces(P: Array, tri: Array, D: Array, area: Array, n: int) -> Array:
    """Add up what stresses P, 3 by 2, do at the vertices."""
    at_edges = area[:, None, None] * (D @ P.transpose(0, 2, 1))
    at_corners = np.concatenate(
        [-at_edges.sum(1, keepdims=True), at_edges], axis=1
    ).reshape(-1, 3)
    corners = tri.ravel()
    return np.column_stack([np.bincount(corners, f, n) for f in at_corners.T])


def value(X: Array, tri: Array, D: Array, area: Array, mu: float, lam: float) -> Array:
    """Return the energy."""
    E = _strain(_gradients(X, tri, D))
    trace = np.trace(E, axis1=1, axis2=2)
    return area @ (mu * (E * E).sum((1, 2)) + lam / 2 * trace**2)


def gradient(
    X: Array, tri: Array, D: Array, area: Array, mu: float, lam: float
) -> Array:
    """Return minus the forces on the vertices."""
    F = _gradients(X, tri, D)
    P = F @ _stress(_strain(F), mu, lam)
    return _forces(P, tri, D, area, len(X))


def hvp(
    X: Array, tri: Array, D: Array, area: Array, mu: float, lam: float, dX: Array
) -> Array:
    """Return the forces that a displacement adds."""
    F, dF = _gradients(X, tri, D), _gradients(dX, tri, D)
    half = F.transpose(0, 2, 1) @ dF
    dE = (half + half.transpose(0, 2, 1)) / 2
    dP = dF @ _stress(_strain(F), mu, lam) + F @ _stress(dE, mu, lam)
    return _forces(dP, tri, D, area, len(X))


def _data(side: int, rng: Generator) -> Data:
    """A square of so many vertices a side, pulled out of its plane."""
    i = np.arange(side * side).reshape(side, side)
    lower = np.stack([i[:-1, :-1], i[1:, :-1], i[:-1, 1:]], -1)
    upper = np.stack([i[1:, 1:], i[:-1, 1:], i[1:, :-1]], -1)
    tri = np.concatenate([lower.reshape(-1, 3), upper.reshape(-1, 3)])
    y, x = np.divmod(np.arange(side * side), side)
    rest = np.column_stack([x, y]) + rng.normal(size=(side * side, 2)) / 20
    edges = rest[tri[:, 1:]] - rest[tri[:, :1]]
    X = np.column_stack([1.1 * rest, rng.normal(size=side * side) / 10])
    return {
        "X": X,
        "tri": tri,
        "D": np.linalg.inv(edges.transpose(0, 2, 1)),
        "area": np.abs(np.linalg.det(edges)) / 2,
        "mu": 1.3,
        "lam": 0.8,
        "dX": rng.normal(size=X.shape),
    }


PAIR = Pair(
    "graphics",
    "cloth",
    SPEC,
    "side",
    (3, 51),
    _data,
    (
        Operation("value", "energy", value),
        Operation("gradient", "energy_grad", gradient),
        Operation("hvp", "energy_hvp", hvp),
    ),
)
