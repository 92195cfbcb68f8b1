"""Derivatives of traces, (99) to (127)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.linalg import inv, matrix_power
from scipy.linalg import expm

from tests.cookbook.identity import Array, Identity

FIRST = [
    Identity("99", "X: n n", "trace(X)", "X", lambda X: np.eye(len(X)), np.trace),
    Identity(
        "100",
        "X: n m; A: m n",
        "trace(X @ A)",
        "X",
        lambda X, A: A.T,
        lambda X, A: np.trace(X @ A),
    ),
    Identity(
        "101",
        "X: n m; A: p n; B: m p",
        "trace(A @ X @ B)",
        "X",
        lambda X, A, B: A.T @ B.T,
        lambda X, A, B: np.trace(A @ X @ B),
    ),
    Identity(
        "102",
        "X: n m; A: p m; B: n p",
        "trace(A @ X.T @ B)",
        "X",
        lambda X, A, B: B @ A,
        lambda X, A, B: np.trace(A @ X.T @ B),
    ),
    Identity(
        "103",
        "X: n m; A: n m",
        "trace(X.T @ A)",
        "X",
        lambda X, A: A,
        lambda X, A: np.trace(X.T @ A),
    ),
    Identity(
        "104",
        "X: n m; A: n m",
        "trace(A @ X.T)",
        "X",
        lambda X, A: A,
        lambda X, A: np.trace(A @ X.T),
    ),
    Identity(
        "105",
        "X: n n; A: m m",
        "trace(kron(A, X))",
        "X",
        lambda X, A: np.trace(A) * np.eye(len(X)),
        lambda X, A: np.trace(np.kron(A, X)),
    ),
]

SECOND = [
    Identity(
        "106",
        "X: n n",
        "trace(X @ X)",
        "X",
        lambda X: 2 * X.T,
        lambda X: np.trace(X @ X),
    ),
    Identity(
        "107",
        "X: n n; B: n n",
        "trace(X @ X @ B)",
        "X",
        lambda X, B: (X @ B + B @ X).T,
        lambda X, B: np.trace(X @ X @ B),
    ),
    *(
        Identity(
            number,
            "X: n m; B: n n",
            expr,
            "X",
            lambda X, B: B @ X + B.T @ X,
            lambda X, B: np.trace(X.T @ B @ X),
        )
        for number, expr in (
            ("108", "trace(X.T @ B @ X)"),
            ("109", "trace(B @ X @ X.T)"),
            ("110", "trace(X @ X.T @ B)"),
        )
    ),
    *(
        Identity(
            number,
            "X: n m; B: m m",
            expr,
            "X",
            lambda X, B: X @ B.T + X @ B,
            lambda X, B: np.trace(X @ B @ X.T),
        )
        for number, expr in (
            ("111", "trace(X @ B @ X.T)"),
            ("112", "trace(B @ X.T @ X)"),
            ("113", "trace(X.T @ X @ B)"),
        )
    ),
    Identity(
        "114",
        "X: n m; A: m n; B: m n",
        "trace(A @ X @ B @ X)",
        "X",
        lambda X, A, B: A.T @ X.T @ B.T + B.T @ X.T @ A.T,
        lambda X, A, B: np.trace(A @ X @ B @ X),
    ),
    Identity(
        "115",
        "X: n m",
        "trace(X.T @ X)",
        "X",
        lambda X: 2 * X,
        lambda X: np.trace(X @ X.T),
    ),
    Identity(
        "116",
        "X: n m; B: m p; C: n n",
        "trace(B.T @ X.T @ C @ X @ B)",
        "X",
        lambda X, B, C: C.T @ X @ B @ B.T + C @ X @ B @ B.T,
        lambda X, B, C: np.trace(B.T @ X.T @ C @ X @ B),
    ),
    Identity(
        "117",
        "X: n m; B: n n; C: m m",
        "trace(X.T @ B @ X @ C)",
        "X",
        lambda X, B, C: B @ X @ C + B.T @ X @ C.T,
        lambda X, B, C: np.trace(X.T @ B @ X @ C),
    ),
    Identity(
        "118",
        "X: n m; A: p n; B: m m; C: n p",
        "trace(A @ X @ B @ X.T @ C)",
        "X",
        lambda X, A, B, C: A.T @ C.T @ X @ B.T + C @ A @ X @ B,
        lambda X, A, B, C: np.trace(A @ X @ B @ X.T @ C),
    ),
    Identity(
        "119",
        "X: n m; A: p n; B: m q; C: p q",
        "trace((A @ X @ B + C) @ (A @ X @ B + C).T)",
        "X",
        lambda X, A, B, C: 2 * A.T @ (A @ X @ B + C) @ B.T,
        lambda X, A, B, C: np.sum((A @ X @ B + C) ** 2),
    ),
    Identity(
        "120",
        "X: n n",
        "trace(kron(X, X))",
        "X",
        lambda X: 2 * np.trace(X) * np.eye(len(X)),
        lambda X: np.trace(np.kron(X, X)),
    ),
]


def _quartic(X: Array, B: Array, C: Array) -> Any:
    """Return the right-hand side of (123)."""
    BB = B @ B.T
    return (
        C @ X @ X.T @ C @ X @ BB
        + C.T @ X @ BB @ X.T @ C.T @ X
        + C @ X @ BB @ X.T @ C @ X
        + C.T @ X @ X.T @ C.T @ X @ BB
    )


def _ratio(X: Array, A: Array, B: Array, C: Array) -> Any:
    """Return the right-hand sides of (126), where A is zero, and (127)."""
    S = inv(A + X.T @ C @ X)
    return -2 * C @ X @ S @ (X.T @ B @ X) @ S + 2 * B @ X @ S


HIGHER = [
    Identity(
        "121",
        "X: n n",
        "trace(X @ X @ X @ X)",
        "X",
        lambda X: 4 * matrix_power(X, 3).T,
        lambda X: np.trace(X @ X @ X @ X),
    ),
    Identity(
        "122",
        "X: n n; A: n n",
        "trace(A @ X @ X @ X)",
        "X",
        lambda X, A: np.sum(
            [matrix_power(X, r) @ A @ matrix_power(X, 2 - r) for r in range(3)], axis=0
        ).T,
        lambda X, A: np.trace(A @ X @ X @ X),
    ),
    Identity(
        "123",
        "X: n m; B: m p; C: n n",
        "trace(B.T @ X.T @ C @ X @ X.T @ C @ X @ B)",
        "X",
        _quartic,
        lambda X, B, C: np.trace(B.T @ X.T @ C @ X @ X.T @ C @ X @ B),
    ),
]

OTHER = [
    Identity(
        "124",
        "X: n n regular; A: m n; B: n m",
        "trace(A @ solve(X, B))",
        "X",
        lambda X, A, B: -inv(X).T @ A.T @ B.T @ inv(X).T,
        lambda X, A, B: np.trace(A @ inv(X) @ B),
    ),
    Identity(
        "125",
        "X: n m; A: m m; C: n n spd",
        "trace(inv(X.T @ C @ X) @ A)",
        "X",
        lambda X, A, C: (-C @ X @ inv(X.T @ C @ X) @ (A + A.T) @ inv(X.T @ C @ X)),
        lambda X, A, C: np.trace(inv(X.T @ C @ X) @ A),
    ),
    Identity(
        "126",
        "X: n m; B: n n symmetric; C: n n spd",
        "trace(inv(X.T @ C @ X) @ (X.T @ B @ X))",
        "X",
        lambda X, B, C: _ratio(X, np.zeros((X.shape[1], X.shape[1])), B, C),
        lambda X, B, C: np.trace(inv(X.T @ C @ X) @ (X.T @ B @ X)),
    ),
    Identity(
        "127",
        "X: n m; A: m m spd; B: n n symmetric; C: n n spd",
        "trace(inv(A + X.T @ C @ X) @ (X.T @ B @ X))",
        "X",
        _ratio,
        lambda X, A, B, C: np.trace(inv(A + X.T @ C @ X) @ (X.T @ B @ X)),
    ),
    # The rule that opens section 2.5 has no number: d Tr(F(X)) = F'(X)', F = exp.
    Identity(
        "2.5",
        "X: n n",
        "trace(expm(X / 2))",
        "X",
        lambda X: expm(X / 2).T / 2,
        lambda X: np.trace(expm(X / 2)),
    ),
]
