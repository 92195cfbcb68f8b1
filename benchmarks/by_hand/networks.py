"""Ten layers of a network: the Hessian of the first one's weights, never whole.

With the slopes of the last layer by the first, J, it is `M[i, k] * x[j] * x[l]`: all
that is held are M, one for each input, and the inputs. Its entries would be n**4.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.random import Generator

from by_hand.problem import Data, Problem

Array = Any
LAYERS = 10
NAMES = [f"W{k}" for k in range(1, LAYERS + 1)]


def _spec(function: str, n: int, inputs: int) -> str:
    """The classifier for one input, or for several at a time."""
    weights = ", ".join(f"{name}: [n, n]" for name in NAMES)
    if inputs == 1:
        lines = ["z1 = W1 @ x"]
        lines += [f"z{k} = W{k} @ {function}(z{k - 1})" for k in range(2, LAYERS + 1)]
        data = "x: [n], y: [n]"
        loss = f"logsumexp(z{LAYERS}) - y @ z{LAYERS}"
    else:
        lines = ["z1 = x @ W1.T"]
        lines += [f"z{k} = {function}(z{k - 1}) @ W{k}.T" for k in range(2, LAYERS + 1)]
        data = "x: [s, n], y: [s, n]"
        loss = f"sum(logsumexp(z{LAYERS}, axis=1)) - sum(y * z{LAYERS})"
    where = "\n      ".join(lines)
    return f"""
tensorgen: 1
module: networks
dims: {{n: {n}, s: {inputs}}}
inputs: {{{weights}, {data}}}
functions:
  f:
    where: |
      {where}
    expr: {loss}
    wrt: W1
    emit: [hessian]
"""


def _data(n: int, inputs: int) -> Callable[[Generator], Data]:
    def data(rng: Generator) -> Data:
        weights = {name: rng.normal(size=(n, n)) * (1.5 / n) ** 0.5 for name in NAMES}
        shape = (n,) if inputs == 1 else (inputs, n)
        y = np.eye(n)[rng.integers(0, n, inputs)].reshape(shape)
        return weights | {"x": rng.normal(size=shape), "y": y}

    return data


def _softmax(z: Array) -> Array:
    e = np.exp(z - z.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def relu(x: Array, y: Array, **weights: Array) -> tuple[Array, Array]:
    """Slopes forwards, masked; the curvature is that of softmax, a centred square."""
    first, second, *others = (weights[name] for name in NAMES)
    z = first @ x
    J = second * (z > 0)
    z = second @ np.maximum(z, 0)
    for W in others:
        J = W @ (J * (z > 0)[:, None])
        z = W @ np.maximum(z, 0)
    p = _softmax(z)
    J -= p @ J
    J *= np.sqrt(p)[:, None]
    return J.T @ J, x


def relu_inputs(x: Array, y: Array, **weights: Array) -> tuple[Array, Array]:
    """The same for each input, in matrix products by layer."""
    first, second, *others = (weights[name] for name in NAMES)
    z = x @ first.T
    J = second * (z > 0)[:, None]
    z = np.maximum(z, 0) @ second.T
    for W in others:
        J = W @ (J * (z > 0)[:, :, None])
        z = np.maximum(z, 0) @ W.T
    p = _softmax(z)
    J -= p[:, None] @ J
    J *= np.sqrt(p)[:, :, None]
    return J.transpose(0, 2, 1) @ J, x


def tanh(x: Array, y: Array, **weights: Array) -> tuple[Array, Array]:
    """Slopes forwards, and on the way back what each layer's curvature adds."""
    first, *others = (weights[name] for name in NAMES)
    z, slopes, curves = first @ x, [], []
    ways: list[Array] = []
    J = None
    for W in others:
        a = np.tanh(z)
        slope = 1 - a * a
        slopes.append(slope)
        curves.append(-2 * a * slope)
        ways.append(J)
        J = W * slope if J is None else W @ (slope[:, None] * J)
        z = W @ a
    p = _softmax(z)
    g = p - y
    M = p[:, None] * (J - p @ J)
    for W, slope, curve, way in zip(
        others[::-1], slopes[::-1], curves[::-1], ways[::-1], strict=True
    ):
        M = W.T @ M
        M *= slope[:, None]
        g = g @ W
        if way is None:
            M[np.diag_indices_from(M)] += curve * g
        else:
            M += (curve * g)[:, None] * way
        g *= slope
    return M, x


def tanh_inputs(x: Array, y: Array, **weights: Array) -> tuple[Array, Array]:
    """The same for each input."""
    first, *others = (weights[name] for name in NAMES)
    z, slopes, curves = x @ first.T, [], []
    ways: list[Array] = []
    J = None
    for W in others:
        a = np.tanh(z)
        slope = 1 - a * a
        slopes.append(slope)
        curves.append(-2 * a * slope)
        ways.append(J)
        J = W * slope[:, None] if J is None else W @ (slope[:, :, None] * J)
        z = a @ W.T
    p = _softmax(z)
    g = p - y
    M = p[:, :, None] * (J - p[:, None] @ J)
    for W, slope, curve, way in zip(
        others[::-1], slopes[::-1], curves[::-1], ways[::-1], strict=True
    ):
        M = W.T @ M
        M *= slope[:, :, None]
        g = g @ W
        if way is None:
            k = np.arange(M.shape[-1])
            M[:, k, k] += curve * g
        else:
            M += (curve * g)[:, :, None] * way
        g *= slope
    return M, x


def _held(module: Any, data: Data) -> Callable[[], Any]:
    """What the Hessian holds; dense, ten inputs of a hundred would take 800 MB."""

    def run() -> tuple[Array, Array]:
        factors = module.f_hess(**data).factors
        return factors["A"], factors["x"]

    return run


HANDS = {
    ("relu", 1): relu,
    ("relu", 10): relu_inputs,
    ("tanh", 1): tanh,
    ("tanh", 10): tanh_inputs,
}
PROBLEMS = [
    Problem(
        f"{function} network n={n}, inputs {inputs}",
        _spec(function, n, inputs),
        "",
        _data(n, inputs),
        hand,
        _held,
    )
    for (function, inputs), hand in HANDS.items()
    for n in (10, 30, 100)
]
