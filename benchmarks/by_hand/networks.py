"""High orders of a softmax behind a network."""

from typing import Any

import numpy as np

Array = Any


def of_softmax(
    X: Array, P1: Array, P2: Array, P3: Array, C: Array, order: int
) -> Array:
    """Derivatives of `sum(C * softmax(network))` by X, a block for each row.

    The network is linear around X, so the tensor of the softmax, which are cumulants of
    the row's weights, is multiplied by one matrix along each axis.
    """
    A = np.maximum(X @ P1, 0)
    B = np.maximum(A @ P2, 0)
    Z = B @ P3
    p = np.exp(Z - Z.max(1, keepdims=True))
    p /= p.sum(1, keepdims=True)
    q = p * (C - (p * C).sum(1, keepdims=True))
    if order == 1:
        back = (q @ P3.T) * (B > 0)
        return ((back @ P2.T) * (A > 0)) @ P1.T
    J = (((P1 * (A > 0)[:, None, :]) @ P2) * (B > 0)[:, None, :]) @ P3  # J[b, x, z]
    eye = np.eye(p.shape[1])

    def outer(a: Array, b: Array) -> Array:
        return a[:, :, None] * b[:, None, :]

    H = eye * q[:, None] - outer(q, p) - outer(p, q)
    if order == 2:
        return J @ H @ J.swapaxes(1, 2)
    S = eye * p[:, None] - outer(p, p)
    T = third(p, q, S, H, eye)
    tensor = T if order == 3 else fourth(p, q, S, H, T, eye)
    for _ in range(order):
        # The first axis is multiplied and goes last: in the end all stand as before.
        tensor = np.moveaxis(tensor, 1, -1) @ J.swapaxes(1, 2).reshape(
            len(J), *[1] * (order - 2), J.shape[2], J.shape[1]
        )
    return tensor


def third(p: Array, q: Array, S: Array, H: Array, eye: Array) -> Array:
    """The derivative of H[b, i, j] by z[b, k]: S and H are those of p and q."""
    T = np.zeros((*H.shape, H.shape[-1]))
    T += eye[:, :, None] * H[:, :, None, :]
    T -= H[:, :, None, :] * p[:, None, :, None]
    T -= p[:, :, None, None] * H[:, None]
    T -= q[:, :, None, None] * S[:, None]
    T -= S[:, :, None, :] * q[:, None, :, None]
    return T


def fourth(p: Array, q: Array, S: Array, H: Array, T: Array, eye: Array) -> Array:
    """The derivative of T[b, i, j, k] by z[b, l]."""
    # The derivative of S[b, i, k] by z[b, l].
    R = eye[:, :, None] * S[:, :, None, :]
    R = R - S[:, :, None, :] * p[:, None, :, None] - p[:, :, None, None] * S[:, None]
    F = eye[:, :, None, None] * T[:, :, None]
    F = F - T[:, :, None] * p[:, None, :, None, None]
    F -= H[:, :, None, :, None] * S[:, None, :, None, :]
    F -= S[:, :, None, None, :] * H[:, None, :, :, None]
    F -= p[:, :, None, None, None] * T[:, None]
    F -= H[:, :, None, None, :] * S[:, None, :, :, None]
    F -= q[:, :, None, None, None] * R[:, None]
    F -= R[:, :, None] * q[:, None, :, None, None]
    F -= S[:, :, None, :, None] * H[:, None, :, None, :]
    return F
