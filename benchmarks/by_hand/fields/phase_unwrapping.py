"""Imaging: a phase whose differences are those measured up to whole turns."""

import numpy as np
from numpy.random import Generator

from by_hand.fields.pair import Array, Data, Operation, Pair

SPEC = """
tensorgen: 1
module: phase_unwrapping
doc: Unwrapping of a phase by a smoothed norm of its differences (Ghiglia and Romero).
dims: {m: 512, n: 512}
inputs:
  phi: {shape: [m, n], doc: unwrapped phase}
  dy: {shape: [m - 1, n], doc: wrapped differences down columns}
  dx: {shape: [m, n - 1], doc: wrapped differences along rows}
  eps: {shape: scalar, doc: where the norm becomes linear}
functions:
  misfit:
    where: |
      ry = phi[1:, :] - phi[:-1, :] - dy
      rx = phi[:, 1:] - phi[:, :-1] - dx
    expr: sum(sqrt(ry**2 + eps**2)) + sum(sqrt(rx**2 + eps**2))
    wrt: phi
    emit: [value, gradient, hvp]
"""


def _residuals(phi: Array, dy: Array, dx: Array) -> tuple[Array, Array]:
    return np.diff(phi, axis=0) - dy, np.diff(phi, axis=1) - dx


def _divergence(py: Array, px: Array) -> Array:
    """Apply the adjoint of both differences."""
    g = np.zeros((px.shape[0], py.shape[1]))
    g[1:] += py
    g[:-1] -= py
    g[:, 1:] += px
    g[:, :-1] -= px
    return g


def value(phi: Array, dy: Array, dx: Array, eps: float) -> Array:
    """Return the smoothed norm of the residuals."""
    ry, rx = _residuals(phi, dy, dx)
    return np.sqrt(ry**2 + eps**2).sum() + np.sqrt(rx**2 + eps**2).sum()


def gradient(phi: Array, dy: Array, dx: Array, eps: float) -> Array:
    """Return the divergence of the slopes."""
    ry, rx = _residuals(phi, dy, dx)
    return _divergence(ry / np.sqrt(ry**2 + eps**2), rx / np.sqrt(rx**2 + eps**2))


def hvp(phi: Array, dy: Array, dx: Array, eps: float, dphi: Array) -> Array:
    """Return a weighted Laplacian of the direction."""

    def stiffness(r: Array) -> Array:
        s = r**2 + eps**2
        return eps**2 / (s * np.sqrt(s))

    ry, rx = _residuals(phi, dy, dx)
    return _divergence(
        stiffness(ry) * np.diff(dphi, axis=0), stiffness(rx) * np.diff(dphi, axis=1)
    )


def _data(n: int, rng: Generator) -> Data:
    phi = rng.normal(size=(n, n))
    return {
        "phi": phi,
        "dy": np.diff(phi, axis=0) + rng.normal(size=(n - 1, n)),
        "dx": np.diff(phi, axis=1) + rng.normal(size=(n, n - 1)),
        "eps": 0.1,
        "dphi": rng.normal(size=(n, n)),
    }


PAIR = Pair(
    "imaging",
    "phase unwrapping",
    SPEC,
    "n",
    (6, 512),
    _data,
    (
        Operation("value", "misfit", value),
        Operation("gradient", "misfit_grad", gradient),
        Operation("hvp", "misfit_hvp", hvp),
    ),
)
