"""Matrices inside of expressions: value and gradient, beside code by hand.

By hand a band is solved with by `solve_banded`, a recurrence run by `lfilter`, low rank
treated by Woodbury's formula, an assembled matrix by `splu`; the dense column is what
NumPy makes of the text as it is.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import report
from scipy.linalg import cho_factor, cho_solve, solve_banded
from scipy.signal import lfilter
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
  phi: scalar
  omega: scalar
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
  arma:
    where: |
      P = eye(n) - phi*diag(ones(n - 1), -1)
      M = eye(n) + theta*diag(ones(n - 1), -1)
      e = solve(M, P @ y)
    expr: e @ e
    wrt: [phi, theta]
    emit: [value, gradient]
  autoregression:
    where: |
      P = eye(n) - phi*diag(ones(n - 1), -1) - theta*diag(ones(n - 2), -2)
      e = solve(P, f) - y
    expr: e @ e
    wrt: [phi, theta]
    emit: [value, gradient]
  garch:
    where: |
      G = eye(n) - phi*diag(ones(n - 1), -1)
      lagged[i=range(n)] = sum(y[j]**2*delta(i, j + 1), j)
      h = solve(G, omega + theta*lagged)
    expr: sum(log(h) + y**2/h)/2
    wrt: [omega, theta, phi]
    emit: [value, gradient]
  field:
    where: |
      T = diag(rho + 2) - diag(ones(n - 1), 1) - diag(ones(n - 1), -1)
    expr: y @ T @ y - logdet(T)
    wrt: rho
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


def _backward(weights: list[float], x: Array) -> Array:
    """Run a recurrence from the end: the transposed triangle."""
    return lfilter([1], weights, x[::-1])[::-1]


def arma(phi: float, theta: float, y: Array) -> Any:
    """One recurrence forward and one back."""
    e = lfilter([1, -phi], [1, theta], y)
    adjoint = -2 * _backward([1, theta], e)
    return e @ e, (y[:-1] @ adjoint[1:], e[:-1] @ adjoint[1:])


def autoregression(phi: float, theta: float, f: Array, y: Array) -> Any:
    """One recurrence forward and one back."""
    x = lfilter([1], [1, -phi, -theta], f)
    e = x - y
    adjoint = 2 * _backward([1, -phi, -theta], e)
    return e @ e, (x[:-1] @ adjoint[1:], x[:-2] @ adjoint[2:])


def garch(omega: float, theta: float, phi: float, y: Array) -> Any:
    """One recurrence forward and one back."""
    squares = y**2
    right = np.full(len(y), omega)
    right[1:] += theta * squares[:-1]
    h = lfilter([1], [1, -phi], right)
    ratio = squares / h
    adjoint = 0.5 * _backward([1, -phi], (1 - ratio) / h)
    slopes = adjoint.sum(), squares[:-1] @ adjoint[1:], h[:-1] @ adjoint[1:]
    return 0.5 * (np.log(h) + ratio).sum(), slopes


def field(y: Array, rho: Array) -> Any:
    """The pivots of one elimination, and the diagonal of the inverse from the end."""
    d = rho + 2
    product = d * y
    product[1:] -= y[:-1]
    product[:-1] -= y[1:]
    pivots = d.tolist()
    for k in range(1, len(pivots)):
        pivots[k] -= 1 / pivots[k - 1]
    inverse = [1 / pivot for pivot in pivots]
    for k in range(len(pivots) - 2, -1, -1):
        inverse[k] += inverse[k] ** 2 * inverse[k + 1]
    return y @ product - np.log(pivots).sum(), y**2 - np.array(inverse)


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
    "arma": arma,
    "autoregression": autoregression,
    "garch": garch,
    "field": field,
    "factors": factors,
    "compliance": compliance,
    "kronecker": kronecker,
}


def dense(name: str, g: dict[str, Array]) -> Array:
    """The same value of a dense matrix, without a gradient."""
    return DENSE[name](g)


def _shift(g: dict[str, Array], by: int) -> Array:
    return np.eye(len(g["y"]), k=by)


def _residual(g: dict[str, Array], S: Array, right: Array, less: Any = 0.0) -> Any:
    e = np.linalg.solve(S, right) - less
    return e @ e


def _moving_average(g: dict[str, Array]) -> Any:
    return _residual(g, _shift(g, 0) - g["theta"] * _shift(g, -1), g["y"])


def _arma(g: dict[str, Array]) -> Any:
    A = _shift(g, 0) - g["phi"] * _shift(g, -1)
    return _residual(g, _shift(g, 0) + g["theta"] * _shift(g, -1), A @ g["y"])


def _autoregression(g: dict[str, Array]) -> Any:
    A = _shift(g, 0) - g["phi"] * _shift(g, -1) - g["theta"] * _shift(g, -2)
    return _residual(g, A, g["f"], g["y"])


def _garch(g: dict[str, Array]) -> Any:
    squares = g["y"] ** 2
    right = g["omega"] + g["theta"] * (_shift(g, -1) @ squares)
    h = np.linalg.solve(_shift(g, 0) - g["phi"] * _shift(g, -1), right)
    return (np.log(h) + squares / h).sum() / 2


def _field(g: dict[str, Array]) -> Any:
    T = np.diag(g["rho"] + 2) - _shift(g, 1) - _shift(g, -1)
    return g["y"] @ T @ g["y"] - np.linalg.slogdet(T)[1]


def _quadratic(S: Array, v: Array) -> Any:
    return v @ np.linalg.solve(S, v) + np.linalg.slogdet(S)[1]


def _compliance(g: dict[str, Array]) -> Any:
    D = np.zeros((len(g["x"]), len(g["f"])))
    e = np.arange(len(D))
    D[e, g["s"]] += 1
    D[e, g["t"]] -= 1
    K = np.diag(g["rho"]) + D.T @ (g["x"][:, None] * D)
    return g["f"] @ np.linalg.solve(K, g["f"])


DENSE: dict[str, Callable[[dict[str, Array]], Any]] = {
    "moving_average": _moving_average,
    "arma": _arma,
    "autoregression": _autoregression,
    "garch": _garch,
    "field": _field,
    "factors": lambda g: _quadratic(np.diag(g["psi"]) + g["L"] @ g["L"].T, g["r"]),
    "compliance": _compliance,
    "kronecker": lambda g: _quadratic(np.kron(g["A"], g["B"]), g["V"].ravel()),
}


def data() -> dict[str, dict[str, Array]]:
    """The arguments of each function."""
    rng = np.random.default_rng(0)
    n, m, p, k, a, b = 2000, 6000, 2000, 8, 40, 50
    s = rng.integers(0, n, m)
    squares = [np.eye(d) * 3 + rng.normal(size=(d, d)) / d for d in (a, b)]
    y = rng.normal(size=n)
    recurrence = {"phi": 0.5, "theta": 0.2, "y": y}
    return {
        "moving_average": {"theta": 0.4, "y": y},
        "arma": recurrence,
        "autoregression": {**recurrence, "f": rng.normal(size=n)},
        "garch": {**recurrence, "omega": 0.1},
        "field": {"y": y, "rho": rng.uniform(0.1, 1, n)},
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
            own.append(report.timed(partial(ours, **given)))
            hand.append(report.timed(partial(HAND[name], **given)))
        whole = report.timed(partial(dense, name, given))
        times = report.spread(own)[0], report.spread(hand)[0]
        lines.append(
            f"{name:<16}{times[0]:>10.6f}{times[1]:>10.6f}{times[0] / times[1]:>8.2f}"
            f"{whole:>13.4f}"
        )
    report.write("systems.txt", lines)


def _parts(gradient: Any) -> tuple[Any, ...]:
    return gradient if isinstance(gradient, tuple) else (gradient,)


if __name__ == "__main__":
    main()
