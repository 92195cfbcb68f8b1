"""Ten layers of a network: the Hessian of the first one's weights, never whole.

With the slopes of the last layer by the first, J, it is `M[i, k] * x[j] * x[l]`: all
that is held are M, one for each input, and the inputs. Its entries would be n**4.
"""

from typing import Any

import numpy as np

Array = Any
LAYERS = 10
NAMES = [f"W{k}" for k in range(1, LAYERS + 1)]


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


HANDS = {
    ("relu", 1): relu,
    ("relu", 10): relu_inputs,
    ("tanh", 1): tanh,
    ("tanh", 10): tanh_inputs,
}
"""By function and number of inputs."""
