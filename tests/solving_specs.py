"""A Hessian for each way to solve."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from types import ModuleType
from typing import Any

import numpy as np

SPEC = """
tensorgen: 1
module: solving
inputs:
  x: [n]
  d: {shape: [n], positive: true}
  M: [n, n]
  U: [m, k]
  V: [p, k]
  T: [m, p]
  O: {shape: [m, p], positive: true}
  A: [m, m]
  B: [k, k]
  C: [m, m]
  D: [k, k]
  E: [n, k]
  P: {shape: [m, m], symmetric: true}
  Q: {shape: [k, k], symmetric: true}
  a: {shape: [e], index: n}
  b: {shape: [e], index: n}
  w: [e]
functions:
  dense: {expr: "sum(exp(M @ x))", wrt: x, emit: [hessian]}
  diagonal: {expr: "sum(d * exp(x))", wrt: x, emit: [hessian]}
  block: {expr: "sum(O * (T - U @ V.T)**2)", wrt: U, emit: [hessian]}
  shared: {expr: "sum((T - U @ V.T)**2)", wrt: U, emit: [hessian]}
  kronecker: {expr: "norm(A @ U @ B)**2", wrt: U, emit: [hessian]}
  symmetric: {expr: "trace(U.T @ P @ U @ Q)", wrt: U, emit: [hessian]}
  sums: {expr: "trace(U.T @ P @ U) + trace(U @ Q @ U.T)", wrt: U, emit: [hessian]}
  pencil: {expr: "norm(A @ U @ B)**2 + norm(C @ U @ D)**2", wrt: U, emit: [hessian]}
  band:
    expr: sum(d * exp(x)) + sum((x[1:] - x[:-1])**2)
    wrt: x
    emit: [hessian]
  low_rank: {expr: "sum(d * x**2) + logsumexp(x)", wrt: x, emit: [hessian]}
  core: {expr: "sum(d * x**2) + x @ E @ Q @ E.T @ x", wrt: x, emit: [hessian]}
  springs: {expr: "sum(w[t] * (x[a[t]] - x[b[t]])**2, t)", wrt: x, emit: [hessian]}
  toeplitz:
    expr: sum(exp(-(i - j)**2 / 2) * x[i] * x[j], i, j) + sum(x**2)
    wrt: x
    emit: [hessian]
  joint:
    expr: sum((T - U @ V.T)**2) + sum(U**2) + sum(V**2)
    wrt: [U, V]
    emit: [hessian]
"""

WAYS = {
    "dense": "_DenseFactorization",
    "diagonal": "_DiagonalFactorization",
    "block": "_BlockFactorization",
    "shared": "_BlockFactorization",
    "kronecker": "_KroneckerFactorization",
    "symmetric": "_KroneckerFactorization",
    "sums": "_KroneckerFactorization",
    "pencil": "_PencilFactorization",
    "band": "_BandFactorization",
    "low_rank": "_LowRankFactorization",
    "core": "_LowRankFactorization",
    "springs": "_SparseFactorization",
    "toeplitz": "_ToeplitzFactorization",
    "joint": "_SchurFactorization",
}


def inputs(n: int = 12) -> dict[str, Any]:
    """Arguments at which all Hessians but that of the springs are definite."""
    rng = np.random.default_rng(3)
    m, p, k, e = 7, 6, 3, 40
    shapes = {"x": (n,), "M": (n, n), "U": (m, k), "V": (p, k)}
    shapes |= {
        "T": (m, p),
        "A": (m, m),
        "B": (k, k),
        "C": (m, m),
        "D": (k, k),
        "E": (n, k),
    }
    found = {name: rng.normal(size=shape) / 3 for name, shape in shapes.items()}
    for name, side in (("A", m), ("B", k), ("C", m), ("D", k)):
        found[name] += np.eye(side)
    for name, side in (("P", m), ("Q", k)):
        root = rng.normal(size=(side, side))
        found[name] = root @ root.T + np.eye(side)
    found |= {"d": 1 + rng.random(n), "O": 1 + rng.random((m, p))}
    found |= {"T": found["U"] @ found["V"].T, "w": 1 + rng.random(e)}
    return found | {"a": rng.integers(0, n, e), "b": rng.integers(0, n, e)}


def hessians(
    module: ModuleType, given: dict[str, Any], names: Iterable[str] = tuple(WAYS)
) -> dict[str, Any]:
    """The Hessian of each way to solve, or of some."""

    found = {}
    for name in names:
        function = vars(module)[f"{name}_hess"]
        own = inspect.signature(function).parameters
        found[name] = function(**{x: given[x] for x in own})
    return found
