"""Single expressions that textbooks differentiate, each as an expert writes it."""

from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve

Array = Any


def level(x: Array) -> tuple[Array, Array]:
    """The largest entry apart, then one exponential."""
    top = x.max()
    e = np.exp(x - top)
    s = e.sum()
    e /= s
    return top + np.log(s), e


def ridge(w: Array, X: Array, y: Array, lam: float) -> tuple[Array, Array]:
    """The residual serves both."""
    r = X @ w - y
    return r @ r + lam * (w @ w), 2 * (X.T @ r + lam * w)


def bilinear(X: Array, A: Array, B: Array, C: Array) -> tuple[Array, Array]:
    """Two products there, two back."""
    R = A @ X @ B
    R -= C
    return np.vdot(R, R), 2 * (A.T @ R @ B.T)


def bilinear_factors(A: Array, B: Array) -> tuple[Array, Array]:
    """The two factors of a Kronecker product."""
    return 2 * (A.T @ A), B @ B.T


def quadratic(x: Array, A: Array) -> tuple[Array, Array]:
    """The matrix is not symmetric: two products."""
    Ax = A @ x
    return x @ Ax, Ax + A.T @ x


def chain(x: Array, A: Array, B: Array) -> Array:
    """Both slopes scale one matrix, and one product remains."""
    t = A @ x
    s = np.sin(t)
    h = np.tanh(s)
    return (B * ((1 - h * h) * np.cos(t))) @ A


def process(X: Array, y: Array, length: float, noise: float) -> tuple[Array, ...]:
    """One Cholesky factor, and the inverse from it, for the value and both slopes."""
    n = len(y)
    square = (X * X).sum(1)
    D = square[:, None] + square - 2 * (X @ X.T)
    np.fill_diagonal(D, 0)
    K = np.exp(D / (-2 * length * length))
    S = K.copy()
    S[np.diag_indices(n)] += noise
    factor = cho_factor(S, lower=True, overwrite_a=True, check_finite=False)
    inverse = cho_solve(factor, np.eye(n), overwrite_b=True, check_finite=False)
    a = inverse @ y
    value = y @ a / 2 + np.log(factor[0].diagonal()).sum()
    D *= K
    by_length = (np.vdot(inverse, D) - a @ D @ a) / (2 * length**3)
    return value, by_length, (np.trace(inverse) - a @ a) / 2


def softmax_regression(W: Array, X: Array, Y: Array) -> tuple[Array, Array]:
    """One exponential for the value and the probabilities."""
    Z = X @ W
    top = Z.max(1, keepdims=True)
    P = np.exp(Z - top)
    s = P.sum(1, keepdims=True)
    value = (top + np.log(s)).sum() - np.vdot(Y, Z)
    P /= s
    P -= Y
    return value, X.T @ P


def rosenbrock(x: Array) -> tuple[Array, Array]:
    """Two differences, each used three times."""
    head = x[:-1]
    a = x[1:] - head * head
    b = 1 - head
    slope = np.empty_like(x)
    slope[:-1] = -400 * head * a - 2 * b
    slope[-1] = 0
    slope[1:] += 200 * a
    return 100 * (a @ a) + b @ b, slope


def rosenbrock_bands(x: Array) -> tuple[Array, Array]:
    """The diagonal of the Hessian and the one beside it."""
    head = x[:-1]
    diagonal = np.empty_like(x)
    diagonal[:-1] = 1200 * head * head - 400 * x[1:] + 2
    diagonal[-1] = 0
    diagonal[1:] += 200
    return diagonal, -400 * head


def stencil(u: Array, g: Array) -> tuple[Array, Array]:
    """Differences both ways, and their differences back."""
    a, b = u[1:] - u[:-1], u[:, 1:] - u[:, :-1]
    q = u * u
    value = (np.vdot(a, a) + np.vdot(b, b)) / 2 + np.vdot(q, q) / 4 - np.vdot(g, u)
    q *= u
    q -= g
    q[1:] += a
    q[:-1] -= a
    q[:, 1:] += b
    q[:, :-1] -= b
    return value, q


def kernel(X: Array, W: Array) -> tuple[Array, Array]:
    """Distances from one product; row and column sums, and two products back."""
    square = (X * X).sum(1)
    K = X @ X.T
    K -= square[:, None] / 2
    K -= square / 2
    np.exp(K, out=K)
    K *= W
    value = K.sum()
    both = K.sum(0) + K.sum(1)
    return value, K @ X + K.T @ X - both[:, None] * X


def attention(Q: Array, K: Array, V: Array, C: Array) -> tuple[Array, ...]:
    """A softmax of rows in place, and the usual way back."""
    scale = 1 / np.sqrt(Q.shape[1])
    P = Q @ K.T
    P *= scale
    P -= P.max(1, keepdims=True)
    np.exp(P, out=P)
    P /= P.sum(1, keepdims=True)
    out = P @ V
    value = np.vdot(C, out)
    S = C @ V.T
    S -= (C * out).sum(1, keepdims=True)
    S *= P
    S *= scale
    return value, S @ K, S.T @ Q, P.T @ C
