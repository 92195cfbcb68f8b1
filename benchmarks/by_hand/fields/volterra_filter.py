"""Signal processing: a filter of second order, fitted to what a system made of it."""

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.random import Generator

from by_hand.fields.pair import Array, Data, Operation, Pair

SPEC = """
tensorgen: 1
module: volterra_filter
doc: Least squares for the kernels of a Volterra series of second order.
dims: {T: 20000, p: 16}
inputs:
  h: {shape: [p], doc: linear kernel}
  Q: {shape: [p, p], doc: quadratic kernel}
  x: {shape: [T + p - 1], doc: what goes in}
  y: {shape: [T], doc: what comes out}
functions:
  error:
    where: |
      pred[t] = sum(h[i]*x[t + i], i) + sum(Q[i, j]*x[t + i]*x[t + j], i, j)
    expr: sum((pred - y)**2)/2
    wrt: [h, Q]
    emit: [value, gradient, hvp]
"""


def _apply(V: Array, h: Array, Q: Array) -> Array:
    """Return the output for windows of the input, a row each."""
    return V @ h + np.sum((V @ Q) * V, axis=1)


def _correlate(V: Array, r: Array) -> tuple[Array, Array]:
    """Apply the adjoint of `_apply`."""
    return V.T @ r, V.T @ (r[:, None] * V)


def value(h: Array, Q: Array, x: Array, y: Array) -> Array:
    """Return half the squared error."""
    r = _apply(sliding_window_view(x, len(h)), h, Q) - y
    return r @ r / 2


def gradient(h: Array, Q: Array, x: Array, y: Array) -> tuple[Array, Array]:
    """Return correlations of the error with products of the input."""
    V = sliding_window_view(x, len(h))
    return _correlate(V, _apply(V, h, Q) - y)


def hvp(h: Array, x: Array, dh: Array, dQ: Array) -> tuple[Array, Array]:
    """Return the same of what kernels dh and dQ make of the input."""
    V = sliding_window_view(x, len(h))
    return _correlate(V, _apply(V, dh, dQ))


def _data(T: int, rng: Generator) -> Data:
    p = 16 if T > 100 else 3
    return {
        "h": rng.normal(size=p),
        "Q": rng.normal(size=(p, p)) / p,
        "x": rng.normal(size=T + p - 1),
        "y": rng.normal(size=T),
        "dh": rng.normal(size=p),
        "dQ": rng.normal(size=(p, p)),
    }


PAIR = Pair(
    "signal processing",
    "Volterra filter",
    SPEC,
    "T",
    (12, 20_000),
    _data,
    (
        Operation("value", "error", value),
        Operation("gradient", "error_grad", gradient),
        Operation("hvp", "error_hvp", hvp),
    ),
)
