"""Matrices inside of expressions: value and gradient, beside code by hand.

By hand a band is solved with by `solve_banded`, low rank by Woodbury's formula, an
assembled matrix by `splu`; the dense column is what NumPy makes of the text as it is.
"""

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import report
from scipy.linalg import cho_factor, cho_solve, solve_banded
from scipy.sparse import csc_matrix
from scipy.sparse.linalg import splu

import tensorgen

Array = Any
SPEC = """
tensorgen: 1
module: systems
dims: {n: 2000, m: 6000, p: 2000, k: 8, a: 40, b: 50}
inputs:
  theta: scalar
  y: [n]
  x: [m]
  f: [n]
  rho: {shape: [n], positive: true}
  s: {shape: [m], index: n}
  t: {shape: [m], index: n}
  L: [p, k]
  psi: {shape: [p], positive: true}
  r: [p]
  A: [a, a]
  B: [b, b]
  V: [a, b]
functions:
  moving_average:
    where: |
      S = eye(n) - theta*diag(ones(n - 1), -1)
      e = solve(S, y)
    expr: e @ e
    wrt: theta
    emit: [value, gradient]
  factors:
    where: S = diag(psi) + L @ L.T
    expr: r @ solve(S, r) + logdet(S)
    wrt: [L, psi]
    emit: [value, gradient]
  compliance:
    where: |
      D[e, i] = delta(i, s[e]) - delta(i, t[e])
      K[i, j] = rho[i]*delta(i, j) + sum(x[e]*D[e, i]*D[e, j], e)
    expr: f @ solve(K, f)
    wrt: x
    emit: [value, gradient]
  kronecker:
    where: K = kron(A, B)
    expr: ravel(V) @ solve(K, ravel(V)) + logdet(K)
    wrt: [A, B]
    emit: [value, gradient]
"""


def moving_average(theta: float, y: Array) -> Any:
    """One elimination by rows and one by columns."""
    n = len(y)
    lower, upper = np.ones((2, n)), np.ones((2, n))
    lower[1, :-1] = upper[0, 1:] = -theta
    e = solve_banded((1, 0), lower, y)
    adjoint = solve_banded((0, 1), upper, e)
    return e @ e, 2 * adjoint[1:] @ e[:-1]


def factors(L: Array, psi: Array, r: Array) -> Any:
    """Woodbury's formula, differentiated by hand."""
    scaled = L / psi[:, None]
    core = cho_factor(np.eye(L.shape[1]) + L.T @ scaled)
    solved = r / psi - scaled @ cho_solve(core, scaled.T @ r)
    logdet = np.log(psi).sum() + 2 * np.log(np.diagonal(core[0])).sum()
    inverse = scaled @ cho_solve(core, np.eye(L.shape[1]))
    grad_L = 2 * (inverse - np.outer(solved, solved @ L))
    grad_psi = 1 / psi - (inverse * scaled).sum(axis=1) - solved**2
    return r @ solved + logdet, (grad_L, grad_psi)


def compliance(x: Array, f: Array, rho: Array, s: Array, t: Array) -> Any:
    """One sparse elimination; the matrix is symmetric."""
    n, i = len(f), np.arange(len(f))
    rows, columns = np.concatenate([i, s, t, s, t]), np.concatenate([i, s, t, t, s])
    values = np.concatenate([rho, x, x, -x, -x])
    K = csc_matrix((values, (rows, columns)), shape=(n, n))
    u = splu(K, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.1).solve(f)
    return f @ u, -((u[s] - u[t]) ** 2)


def kronecker(A: Array, B: Array, V: Array) -> Any:
    """By the factors."""
    inv_A, inv_B = np.linalg.inv(A), np.linalg.inv(B)
    X = inv_A @ V @ inv_B.T
    logdet = len(B) * np.linalg.slogdet(A)[1] + len(A) * np.linalg.slogdet(B)[1]
    grad_A = len(B) * inv_A.T - inv_A.T @ V @ X.T
    grad_B = len(A) * inv_B.T - inv_B.T @ V.T @ X
    return (V * X).sum() + logdet, (grad_A, grad_B)


