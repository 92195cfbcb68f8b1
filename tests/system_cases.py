"""Matrices that a spec builds, and the same functions of dense matrices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Array = Any
HEAD = "tensorgen: 1\nmodule: systems\n"

SPEC = HEAD + """
dims: {n: 1000, m: 1500, p: 400, k: 5}
inputs:
  theta: scalar
  phi: scalar
  kappa: scalar
  x: [m]
  y: [n]
  d: [n]
  rho: {shape: [n], positive: true}
  a: {shape: [m], index: n}
  b: {shape: [m], index: n}
  L: [p, k]
  psi: {shape: [p], positive: true}
  r: [p]
  A: [k, k]
  B: [p, p]
  Z: [n, k]
functions:
  moving_average:
    where: |
      S = eye(n) - theta*diag(ones(n - 1), -1)
      e = solve(S, y)
    expr: sum(e**2)
    wrt: [theta, y]
    emit: [value, gradient, problem]
  tridiagonal:
    where: |
      T = diag(d) + 0.5*diag(ones(n - 1), 1) - diag(y[1:], -1)
    expr: y @ solve(T, y) + logdet(T) + det(T) + trace(solve(T, outer(y, d)))
    wrt: d
    emit: [value, gradient]
  arma:
    where: |
      P = eye(n) - theta*diag(ones(n - 1), -1)
      M = eye(n) + phi*diag(ones(n - 1), -1)
      e = solve(M, P @ y)
    expr: e @ e
    wrt: [theta, phi]
    emit: [value, gradient]
  autoregression:
    where: |
      P = eye(n) - theta*diag(ones(n - 1), -1) - phi*diag(ones(n - 2), -2)
      e = solve(P, y) - d
    expr: e @ e
    wrt: [theta, phi, y]
    emit: [value, gradient, hvp]
  garch:
    where: |
      G = eye(n) - phi*diag(ones(n - 1), -1)
      lagged[i=range(n)] = sum(y[j]**2*delta(i, j + 1), j)
      h = solve(G, kappa + theta*lagged)
    expr: sum(log(h) + y**2/h)/2
    wrt: [kappa, theta, phi]
    emit: [value, gradient, hvp]
  scaled:
    where: U = 3*diag(d) + theta*diag(y[1:], 1)
    expr: logdet(U) + y @ solve(U, y) + det(U)
    wrt: [d, y]
    emit: [value, gradient]
  stationary:
    where: |
      K[i=range(n), j=range(n)] = exp(-abs(i - j)*kappa) + theta*delta(i, j)
      S = spd(K)
    expr: y @ solve(S, y) + logdet(S)
    wrt: [kappa, theta, y]
    emit: [value, gradient, hvp]
  poisson:
    where: |
      K = 2*eye(n) - diag(ones(n - 1), 1) - diag(ones(n - 1), -1)
      u = solve(K, exp(d))
    expr: sum((u - y)**2)
    wrt: d
    emit: [value, gradient, hvp]
  compliance:
    where: |
      D[e, i] = delta(i, a[e]) - delta(i, b[e])
      K[i, j] = rho[i]*delta(i, j) + sum(x[e]*D[e, i]*D[e, j], e)
    expr: y @ solve(K, y) + logdet(K) + det(K/10)
    wrt: x
    emit: [value, gradient, hessian, problem]
  factors:
    where: S = diag(psi) + L @ L.T
    expr: r @ solve(S, r) + logdet(S) + log(det(S)) + sum(inv(S) @ r)
    wrt: [L, psi]
    emit: [value, gradient, problem]
  several:
    where: S = diag(exp(r)) + L @ (A.T @ A) @ L.T + 2*outer(psi, psi) + 0.5
    expr: psi @ solve(S, r) + logdet(S)
    wrt: r
    emit: [value, gradient]
  mixed:
    where: |
      R = spd(diag(rho + 2) - diag(ones(n - 1), 1) - diag(ones(n - 1), -1))
      S = R + Z @ (A.T @ A) @ Z.T + outer(rho, rho)
    expr: y @ solve(S, y) + logdet(S)
    wrt: [Z, rho]
    emit: [value, gradient, problem]
  grid:
    where: |
      D[e, i] = delta(i, a[e]) - delta(i, b[e])
      K[i, j] = rho[i]*delta(i, j) + sum(exp(x[e])*D[e, i]*D[e, j], e)
      S = K + Z @ Z.T
    expr: y @ solve(S, y) + logdet(S)
    wrt: x
    emit: [value, gradient]
  kronecker:
    where: K = kron(A, B)
    expr: ravel(L.T) @ solve(2*K, ravel(L.T)) + logdet(K)
    wrt: [A, B]
    emit: [value, gradient]
  blocks:
    where: K = kron(eye(p), A)
    expr: ravel(L) @ solve(K, ravel(L)) + logdet(3*K)
    wrt: A
    emit: [value, gradient]
  heat:
    where: |
      S = spd(eye(n) + theta*(2*eye(n) - diag(ones(n - 1), 1) - diag(ones(n - 1), -1)))
      u[0] = y
      u[t + 1] = solve(S, u[t] + Z[:, t])
    expr: sum(u[k]**2)
    wrt: [theta, Z]
    emit: [value, gradient, hvp]
  diffusion:
    where: |
      S = eye(n) + theta*(diag(2*rho) - diag(rho[1:], -1) - diag(y[:-1], 1))
      E = eye(n) - theta*(diag(2*rho) - diag(rho[1:], -1))
      u[0] = y
      u[t + 1] = tanh(solve(S.T, E @ u[t] + Z[:, t]))
    expr: sum(u**2)
    wrt: [rho, theta]
    emit: [value, gradient, hvp]
  diagonals:
    expr: y @ solve(diag(d), y) + logdet(diag(2*d)) + det(diag(d)) + sum(inv(diag(d)))
    wrt: d
    emit: [value, gradient, hessian]
