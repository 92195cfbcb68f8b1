"""Derivatives of matrices, vectors and norms, (69) to (98) and (129) to (132)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.linalg import matrix_power

from tests.cookbook.identity import Array, Identity


def _norm(x: Array) -> Any:
    # Not abs(x)**2: this one is analytic.
    return np.sqrt(np.sum(x**2))


def _power_form(X: Array, a: Array, b: Array, n: int) -> Array:
    """Return the right-hand side of (91)."""
    terms = [
        matrix_power(X, r).T @ np.outer(a, b) @ matrix_power(X, n - 1 - r).T
        for r in range(n)
    ]
    return np.asarray(sum(terms))


def _squared_power_form(X: Array, a: Array, b: Array, n: int) -> Array:
    """Return the right-hand side of (92), d a' (X^n)' X^n b."""
    P = matrix_power(X, n)
    terms = [
        matrix_power(X, r).T @ P @ both @ matrix_power(X, n - 1 - r).T
        for r in range(n)
        for both in (np.outer(a, b), np.outer(b, a))
    ]
    return np.asarray(sum(terms))


def _quotient(x: Array, A: Array, B: Array) -> Any:
    """Return (95) for two quadratic forms."""
    numerator, denominator = np.sum((A @ x) ** 2), np.sum((B @ x) ** 2)
    first = 2 * A.T @ A @ x / denominator
    return first - 2 * numerator * B.T @ B @ x / denominator**2


def _bilinear(x: Array, A: Array, B: Array, C: Array) -> Any:
    """Return (93) for s = tanh(B x) and r = sin(C x)."""
    s, r = np.tanh(B @ x), np.sin(C @ x)
    ds, dr = (1 - s**2)[:, None] * B, np.cos(C @ x)[:, None] * C
    return ds.T @ A @ r + dr.T @ A.T @ s


FIRST_ORDER = [
    Identity("69", "x: n; a: n", "x @ a", "x", lambda x, a: a, lambda x, a: x @ a),
    Identity(
        "70",
        "X: n m; a: n; b: m",
        "a @ X @ b",
        "X",
        lambda X, a, b: np.outer(a, b),
        lambda X, a, b: a @ X @ b,
    ),
    Identity(
        "71",
        "X: n m; a: m; b: n",
        "a @ X.T @ b",
        "X",
        lambda X, a, b: np.outer(b, a),
        lambda X, a, b: a @ X.T @ b,
    ),
    Identity(
        "72",
        "X: n n; a: n",
        "a @ X @ a",
        "X",
        lambda X, a: np.outer(a, a),
        lambda X, a: a @ X.T @ a,
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
]

SECOND_ORDER = [
    Identity(
        "76",
        "X: n m",
        "sum(X[k, l] * X[i, j], k, l, i, j)",
        "X",
        lambda X: 2 * np.sum(X) * np.ones_like(X),
        lambda X: np.sum(X) ** 2,
    ),
    Identity(
        "77",
        "X: n m; b: m; c: m",
        "b @ X.T @ X @ c",
        "X",
        lambda X, b, c: X @ (np.outer(b, c) + np.outer(c, b)),
        lambda X, b, c: b @ X.T @ X @ c,
    ),
    Identity(
        "78",
        "x: n; B: m n; b: m; C: m p; D: p n; d: p",
        "(B @ x + b) @ C @ (D @ x + d)",
        "x",
        lambda x, B, b, C, D, d: (B.T @ C @ (D @ x + d) + D.T @ C.T @ (B @ x + b)),
        lambda x, B, b, C, D, d: (B @ x + b) @ C @ (D @ x + d),
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
        "81",
        "x: n; B: n n",
        "x @ B @ x",
        "x",
        lambda x, B: (B + B.T) @ x,
        lambda x, B: x @ B @ x,
    ),
    Identity(
        "82",
        "X: n m; D: n n; b: m; c: m",
        "b @ X.T @ D @ X @ c",
        "X",
        lambda X, D, b, c: D.T @ X @ np.outer(b, c) + D @ X @ np.outer(c, b),
        lambda X, D, b, c: b @ X.T @ D @ X @ c,
    ),
    Identity(
        "83",
        "X: n m; D: n n; b: m; c: n",
        "(X @ b + c) @ D @ (X @ b + c)",
        "X",
        lambda X, D, b, c: np.outer((D + D.T) @ (X @ b + c), b),
        lambda X, D, b, c: (X @ b + c) @ D @ (X @ b + c),
    ),
    *(
        Identity(
            number,
            "x: n; s: m; A: n m; W: n n symmetric",
            "(x - A @ s) @ W @ (x - A @ s)",
            wrt,
            closed,
            lambda x, s, A, W: (x - A @ s) @ W @ (x - A @ s),
        )
        for number, wrt, closed in (
            ("84", "s", lambda x, s, A, W: -2 * A.T @ W @ (x - A @ s)),
            ("87", "x", lambda x, s, A, W: 2 * W @ (x - A @ s)),
            ("88", "A", lambda x, s, A, W: -2 * np.outer(W @ (x - A @ s), s)),
        )
    ),
    *(
        Identity(
            number,
            "x: n; s: n; W: n n symmetric",
            "(x - s) @ W @ (x - s)",
            wrt,
            closed,
            lambda x, s, W: (x - s) @ W @ (x - s),
        )
        for number, wrt, closed in (
            ("85", "x", lambda x, s, W: 2 * W @ (x - s)),
            ("86", "s", lambda x, s, W: -2 * W @ (x - s)),
        )
    ),
]

HIGHER_ORDER = [
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
    Identity(
        "91",
        "X: n n; a: n; b: n",
        "a @ (X @ X @ X @ X) @ b",
        "X",
        lambda X, a, b: _power_form(X, a, b, 4),
        lambda X, a, b: a @ X @ X @ X @ X @ b,
    ),
    Identity(
        "92",
        "X: n n; a: n; b: n",
        "a @ P.T @ P @ b",
        "X",
        lambda X, a, b: _squared_power_form(X, a, b, 3),
        lambda X, a, b: a @ (X @ X @ X).T @ (X @ X @ X) @ b,
        where="P = X @ X @ X",
    ),
    Identity(
        "93",
        "x: n; A: m p; B: m n; C: p n",
        "s @ A @ r",
        "x",
        _bilinear,
        lambda x, A, B, C: np.tanh(B @ x) @ A @ np.sin(C @ x),
        where="s = tanh(B @ x)\nr = sin(C @ x)",
    ),
    Identity(
        "95",
        "x: n; A: m n; B: q n",
        "((A @ x) @ (A @ x)) / ((B @ x) @ (B @ x))",
        "x",
        _quotient,
        lambda x, A, B: ((A @ x) @ (A @ x)) / ((B @ x) @ (B @ x)),
    ),
    Identity(
        "97",
        "x: n; A: n n; b: n",
        "x @ A @ x + b @ x",
        "x",
        lambda x, A, b: (A + A.T) @ x + b,
        lambda x, A, b: x @ A @ x + b @ x,
    ),
    Identity(
        "98",
        "x: n; A: n n; b: n",
        "x @ A @ x + b @ x",
        "x",
        lambda x, A, b: A + A.T,
        lambda x, A, b: x @ A @ x + b @ x,
        "dense_hessian",
    ),
]

NORMS = [
    Identity(
        "129",
        "x: n; a: n",
        "norm(x - a)",
        "x",
        lambda x, a: (x - a) / _norm(x - a),
        lambda x, a: _norm(x - a),
    ),
    Identity(
        "130",
        "x: n; a: n",
        "(x - a) / norm(x - a)",
        "x",
        lambda x, a: (
            np.eye(len(x)) / _norm(x - a) - np.outer(x - a, x - a) / _norm(x - a) ** 3
        ),
        lambda x, a: (x - a) / _norm(x - a),
        "jacobian",
    ),
    Identity("131", "x: n", "norm(x)**2", "x", lambda x: 2 * x, lambda x: np.sum(x**2)),
    Identity(
        "132", "X: n m", "norm(X)**2", "X", lambda X: 2 * X, lambda X: np.sum(X**2)
    ),
]
