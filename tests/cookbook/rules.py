"""Rules of differentials and determinants that are no gradients, (33) to (50)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.linalg import det, inv

from tests.cookbook.identity import Array, Identity


def _adjugate(X: Array) -> Array:
    """Return the transposed matrix of cofactors, from minors alone."""
    n = len(X)
    minors = [
        [det(np.delete(np.delete(X, i, 0), j, 1)) * (-1) ** (i + j) for i in range(n)]
        for j in range(n)
    ]
    return np.array(minors)


def _second_order_det(x: float, A: Array, B: Array, C: Array) -> Any:
    """Return (48) for Y = A + x B + x^2 C / 2."""
    Y = A + x * B + x**2 / 2 * C
    W, first, second = inv(Y), B + x * C, C
    S = W @ first
    return det(Y) * (np.trace(W @ second) + np.trace(S) ** 2 - np.trace(S @ S))


RULES = [
    Identity(
        "33",
        "x: ; A: n m",
        "A + 0 * x",
        "x",
        lambda x, A: np.zeros_like(A),
        lambda x, A: A + 0 * x,
        "jacobian",
    ),
    Identity(
        "39",
        "X: n m; Y: p n",
        "kron(X, Y)",
        "X, Y",
        lambda X, Y, dX, dY: np.kron(dX, Y) + np.kron(X, dY),
        np.kron,
        "jvp",
    ),
    Identity(
        "41",
        "X: n n",
        "det(X)",
        "X",
        lambda X, dX: np.trace(_adjugate(X) @ dX),
        det,
        "jvp",
    ),
    # An expression in the gradient, not a derivative that is emitted.
    Identity(
        "47",
        "X: n n regular",
        "sum(grad(det(X), X)[i, k] * X[j, k], k)",
        "",
        lambda X: det(X) * np.eye(len(X)),
        lambda X: det(X) * inv(X).T @ X.T,
        "value",
        left="f[i, j]",
    ),
    Identity(
        "48",
        "x: ; A: n n regular; B: n n; C: n n",
        "det(A + x * B + x**2 / 2 * C)",
        "x",
        _second_order_det,
        lambda x, A, B, C: det(A + x * B + x**2 / 2 * C),
        "dense_hessian",
    ),
    Identity(
        "50",
        "X: n n regular",
        "grad(det(X), X) @ X.T",
        "",
        lambda X: det(X) * np.eye(len(X)),
        lambda X: det(X) * inv(X).T @ X.T,
        "value",
    ),
    # With P for the pseudo-inverse, ln det(X'X) is -ln det(PP').
]