"""


def shift(n: int, k: int) -> Array:
    return np.eye(n, k=k)


def logdet(matrix: Array) -> Array:
    """The logarithm of the absolute value, continued along complex steps."""
    found = np.linalg.det(matrix)
    return np.log(found * np.sign(np.real(found)))


def moving_average(g: dict[str, Array]) -> Array:
    n = len(g["y"])
    e = np.linalg.solve(np.eye(n) - g["theta"] * shift(n, -1), g["y"])
    return e @ e


def tridiagonal(g: dict[str, Array]) -> Array:
    y, d = g["y"], g["d"]
    T = np.diag(d) + 0.5 * shift(len(y), 1) - np.diag(y[1:], -1)
    inverse = np.linalg.inv(T)
    last = np.linalg.det(T) + np.trace(inverse @ np.outer(y, d))
    return y @ inverse @ y + logdet(T) + last


def arma(g: dict[str, Array]) -> Array:
    n, y = len(g["y"]), g["y"]
    P, M = np.eye(n) - g["theta"] * shift(n, -1), np.eye(n) + g["phi"] * shift(n, -1)
    e = np.linalg.solve(M, P @ y)
    return e @ e


def autoregression(g: dict[str, Array]) -> Array:
    n = len(g["y"])
    A = np.eye(n) - g["theta"] * shift(n, -1) - g["phi"] * shift(n, -2)
    e = np.linalg.solve(A, g["y"]) - g["d"]
    return e @ e


def garch(g: dict[str, Array]) -> Array:
    n, squares = len(g["y"]), g["y"] ** 2
    B, lagged = np.eye(n) - g["phi"] * shift(n, -1), shift(n, -1) @ squares
    h = np.linalg.solve(B, g["kappa"] + g["theta"] * lagged)
    return (np.log(h) + squares / h).sum() / 2


def scaled(g: dict[str, Array]) -> Array:
    U = 3 * np.diag(g["d"]) + g["theta"] * np.diag(g["y"][1:], 1)
    return logdet(U) + g["y"] @ np.linalg.solve(U, g["y"]) + np.linalg.det(U)


def stationary(g: dict[str, Array]) -> Array:
    n, y = len(g["y"]), g["y"]
    distance = abs(np.subtract.outer(np.arange(n), np.arange(n)))
    S = np.exp(-distance * g["kappa"]) + g["theta"] * np.eye(n)
    return y @ np.linalg.solve(S, y) + logdet(S)


def poisson(g: dict[str, Array]) -> Array:
    n = len(g["y"])
    K = 2 * np.eye(n) - shift(n, 1) - shift(n, -1)
    return ((np.linalg.solve(K, np.exp(g["d"])) - g["y"]) ** 2).sum()


def compliance(g: dict[str, Array]) -> Array:
    unit = np.eye(len(g["y"]))
    D = unit[g["a"]] - unit[g["b"]]
    K = np.diag(g["rho"]) + D.T @ (g["x"][:, None] * D)
    value = g["y"] @ np.linalg.solve(K, g["y"])
    return value + logdet(K) + np.linalg.det(K / 10)


def factors(g: dict[str, Array]) -> Array:
    S = np.diag(g["psi"]) + g["L"] @ g["L"].T
    solution = np.linalg.solve(S, g["r"])
    return g["r"] @ solution + 2 * logdet(S) + solution.sum()


def several(g: dict[str, Array]) -> Array:
    L, A, psi = g["L"], g["A"], g["psi"]
    S = np.diag(np.exp(g["r"])) + L @ A.T @ A @ L.T + 2 * np.outer(psi, psi) + 0.5
    return psi @ np.linalg.solve(S, g["r"]) + logdet(S)


def mixed(g: dict[str, Array]) -> Array:
    y, rho, Z, A = (g[x] for x in ("y", "rho", "Z", "A"))
    R = np.diag(rho + 2) - shift(len(y), 1) - shift(len(y), -1)
    S = R + Z @ A.T @ A @ Z.T + np.outer(rho, rho)
    return y @ np.linalg.solve(S, y) + logdet(S)


def grid(g: dict[str, Array]) -> Array:
    unit = np.eye(len(g["y"]))
    D = unit[g["a"]] - unit[g["b"]]
    K = np.diag(g["rho"]) + D.T @ (np.exp(g["x"])[:, None] * D)
    S = K + g["Z"] @ g["Z"].T
    return g["y"] @ np.linalg.solve(S, g["y"]) + logdet(S)


def kronecker(g: dict[str, Array]) -> Array:
    K, v = np.kron(g["A"], g["B"]), g["L"].T.ravel()
    return v @ np.linalg.solve(2 * K, v) + logdet(K)


def blocks(g: dict[str, Array]) -> Array:
    K, v = np.kron(np.eye(len(g["L"])), g["A"]), g["L"].ravel()
    return v @ np.linalg.solve(K, v) + logdet(3 * K)


def heat(g: dict[str, Array]) -> Array:
    u, n = g["y"], len(g["y"])
    S = np.eye(n) + g["theta"] * (2 * np.eye(n) - shift(n, 1) - shift(n, -1))
    for source in g["Z"].T:
        u = np.linalg.solve(S, u + source)
    return u @ u


def diffusion(g: dict[str, Array]) -> Array:
    y, rho, theta, n = g["y"], g["rho"], g["theta"], len(g["y"])
    lower = np.diag(2 * rho) - np.diag(rho[1:], -1)
    S = np.eye(n) + theta * (lower - np.diag(y[:-1], 1))
    B = np.eye(n) - theta * lower
    u, total = y, y @ y
    for source in g["Z"].T:
        u = np.tanh(np.linalg.solve(S.T, B @ u + source))
        total = total + u @ u
    return total


def diagonals(g: dict[str, Array]) -> Array:
    y, d = g["y"], g["d"]
    value = (y**2 / d).sum() + np.log(2 * d * np.sign(d.real)).sum()
    return value + d.prod() + (1 / d).sum()


CASES: dict[str, tuple[Callable[[dict[str, Array]], Array], str, str]] = {
    "moving_average": (moving_average, "theta y", "theta y"),
    "tridiagonal": (tridiagonal, "y d", "d"),
    "arma": (arma, "theta phi y", "theta phi"),
    "autoregression": (autoregression, "theta phi y d", "theta phi y"),
    "garch": (garch, "theta phi kappa y", "kappa theta phi"),
    "scaled": (scaled, "theta y d", "d y"),
    "stationary": (stationary, "theta kappa y", "kappa theta y"),
    "poisson": (poisson, "y d", "d"),
    "compliance": (compliance, "x y rho a b", "x"),
    "factors": (factors, "L psi r", "L psi"),
    "several": (several, "L psi r A", "r"),
    "mixed": (mixed, "y rho Z A", "Z rho"),
    "grid": (grid, "x y rho Z a b", "x"),
    "kronecker": (kronecker, "L A B", "A B"),
    "blocks": (blocks, "L A", "A"),
    "heat": (heat, "theta y Z", "theta Z"),
    "diffusion": (diffusion, "theta y rho Z", "rho theta"),
    "diagonals": (diagonals, "y d", "d"),
}


def given(n: int, m: int, p: int, k: int) -> dict[str, Array]:
    rng = np.random.default_rng(5)
    first = rng.integers(0, n, m)
    d = rng.uniform(2, 3, n) * rng.choice([-1, 1], n)
    A, B = (np.eye(s) * 3 + rng.normal(size=(s, s)) / s for s in (k, min(p, 20)))
    return {
        "theta": 0.4,
        "phi": 0.3,
        "kappa": 0.2,
        "x": rng.uniform(1, 2, m),
        "y": rng.normal(size=n),
        "d": d,
        "rho": rng.uniform(1, 2, n),
        "a": first,
        "b": (first + rng.integers(1, 4, m)) % n,
        "L": rng.normal(size=(p, k)),
        "psi": rng.uniform(0.5, 1.5, p),
        "r": rng.normal(size=p),
        "A": A,
        "B": B,
        "Z": rng.normal(size=(n, k)),
    }
