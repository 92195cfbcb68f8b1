"""Structured matrices, (137) to (144), and values: (1) to (31), (156) to (167), ..."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.linalg import det, inv

from tests.cookbook.identity import Array, Formula, Identity


def _diagonal_sums(A: Array) -> Any:
    """Return the sum of each diagonal of A, from the lowest to the highest."""
    n = len(A)
    return np.array([np.trace(A, offset=k) for k in range(1 - n, n)])


def _toeplitz(t: Array) -> Any:
    """Return T[i, j] = t[i - j + n - 1]."""
    n = (len(t) + 1) // 2
    return np.array([[t[i - j + n - 1] for j in range(n)] for i in range(n)])


def _vandermonde(v: Array) -> Any:
    """Return (486), the product of all differences."""
    n = len(v)
    return np.prod([v[j] - v[i] for i in range(n) for j in range(i + 1, n)])


STRUCTURED = [
    # The chain rule for a matrix in a matrix: U = tanh(A X) in g(U) = det(U).
    # The Cookbook differentiates by the entries on and above the diagonal; see
    # `from_subspace` in test_cookbook.py for the relation to the subspace.
    Identity(
        "138",
        "X: n n symmetric; B: n n; a: n",
        "sum(sin(B * X)) + a @ X @ X @ a",
        "X",
        lambda X, B, a: _free(
            B * np.cos(B * X) + np.outer(a, X @ a) + np.outer(X @ a, a)
        ),
        lambda X, B, a: np.sum(np.sin(B * X)) + a @ X @ X @ a,
        "symmetric gradient",
    ),
    Identity(
        "139",
        "X: n n symmetric; A: n n",
        "trace(A @ X)",
        "X",
        lambda X, A: A + A.T - A * np.eye(len(A)),
        lambda X, A: np.trace(A @ X),
        "symmetric gradient",
    ),
    Identity(
        "140",
        "X: n n spd",
        "det(X)",
        "X",
        lambda X: det(X) * (2 * inv(X) - inv(X) * np.eye(len(X))),
        det,
        "symmetric gradient",
    ),
    Identity(
        "141",
        "X: n n spd",
        "logdet(X)",
        "X",
        lambda X: 2 * inv(X) - inv(X) * np.eye(len(X)),
        lambda X: np.log(det(X)),
        "symmetric gradient",
    ),
    Identity(
        "143",
        "t: 2*m-1; A: m m",
        "sum(A[j, i] * t[i - j + m - 1], i, j)",
        "t",
        lambda t, A: _diagonal_sums(A),
        lambda t, A: np.trace(A @ _toeplitz(t)),
        sizes={"2*m-1": 5, "m": 3},
    ),
]


def _free(G: Array) -> Any:
    """Return (138): the derivative by the free entries, from the one by all."""
    return G + G.T - np.diag(np.diag(G))


def _value(
    number: str, inputs: str, expr: str, closed: Formula, function: Formula
) -> Identity:
    return Identity(number, inputs, expr, "", closed, function, "value")


VALUES = [
    _value(
        "1",
        "A: n n regular; B: n n regular",
        "inv(A @ B)",
        lambda A, B: inv(B) @ inv(A),
        lambda A, B: inv(A @ B),
    ),
    _value(
        "16",
        "A: n m; B: m p; C: p n",
        "trace(A @ B @ C)",
        lambda A, B, C: np.trace(B @ C @ A),
        lambda A, B, C: np.trace(A @ B @ C),
    ),
    _value(
        "24",
        "u: n; v: n",
        "det(eye(n) + outer(u, v))",
        lambda u, v: 1 + u @ v,
        lambda u, v: det(np.eye(len(u)) + np.outer(u, v)),
    ),
    _value(
        "156",
        "A: n n spd; B: m m spd; C: n m",
        "inv(A + C @ B @ C.T)",
        lambda A, B, C: (
            inv(A) - inv(A) @ C @ inv(inv(B) + C.T @ inv(A) @ C) @ C.T @ inv(A)
        ),
        lambda A, B, C: inv(A + C @ B @ C.T),
    ),
    _value(
        "160",
        "A: n n spd; b: n",
        "inv(A + outer(b, b))",
        lambda A, b: (inv(A) - inv(A) @ np.outer(b, b) @ inv(A) / (1 + b @ inv(A) @ b)),
        lambda A, b: inv(A + np.outer(b, b)),
    ),
    _value(
        "163",
        "A: n n spd; B: n n spd",
        "inv(inv(A) + inv(B))",
        lambda A, B: A @ inv(A + B) @ B,
        lambda A, B: inv(inv(A) + inv(B)),
    ),
    _value(
        "166",
        "A: n m; B: m n",
        "inv(eye(n) + A @ B / 10)",
        lambda A, B: np.eye(len(A)) - A @ inv(np.eye(len(B)) + B @ A / 10) @ B / 10,
        lambda A, B: inv(np.eye(len(A)) + A @ B / 10),
    ),
    _value(
        "486",
        "v: m positive",
        "det(v[:, None]**arange(m))",
        _vandermonde,
        lambda v: det(np.vander(v, increasing=True)),
    ),
    _value(
        "511",
        "A: n m; B: p n; C: m p; D: n m",
        "kron(A, B) @ kron(C, D)",
        lambda A, B, C, D: np.kron(A @ C, B @ D),
        lambda A, B, C, D: np.kron(A, B) @ np.kron(C, D),
    ),
    _value(
        "516",
        "A: n n regular; B: m m regular",
        "det(kron(A, B))",
        lambda A, B: det(A) ** len(B) * det(B) ** len(A),
        lambda A, B: det(np.kron(A, B)),
    ),
    # vec stacks columns, so vec(X) is ravel(X.T).
    _value(
        "520",
        "A: p n; X: n m; B: m q",
        "ravel((A @ X @ B).T)",
        lambda A, X, B: np.kron(B.T, A) @ X.ravel(order="F"),
        lambda A, X, B: (A @ X @ B).ravel(order="F"),
    ),
    _value(
        "521",
        "A: n m; B: n m",
        "trace(A.T @ B)",
        lambda A, B: np.vdot(A, B),
        lambda A, B: np.trace(A.T @ B),
    ),
    _value(
        "525",
        "x: n",
        "norm(x, 1)",
        lambda x: np.sum(np.abs(x)),
        lambda x: np.linalg.norm(x, 1),
    ),
    _value(
        "528",
        "x: n",
        "norm(x, inf)",
        lambda x: np.max(np.abs(x)),
        lambda x: np.linalg.norm(x, np.inf),
    ),
    _value(
        "537",
        "A: n m",
        "max(sum(abs(A), axis=0))",
        lambda A: np.max(np.sum(np.abs(A), axis=0)),
        lambda A: np.linalg.norm(A, 1),
    ),
    _value(
        "540",
        "A: n m",
        "max(sum(abs(A), axis=1))",
        lambda A: np.max(np.sum(np.abs(A), axis=1)),
        lambda A: np.linalg.norm(A, np.inf),
    ),
    _value(
        "541",
        "A: n m",
        "norm(A)",
        lambda A: np.sqrt(np.trace(A @ A.T)),
        lambda A: np.linalg.norm(A),
    ),
]
