"""Physics: a chain of atoms on a corrugated substrate."""

import numpy as np
from numpy.random import Generator
from scipy.linalg import solveh_banded

from by_hand.fields.pair import Array, Data, Operation, Pair, direction

SPEC = """
tensorgen: 1
module: frenkel_kontorova
doc: Energy of the chain of Frenkel and Kontorova.
dims: {n: 100000}
inputs:
  u: {shape: [n], doc: "positions, in periods of the substrate"}
  a: {shape: scalar, doc: length of a spring at rest}
  K: {shape: scalar, doc: depth of the substrate}
functions:
  energy:
    where: |
      stretch = u[1:] - u[:-1] - a
    expr: sum(stretch**2)/2 + K/(2*pi)**2*sum(1 - cos(2*pi*u))
    wrt: u
    emit: [value, gradient, hessian]
"""


def value(u: Array, a: float, K: float) -> Array:
    """Return the energy of springs and substrate."""
    stretch = np.diff(u) - a
    # 1 - cos x is 2 sin(x / 2)**2, which keeps its digits near the minima.
    substrate = 2 * np.sum(np.sin(np.pi * u) ** 2)
    return stretch @ stretch / 2 + K / (2 * np.pi) ** 2 * substrate


def gradient(u: Array, a: float, K: float) -> Array:
    """Return minus the forces on the atoms."""
    stretch = np.diff(u) - a
    g = K / (2 * np.pi) * np.sin(2 * np.pi * u)
    g[1:] += stretch
    g[:-1] -= stretch
    return g


def hessian(u: Array, a: float, K: float) -> Array:
    """Return the dynamical matrix as a band, upper form of LAPACK's `pb`."""
    band = np.empty((2, len(u)))
    band[0] = -1
    band[1] = K * np.cos(2 * np.pi * u)
    band[1, 1:] += 1
    band[1, :-1] += 1
    return band


def newton(u: Array, a: float, K: float) -> Array:
    """Return the step of Newton's method."""
    return solveh_banded(hessian(u, a, K), gradient(u, a, K))


def _times(band: Array) -> Array:
    v = direction(band.shape[1])
    beside, diagonal = band
    product = diagonal * v
    product[1:] += beside[1:] * v[:-1]
    product[:-1] += beside[1:] * v[1:]
    return product


def _data(n: int, rng: Generator) -> Data:
    return {"u": np.arange(n) + rng.normal(size=n) / 20, "a": 0.95, "K": 0.7}


PAIR = Pair(
    "physics",
    "Frenkel-Kontorova chain",
    SPEC,
    "n",
    (10, 100_000),
    _data,
    (
        Operation("value", "energy", value),
        Operation("gradient", "energy_grad", gradient),
        Operation("Hessian", "energy_hess", hessian, _times),
        Operation("Newton step", "energy_hess", newton, solves="energy_grad"),
    ),
)
