"""The rules of differentials, (33) to (48), and derivatives of determinants to (58)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.linalg import det, inv, pinv, slogdet

from tests.cookbook.identity import Array, Identity


def _adjugate(X: Array) -> Array:
    """Return the transposed matrix of cofactors, from minors alone."""
    n = len(X)
    minors = [
        [det(np.delete(np.delete(X, i, 0), j, 1)) * (-1) ** (i + j) for i in range(n)]
        for j in range(n)
    ]
    return np.array(minors)


def _logdet(X: Array) -> Any:
    # Of a complex matrix near a real one with a positive determinant: analytic.
    return np.log(det(X)) if np.iscomplexobj(X) else slogdet(X).logabsdet


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
        "34",
        "X: n m; a: ",
        "a * X",
        "X",
        lambda X, a, dX: a * dX,
        lambda X, a: a * X,
        "jvp",
    ),
    Identity(
        "35",
        "X: n m; Y: n m",
        "X + Y",
        "X, Y",
        lambda X, Y, dX, dY: dX + dY,
        lambda X, Y: X + Y,
        "jvp",
    ),
    Identity(
        "36",
        "X: n n",
        "tr(X)",
        "X",
        lambda X, dX: np.trace(dX),
        lambda X: np.trace(X),
        "jvp",
    ),
    Identity(
        "37",
        "X: n m; Y: m p",
        "X @ Y",
        "X, Y",
        lambda X, Y, dX, dY: dX @ Y + X @ dY,
        lambda X, Y: X @ Y,
        "jvp",
    ),
    Identity(
        "38",
        "X: n m; Y: n m",
        "X * Y",
        "X, Y",
        lambda X, Y, dX, dY: dX * Y + X * dY,
        lambda X, Y: X * Y,
        "jvp",
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
        "40",
        "X: n n regular",
        "inv(X)",
        "X",
        lambda X, dX: -inv(X) @ dX @ inv(X),
        inv,
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
    Identity(
        "42",
        "X: n n regular",
        "det(X)",
        "X",
        lambda X, dX: det(X) * np.trace(inv(X) @ dX),
        det,
        "jvp",
    ),
    Identity(
        "43",
        "X: n n regular",
        "logdet(X)",
        "X",
        lambda X, dX: np.trace(inv(X) @ dX),
        _logdet,
        "jvp",
    ),
    Identity("44", "X: n m", "X.T", "X", lambda X, dX: dX.T, lambda X: X.T, "jvp"),
]

DETERMINANTS = [
    Identity(
        "46",
        "x: ; A: n n regular; B: n n",
        "det(A + x * B / 10)",
        "x",
        lambda x, A, B: (det(A + x * B / 10) * np.trace(inv(A + x * B / 10) @ B) / 10),
        lambda x, A, B: det(A + x * B / 10),
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
        "49",
        "X: n n regular",
        "det(X)",
        "X",
        lambda X: det(X) * inv(X).T,
        det,
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
    Identity(
        "51",
        "X: n n regular; A: n n; B: n n",
        "det(A @ X @ B)",
        "X",
        lambda X, A, B: det(A @ X @ B) * inv(X).T,
        lambda X, A, B: det(A @ X @ B),
    ),
    Identity(
        "52",
        "X: n n regular; A: n n",
        "det(X.T @ A @ X)",
        "X",
        lambda X, A: 2 * det(X.T @ A @ X) * inv(X).T,
        lambda X, A: det(X.T @ A @ X),
    ),
    Identity(
        "53",
        "X: n m; A: n n spd",
        "det(X.T @ A @ X)",
        "X",
        lambda X, A: 2 * det(X.T @ A @ X) * A @ X @ inv(X.T @ A @ X),
        lambda X, A: det(X.T @ A @ X),
    ),
    Identity(
        "54",
        "X: n m; A: n n regular",
        "det(X.T @ A @ X)",
        "X",
        lambda X, A: (
            det(X.T @ A @ X) * (A @ X @ inv(X.T @ A @ X) + A.T @ X @ inv(X.T @ A.T @ X))
        ),
        lambda X, A: det(X.T @ A @ X),
    ),
    Identity(
        "55",
        "X: n m",
        "logdet(X.T @ X)",
        "X",
        lambda X: 2 * pinv(X).T,
        lambda X: _logdet(X.T @ X),
    ),
    # With P for the pseudo-inverse, ln det(X'X) is -ln det(PP').
    Identity(
        "56",
        "P: m n",
        "-logdet(P @ P.T)",
        "P",
        lambda P: -2 * pinv(P).T,
        lambda P: -_logdet(P @ P.T),
    ),
    Identity(
        "57",
        "X: n n regular",
        "log(abs(det(X)))",
        "X",
        lambda X: inv(X).T,
        _logdet,
    ),
    Identity(
        "58",
        "X: n n regular",
        "det(X @ X @ X)",
        "X",
        lambda X: 3 * det(X @ X @ X) * inv(X).T,
        lambda X: det(X @ X @ X),
    ),
]
