"""Specs with problems, and arguments for them."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

import tensorgen

LOGISTIC = """
tensorgen: 1
dims: {m: 200, n: 6}
inputs: {w: [n], b: scalar, X: [m, n], y: [m], lam: {shape: scalar, default: 0.5}}
functions:
  loss:
    where: |
      t = -y * (X @ w + b)
    expr: sum(log(1 + exp(t))) + lam * (w @ w + b**2)
    wrt: [w, b]
    emit: [value, gradient, hessian, hvp, problem]
"""
RIDGE = """
tensorgen: 1
dims: {m: 2000, n: 100}
inputs: {w: [n], X: [m, n], y: [m], lam: {shape: scalar, default: 1}}
functions:
  loss:
    expr: norm(X @ w - y)**2 / 2 + lam / 2 * norm(w)**2
    wrt: w
    emit: [value, gradient, hessian, hvp, problem]
"""
WEIGHTED = """
tensorgen: 1
dims: {m: 2000, n: %d}
inputs: {w: [n], X: [m, n], y: [m], s: [m]}
functions:
  loss:
    expr: sum(s * (X @ w - y)**2) + sum(exp(w))
    wrt: w
    emit: [value, gradient, hvp, %s]
"""
KRONECKER = """
tensorgen: 1
dims: {p: 30, q: 40, a: 20, b: 25}
inputs: {W: [a, b], A: [p, a], B: [b, q], C: [p, q]}
functions:
  loss:
    expr: sum((A @ W @ B - C)**2)
    wrt: W
    emit: [value, gradient, hessian, hvp, problem]
"""
PROCESS = """
tensorgen: 1
dims: {n: 100}
inputs: {v: [n], K: {shape: [n, n], symmetric: true}, y: [n]}
functions:
  loss:
    where: |
      S = K + diag(exp(v))
    expr: y @ solve(S, y) / 2 + logdet(S) / 2
    wrt: v
    emit: [value, gradient, hessian, hvp, problem]
"""
NETWORK = """
tensorgen: 1
dims: {s: 50, d: 4, h: 8}
inputs: {U: [h, d], u: [h], v: [h], X: [s, d], y: [s]}
functions:
  loss:
    where: |
      z = tanh(X @ U.T + u)
    expr: mean((z @ v - y)**2)
    wrt: [U, u, v]
    emit: [value, gradient, hessian, hvp, problem]
"""
FACTORS = """
tensorgen: 1
dims: {m: 30, p: 20, k: 3}
inputs: {U: [m, k], V: [p, k], T: [m, p], S: [m, p]}
functions:
  loss: {expr: sum(S * (T - U @ V.T)**2), wrt: [U, V],
         emit: [value, gradient, hessian, hvp, problem]}
"""
RATINGS = """
tensorgen: 1
dims: {e: 100, m: 9, k: 2}
inputs: {U: [m, k], V: [m, k], row: {shape: [e], index: m}, t: [e]}
functions:
  loss:
    expr: sum((t[i] - sum(U[row[i], a] * V[row[i], a], a))**2, i) + sum(U**4)
    wrt: U
    emit: [value, gradient, hessian, hvp, problem]
"""
FIT = """
tensorgen: 1
dims: {m: 40}
inputs: {a: scalar, c: [k], t: [m], P: [m, k], y: [m]}
functions:
  residual:
    expr: exp(-a * t) * (P @ c) - y
    wrt: [a, c]
    emit: [value, jacobian, problem]
"""
SPECS: dict[str, tuple[str, dict[str, tuple[int, ...]]]] = {
    "logistic": (LOGISTIC, {"w": (4,), "b": (), "X": (20, 4), "y": (20,)}),
    "ridge": (RIDGE, {"w": (4,), "X": (20, 4), "y": (20,)}),
    "kronecker": (
        KRONECKER,
        {"W": (2, 3), "A": (5, 2), "B": (3, 4), "C": (5, 4)},
    ),
    "network": (NETWORK, {"U": (3, 2), "u": (3,), "v": (3,), "X": (9, 2), "y": (9,)}),
    "factors": (FACTORS, {"U": (5, 2), "V": (4, 2), "T": (5, 4), "S": (5, 4)}),
    "process": (PROCESS, {"v": (5,), "K": (5, 5), "y": (5,)}),
    "ratings": (RATINGS, {"U": (4, 2), "V": (4, 2), "t": (9,)}),
}


loaded = functools.cache(tensorgen.load)


def inputs(shapes: dict[str, tuple[int, ...]]) -> dict[str, Any]:
    """Make arguments of these shapes, each that a spec here may have."""
    rng = np.random.default_rng(5)
    made: dict[str, Any] = {name: rng.normal(size=s) for name, s in shapes.items()}
    if "K" in made:
        made["K"] = made["K"] @ made["K"].T
    if "t" in made:
        made["row"] = rng.integers(0, 4, size=made["t"].shape)
    return made
