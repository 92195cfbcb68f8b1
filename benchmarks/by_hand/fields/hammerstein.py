"""Control: a static nonlinearity before a linear system, identified from its output."""

import numpy as np
from numpy.random import Generator

from by_hand.fields.pair import Array, Data, Operation, Pair

SPEC = """
tensorgen: 1
module: hammerstein
doc: Output error of a Hammerstein model, a cubic in front of a linear system.
dims: {n: 6, T: 500}
inputs:
  A: {shape: [n, n], doc: how a state follows from the last}
  B: {shape: [n], doc: how inputs enter}
  c: {shape: [3], doc: coefficients of the cubic}
  C: {shape: [n], doc: what is measured of a state}
  x0: {shape: [n], doc: initial state}
  u: {shape: [T], doc: inputs}
  y: {shape: [T], doc: what was measured after each}
functions:
  error:
    where: |
      v[t] = c[0]*u[t] + c[1]*u[t]**2 + c[2]*u[t]**3
      x[0] = x0
      x[t + 1] = A @ x[t] + B*v[t]
      r[t] = x[t + 1] @ C - y[t]
    expr: sum(r**2)/2
    wrt: [A, B, c]
    emit: [value, gradient, hvp]
"""


def _powers(u: Array) -> Array:
    return np.column_stack([u, u**2, u**3])


def _simulate(A: Array, inputs: Array, x0: Array) -> Array:
    """Return all states of x[t + 1] = A @ x[t] + inputs[t]."""
    x = np.empty((len(inputs) + 1, len(x0)))
    x[0] = x0
    for t, entering in enumerate(inputs):
        x[t + 1] = A @ x[t] + entering
    return x


def _adjoint(A: Array, forcing: Array) -> Array:
    """Return the adjoints of the states after the first."""
    adjoint = forcing.copy()
    for t in range(len(forcing) - 2, -1, -1):
        adjoint[t] += adjoint[t + 1] @ A
    return adjoint


def value(
    A: Array, B: Array, c: Array, C: Array, x0: Array, u: Array, y: Array
) -> Array:
    """Return half the squared output error."""
    x = _simulate(A, np.outer(_powers(u) @ c, B), x0)
    r = x[1:] @ C - y
    return r @ r / 2


def gradient(
    A: Array, B: Array, c: Array, C: Array, x0: Array, u: Array, y: Array
) -> tuple[Array, Array, Array]:
    """Return the gradients by A, B and c, by the adjoint method."""
    U = _powers(u)
    v = U @ c
    x = _simulate(A, np.outer(v, B), x0)
    adjoint = _adjoint(A, np.outer(x[1:] @ C - y, C))
    return adjoint.T @ x[:-1], adjoint.T @ v, U.T @ (adjoint @ B)


def hvp(
    A: Array,
    B: Array,
    c: Array,
    C: Array,
    x0: Array,
    u: Array,
    y: Array,
    dA: Array,
    dB: Array,
    dc: Array,
) -> tuple[Array, Array, Array]:
    """Return the Hessian times a direction: one sweep more each way."""
    U = _powers(u)
    v, v_dot = U @ c, U @ dc
    x = _simulate(A, np.outer(v, B), x0)
    adjoint = _adjoint(A, np.outer(x[1:] @ C - y, C))
    entering = x[:-1] @ dA.T + np.outer(v_dot, B) + np.outer(v, dB)
    x_dot = _simulate(A, entering, np.zeros_like(x0))
    forcing = np.outer(x_dot[1:] @ C, C)
    forcing[:-1] += adjoint[1:] @ dA
    adjoint_dot = _adjoint(A, forcing)
    return (
        adjoint_dot.T @ x[:-1] + adjoint.T @ x_dot[:-1],
        adjoint_dot.T @ v + adjoint.T @ v_dot,
        U.T @ (adjoint_dot @ B + adjoint @ dB),
    )


def _data(T: int, rng: Generator) -> Data:
    n = 6 if T > 100 else 2
    A = rng.normal(size=(n, n))
    return {
        "A": 0.9 * A / np.abs(np.linalg.eigvals(A)).max(),
        "B": rng.normal(size=n),
        "c": rng.normal(size=3),
        "C": rng.normal(size=n),
        "x0": rng.normal(size=n),
        "u": rng.normal(size=T),
        "y": rng.normal(size=T),
        "dA": rng.normal(size=(n, n)),
        "dB": rng.normal(size=n),
        "dc": rng.normal(size=3),
    }


PAIR = Pair(
    "control",
    "Hammerstein model",
    SPEC,
    "T",
    (10, 500),
    _data,
    (
        Operation("value", "error", value),
        Operation("gradient", "error_grad", gradient),
        Operation("hvp", "error_hvp", hvp),
    ),
)