HAND: dict[str, Callable[..., Any]] = {
    "moving_average": moving_average,
    "factors": factors,
    "compliance": compliance,
    "kronecker": kronecker,
}


def dense(name: str, g: dict[str, Array]) -> Array:
    """The same value of a dense matrix, without a gradient."""
    if name == "moving_average":
        S = np.eye(len(g["y"])) - g["theta"] * np.eye(len(g["y"]), k=-1)
        e = np.linalg.solve(S, g["y"])
        return e @ e
    if name == "factors":
        S, v = np.diag(g["psi"]) + g["L"] @ g["L"].T, g["r"]
    elif name == "kronecker":
        S, v = np.kron(g["A"], g["B"]), g["V"].ravel()
    else:
        D = np.zeros((len(g["x"]), len(g["f"])))
        e = np.arange(len(D))
        D[e, g["s"]] += 1
        D[e, g["t"]] -= 1
        K = np.diag(g["rho"]) + D.T @ (g["x"][:, None] * D)
        return g["f"] @ np.linalg.solve(K, g["f"])
    return v @ np.linalg.solve(S, v) + np.linalg.slogdet(S)[1]


def data() -> dict[str, dict[str, Array]]:
    """The arguments of each function."""
    rng = np.random.default_rng(0)
    n, m, p, k, a, b = 2000, 6000, 2000, 8, 40, 50
    s = rng.integers(0, n, m)
    squares = [np.eye(d) * 3 + rng.normal(size=(d, d)) / d for d in (a, b)]
    return {
        "moving_average": {"theta": 0.4, "y": rng.normal(size=n)},
        "factors": {
            "L": rng.normal(size=(p, k)),
            "psi": rng.uniform(0.5, 1.5, p),
            "r": rng.normal(size=p),
        },
        "compliance": {
            "x": rng.uniform(1, 2, m),
            "f": rng.normal(size=n),
            "rho": rng.uniform(1, 2, n),
            "s": s,
            "t": (s + rng.integers(1, 4, m)) % n,
        },
        "kronecker": {"A": squares[0], "B": squares[1], "V": rng.normal(size=(a, b))},
    }


def main() -> None:
    """Measure, and write the table."""
    module: Any = tensorgen.load(SPEC)
    lines = report.machine("numpy", "scipy")
    lines += [
        "",
        "seconds, medians of 15 rounds that take turns; value and gradient",
        "",
    ]
    lines.append(
        f"{'case':<16}{'ours':>10}{'by hand':>10}{'ratio':>8}{'dense value':>13}"
    )
    for name, given in data().items():
        ours = getattr(module, f"{name}_value_and_grad")
        expected = HAND[name](**given)
        found = ours(**given)
        np.testing.assert_allclose(found[0], expected[0], rtol=1e-9)
        np.testing.assert_allclose(dense(name, given), expected[0], rtol=1e-9)
        pairs = zip(_parts(found[1]), _parts(expected[1]), strict=True)
        for one, other in pairs:
            np.testing.assert_allclose(one, other, rtol=1e-7, atol=1e-9)
        own, hand = [], []
        for _ in range(15):
            own.append(_timed(partial(ours, **given)))
            hand.append(_timed(partial(HAND[name], **given)))
        whole = _timed(partial(dense, name, given))
        times = report.spread(own)[0], report.spread(hand)[0]
        lines.append(
            f"{name:<16}{times[0]:>10.6f}{times[1]:>10.6f}{times[0] / times[1]:>8.2f}"
            f"{whole:>13.4f}"
        )
    report.write("systems.txt", lines)


def _parts(gradient: Any) -> tuple[Any, ...]:
    return gradient if isinstance(gradient, tuple) else (gradient,)


def _timed(call: Callable[[], Any]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
