"""Layers of networks: index notation, and derivatives in an order of their own."""

from typing import Any

import numpy as np
from numpy.random import Generator

from by_hand.problem import Data, Problem

Array = Any

TWO_LAYERS = """
tensorgen: 1
module: layers
inputs: {X: [b, t, n], W: [n, m], V: [m, p]}
functions:
  f:
    where: |
      a[s, i, j] = tanh(sum(X[s, i, k] * W[k, j], k))
      c[s, i, l] = tanh(sum(a[s, i, j] * V[j, l], j))
    expr: sum(c)
    wrt: W
    emit: [gradient, hvp]
"""


def _two_layers_data(rng: Generator) -> Data:
    return {
        "X": rng.normal(size=(20, 30, 50)),
        "W": rng.normal(size=(50, 60)) / 7,
        "V": rng.normal(size=(60, 40)) / 8,
        "dW": rng.normal(size=(50, 60)),
    }


def two_layers(X: Array, W: Array, V: Array, dW: Array) -> Array:
    """The product with the Hessian: each layer's tangent and its cotangent's."""
    rows = X.reshape(-1, X.shape[-1])
    a = np.tanh(rows @ W)
    c = np.tanh(a @ V)
    s, u = 1 - a * a, 1 - c * c
    z_dot = rows @ dW
    a_dot = s * z_dot
    u_dot = -2 * c * u * (a_dot @ V)
    return rows.T @ (s * (u_dot @ V.T) - 2 * a * a_dot * (u @ V.T))


PROBLEMS = [
    Problem(
        f"two layers hvp, {mode}",
        TWO_LAYERS,
        "f_hvp",
        _two_layers_data,
        two_layers,
        mode=mode,
    )
    for mode in ("reverse", "forward", "cross-country")
]
