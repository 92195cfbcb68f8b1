"""Systems of equations: dense solves, Gaussian processes, joint Hessians."""

from typing import Any

import numpy as np
from numpy.random import Generator

from by_hand.problem import Data, Problem

Array = Any

NEWTON = """
tensorgen: 1
module: systems
dims: {n: 600}
inputs: {A: {shape: [n, n], symmetric: true}, x: [n]}
functions:
  f:
    expr: log(sum(exp(A @ x))) + sum(x**4)
    wrt: x
    emit: [gradient, hessian]
"""


def _newton_data(rng: Generator) -> Data:
    A = rng.normal(size=(600, 600)) / 30
    return {"A": A + A.T, "x": rng.normal(size=600)}


def newton(A: Array, x: Array) -> Array:
    """One Newton step: the Hessian formed, and one solve."""
    t = A @ x
    e = np.exp(t - t.max())
    p = e / e.sum()
    g = A @ p + 4 * x**3
    v = A @ p
    H = A @ (p[:, None] * A) - np.outer(v, v)
    H[np.diag_indices_from(H)] += 12 * x**2
    return np.linalg.solve(H, g)


def _step(module: Any, data: Data) -> Any:
    return lambda: module.f_hess(**data).solve(module.f_grad(**data))


def _process(spd: bool) -> str:
    noisy = "spd(K + noise*eye(n))" if spd else "K + noise*eye(n)"
    return f"""
tensorgen: 1
module: systems
dims: {{n: 300, d: 8}}
inputs: {{X: [n, d], y: [n], length: [d], scale: scalar, noise: scalar}}
functions:
  f:
    where: |
      K[i, j] = scale*exp(-sum((X[i, k] - X[j, k])**2/length[k]**2, k)/2)
      S = {noisy}
    expr: y @ inv(S) @ y/2 + logdet(S)/2
    wrt: [length, scale, noise]
    emit: [value, gradient]
"""


def _process_data(rng: Generator) -> Data:
    return {
        "X": rng.normal(size=(300, 8)),
        "y": rng.normal(size=300),
        "length": rng.uniform(1, 3, 8),
        "scale": 1.3,
        "noise": 0.2,
    }


def process(
    X: Array, y: Array, length: Array, scale: float, noise: float
) -> tuple[Array, ...]:
    """One Cholesky factor for the value, one inverse for all slopes."""
    Z = X / length
    square = (Z * Z).sum(1)
    K = scale * np.exp(Z @ Z.T - square[:, None] / 2 - square / 2)
    S = K.copy()
    S[np.diag_indices_from(S)] += noise
    L = np.linalg.cholesky(S)
    inverse = np.linalg.inv(S)
    a = inverse @ y
    value = y @ a / 2 + np.log(L.diagonal()).sum()
    G = (inverse - np.outer(a, a)) / 2
    W = G * K
    r = W.sum(1)
    by_length = 2 * (r @ (Z * Z) - ((W @ Z) * Z).sum(0)) / length
    return value, by_length, W.sum() / scale, np.trace(G)


JOINT = """
tensorgen: 1
module: systems
dims: {m: 400, n: 300, k: 5}
inputs: {U: [m, k], V: [n, k], R: [m, n], M: [m, n]}
functions:
  f:
    expr: sum(M*(U @ V.T - R)**2) + 5*sum(U**2) + 5*sum(V**2)
    wrt: [U, V]
    emit: [gradient, hessian]
"""


def _joint_data(rng: Generator) -> Data:
    U, V = rng.normal(size=(400, 5)), rng.normal(size=(300, 5))
    return {
        "U": U,
        "V": V,
        "R": U @ V.T + rng.normal(size=(400, 300)) / 10,
        "M": (rng.random((400, 300)) < 0.3).astype(float),
    }


def joint(U: Array, V: Array, R: Array, M: Array) -> tuple[Array, Array]:
    """The larger factor's blocks are eliminated: one batched solve, one Cholesky."""
    (m, k), n = U.shape, V.shape[0]
    E = M * (U @ V.T - R)
    gu, gv = 2 * E @ V + 10 * U, 2 * E.T @ U + 10 * V
    VV, UU = (V[:, :, None] * V[:, None, :]), (U[:, :, None] * U[:, None, :])
    A = 2 * (M @ VV.reshape(n, -1)).reshape(m, k, k) + 10 * np.eye(k)
    D = 2 * (M.T @ UU.reshape(m, -1)).reshape(n, k, k) + 10 * np.eye(k)
    # The mixed blocks: B[i, a, j, b] = 2 M[i, j] U[i, b] V[j, a] + 2 E[i, j] [a == b].
    B = 2 * M[:, None, :, None] * V.T[None, :, :, None] * U[:, None, None, :]
    B += 2 * E[:, None, :, None] * np.eye(k)[None, :, None, :]
    B = B.reshape(m, k, n * k)
    X = np.linalg.solve(A, np.concatenate([B, gu[:, :, None]], axis=2))
    S = -B.reshape(m * k, -1).T @ X[:, :, :-1].reshape(m * k, -1)
    blocks = S.reshape(n, k, n, k)
    blocks[np.arange(n), :, np.arange(n), :] += D
    right = gv.ravel() - B.reshape(m * k, -1).T @ X[:, :, -1].ravel()
    dv = np.linalg.solve(S, right)
    du = X[:, :, -1] - X[:, :, :-1] @ dv
    return du, dv.reshape(n, k)


def _joint_step(module: Any, data: Data) -> Any:
    def step() -> Any:
        slope = np.concatenate([part.ravel() for part in module.f_grad(**data)])
        found = module.f_hess(**data).solve(slope)
        split = data["U"].size
        return found[:split].reshape(-1, 5), found[split:].reshape(-1, 5)

    return step


PROBLEMS = [
    Problem("dense Newton step", NEWTON, "", _newton_data, newton, _step),
    Problem(
        "Gaussian process", _process(False), "f_value_and_grad", _process_data, process
    ),
    Problem(
        "Gaussian process, definite",
        _process(True),
        "f_value_and_grad",
        _process_data,
        process,
    ),
    Problem("joint Newton step", JOINT, "", _joint_data, joint, _joint_step),
]
