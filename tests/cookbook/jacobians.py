"""Derivatives of matrices by matrices, (60), (73) to (80) and (90)."""

from __future__ import annotations

import numpy as np
from numpy.linalg import inv, matrix_power

from tests.cookbook.identity import Identity

JACOBIANS = [
    Identity(
        "60",
        "X: n n regular",
        "inv(X)",
        "X",
        lambda X: -np.einsum("ki,jl->klij", inv(X), inv(X)),
        inv,
        "jacobian",
    ),
    Identity(
        "73",
        "X: n m",
        "X",
        "X",
        lambda X: np.einsum("ki,lj->klij", np.eye(X.shape[0]), np.eye(X.shape[1])),
        lambda X: X + 0,
        "jacobian",
    ),
    Identity(
        "74",
        "X: n m; A: m p",
        "X @ A",
        "X",
        lambda X, A: np.einsum("im,nj->ijmn", np.eye(X.shape[0]), A),
        lambda X, A: X @ A,
        "jacobian",
    ),
    Identity(
        "75",
        "X: n m; A: n p",
        "X.T @ A",
        "X",
        lambda X, A: np.einsum("in,mj->ijmn", np.eye(X.shape[1]), A),
        lambda X, A: X.T @ A,
        "jacobian",
    ),
    Identity(
        "76",
        "X: n m",
        "sum(X[k, l] * X[i, j], k, l, i, j)",
        "X",
        lambda X: 2 * np.sum(X) * np.ones_like(X),
        lambda X: np.sum(X) ** 2,
    ),
    Identity(
        "79",
        "X: n m; B: n n",
        "sum(X[a, k] * B[a, b] * X[b, l], a, b)",
        "X",
        lambda X, B: (
            np.einsum("lj,ki->klij", np.eye(X.shape[1]), X.T @ B)
            + np.einsum("kj,il->klij", np.eye(X.shape[1]), B @ X)
        ),
        lambda X, B: X.T @ B @ X,
        "jacobian",
        left="f[k, l]",
    ),
    Identity(
        "80",
        "X: n m; B: n n",
        "X.T @ B @ X",
        "X",
        lambda X, B: (
            np.einsum("ki,lj->klij", X.T @ B, np.eye(X.shape[1]))
            + np.einsum("kj,il->klij", np.eye(X.shape[1]), B @ X)
        ),
        lambda X, B: X.T @ B @ X,
        "jacobian",
    ),
    Identity(
        "90",
        "X: n n",
        "X @ X @ X",
        "X",
        lambda X: np.sum(
            [
                np.einsum("ki,jl->klij", matrix_power(X, r), matrix_power(X, 2 - r))
                for r in range(3)
            ],
            axis=0,
        ),
        lambda X: X @ X @ X,
        "jacobian",
    ),
]
