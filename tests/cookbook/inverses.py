"""Derivatives of inverses, (59) to (66)."""

from __future__ import annotations

import numpy as np
from numpy.linalg import det, inv

from tests.cookbook.identity import Identity

INVERSES = [
    Identity(
        "59",
        "x: ; A: n n regular; B: n n",
        "inv(A + x * B / 10)",
        "x",
        lambda x, A, B: -inv(A + x * B / 10) @ (B / 10) @ inv(A + x * B / 10),
        lambda x, A, B: inv(A + x * B / 10),
        "jacobian",
    ),
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
        "61",
        "X: n n regular; a: n; b: n",
        "a @ inv(X) @ b",
        "X",
        lambda X, a, b: -inv(X).T @ np.outer(a, b) @ inv(X).T,
        lambda X, a, b: a @ inv(X) @ b,
    ),
    Identity(
        "62",
        "X: n n regular",
        "det(inv(X))",
        "X",
        lambda X: -det(inv(X)) * inv(X).T,
        lambda X: det(inv(X)),
    ),
    Identity(
        "63",
        "X: n n regular; A: m n; B: n m",
        "trace(A @ inv(X) @ B)",
        "X",
        lambda X, A, B: -(inv(X) @ B @ A @ inv(X)).T,
        lambda X, A, B: np.trace(A @ inv(X) @ B),
    ),
    Identity(
        "64",
        "X: n n regular; A: n n spd",
        "trace(inv(X + A))",
        "X",
        lambda X, A: -(inv(X + A) @ inv(X + A)).T,
        lambda X, A: np.trace(inv(X + A)),
    ),
    # The sum of the eigenvalues is the trace.
    Identity("65", "X: n n", "tr(X)", "X", lambda X: np.eye(len(X)), np.trace),
    # Their product is the determinant.
    Identity(
        "66",
        "X: n n regular",
        "det(X)",
        "X",
        lambda X: np.prod(np.linalg.eigvals(X)).real * inv(X).T,
        det,
    ),
]
