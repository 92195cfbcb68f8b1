"""Expressions over NumPy that are read, and the sizes of their arguments' axes."""

from __future__ import annotations

import numpy as np

SIZES = {"m": 4, "n": 3, "k": 2, "c": 5}
SHAPES = {
    "x": "n",
    "z": "n",
    "u": "m",
    "h": "3",
    "s": "",
    "A": "m n",
    "B": "n k",
    "S": "n n",
    "T": "m n k",
    "V": "k n n",
    "P": "m c",
    "W": "2*k n",
    "y": "m int",
    "row": "c int < m",
    "col": "c int < n",
}
HEAD = """
import math
import numpy as np
import scipy.linalg
from numpy import linalg as la
from scipy import special
from scipy.special import expit, logsumexp

RATE = 0.25
WIDTH = 2 * RATE


def halved(v, by=2):
    w = v / by
    return w


def parts(v):
    c = v - v.mean()
    return c, v.mean()

"""
ELEMENTWISE = [
    "np.exp(x) + np.log(x) * np.sqrt(x) - np.tanh(x) / np.cosh(x)",
    "np.arcsin(x / 9) + np.arctan2(x, z) + np.hypot(x, z)",
    "np.maximum(x, z) * np.minimum(x, 1.0) + np.fabs(-x) + abs(x - z)",
    "np.sign(x - 1) + np.floor(x) + np.ceil(x) + np.rint(x) + np.round(x)",
    "np.square(x) + np.reciprocal(x) + np.negative(x) + np.exp2(x) + np.cbrt(x)",
    "np.power(x, 2) + x ** z + 2 ** x + x**-1 + -x**2 + (-x)**2",
    "np.logaddexp(x, z) + np.log1p(x) + np.expm1(x) + np.log2(x) + np.log10(x)",
    "np.where(x > 1, x, -z) + np.where((x > 0.5) & ~(z > 1), 1, 0)",
    "np.where(x - x[0], 1.0, 2.0)",
    "np.where(np.logical_or(x < 1, np.greater(z, 1)), x, z)",
    "np.clip(x, 0.5, 1.2) + np.clip(z, None, 1) + x.clip(0.7)",
    "np.clip(x, a_min=1, a_max=None)",
    "x % 0.7 + x // 0.3 + np.mod(x, z) + np.floor_divide(x, z) + (-x) % 0.7",
    "np.heaviside(x - x[1], 0.5) + np.deg2rad(x) + np.degrees(z)",
    "(x > 1) * x + (x > 1) / 2 - (x >= z) * 1.5",
    "np.add(x, z) * np.subtract(x, z) / np.multiply(x, 2) + np.divide(x, z)",
    "x - (z - x) - (z / (x * z)) * (x / z / x)",
    "1 / 2 * x + 7 // 2 * x + 7 % 4 * x + 2**3 * x + 2**-1 * x",
    "special.expit(x) + special.gammaln(x) + special.erf(x) + special.xlogy(x, z)",
    "special.entr(x) + special.rel_entr(x, z) + special.kl_div(x, z)",
    "special.huber(1.0, x - z) + special.pseudo_huber(0.7, x) + special.xlog1py(x, z)",
    "special.digamma(x) + special.ndtr(x) + special.log_ndtr(x)",
    "special.polygamma(1, x) + special.ndtri(x / 2)",
    "math.sqrt(s) * x + math.lgamma(s) + math.exp(s) * math.pi + math.pow(s, 2)",
    "float(s) + np.float64(x) + np.pi + np.e + math.tau + RATE * x ** WIDTH",
    "np.finfo(np.float64).eps * x + np.finfo(x.dtype).eps",
    "x if s > 0 else z",
    "x if x.ndim == 1 else s",
    "halved(x) + halved(x + z, by=3) + halved(halved(x))",
    "expit(x) * logsumexp(A) + np.isnan(x) * 2.0",
]
REDUCTIONS = [
    "np.sum(A) + np.sum(A, 0).sum() + A.sum(axis=1).mean() + sum(x)",
    "np.sum(A, axis=0)",
    "A.sum(1, keepdims=True) + A",
    "np.mean(T, axis=(0, 2)) + np.mean(A, axis=-2)",
    "A - A.mean(axis=0) - A.mean(axis=1, keepdims=True)",
    "np.var(A, axis=0) + np.std(A, axis=0, ddof=1) + A.var(0, ddof=1)",
    "np.max(A, axis=1) + A.min(axis=1) + np.amax(A) + np.ptp(A) + max(x) + min(u)",
    "np.prod(x) + np.median(x) + np.median(A, axis=0)",
    "np.average(A, axis=0) + np.average(x, weights=z)",
    "np.cumsum(x) + np.cumprod(x) + A.cumsum(axis=1)[0]",
    "np.cumsum(A)",
    "np.sort(x) + np.sort(A)[0] + np.sort(A, axis=0)[1]",
    "np.sort(A, axis=None)",
    "np.sum(x > 1) + np.mean(x > 1) + (A > 1).sum(axis=0) + np.count_nonzero(x > 1)",
    "special.logsumexp(A, axis=1) + special.softmax(A, axis=1)[:, 0]",
    "special.log_softmax(A, axis=0) + logsumexp(A, axis=0, keepdims=True)",
    "max(s, 2.0) + min(s, 1) + max(len(x), 2)",
    "np.diff(x) + np.diff(A, axis=0)[0, 1:] + np.diff(A, n=2, axis=0)[0, :-1]",
]
MATRICES = [
    "A @ x + A.dot(z) + np.dot(A, x) + np.matmul(A, z)",
    "np.dot(x, z) + x @ z + np.vdot(A, A) + np.inner(x, z) + np.dot(2, s)",
    "A @ B @ B.T @ x",
    "np.dot(T, B[0]) + T @ B[1]",
    "np.tensordot(A, B, axes=1) + np.tensordot(T, T, axes=([1, 2], [1, 2])).sum()",
    "np.outer(x, z) + np.outer(z, z).T + S",
    "np.einsum('ij,j->i', A, x) + np.einsum('ij, ij -> i', A, A)",
    "np.einsum('ij,jk', A, B) + np.einsum('ii', S)",
    "np.inner(A, S) + np.inner(A, x)[:, None]",
    "np.trace(S) + np.diag(S) + S.diagonal() + S.trace()",
    "np.diag(x) + np.tril(S) + np.triu(S, k=1) + np.tril(S, -1)",
    "np.eye(len(x)) + np.identity(len(x)) + np.eye(3, dtype=int)[0, 0]",
    "np.diag(h, k=1) + np.kron(np.eye(2), np.outer(u[:2], u[:2]))",
    "np.linalg.inv(S + S.T) @ x + np.linalg.solve(S, x) + la.solve(S, B)[:, 0]",
    "np.linalg.det(S) + np.linalg.slogdet(S)[1] + np.linalg.slogdet(S).sign",
    "la.slogdet(S).logabsdet + la.norm(x) + la.norm(A) + la.norm(A, 'fro')",
    "la.norm(A, axis=1) + la.norm(A, axis=1, keepdims=True)[:, 0]",
    "la.norm(A, 1, axis=1) + la.norm(A, ord=2, axis=-1)",
    "la.norm(x, 1) + la.norm(x, np.inf) + la.norm(A, 1) + la.norm(A, np.inf)",
    "la.norm(S, 2) + la.norm(S, 'nuc') + la.norm(x, 2) + la.norm(x, -np.inf)",
    "np.linalg.cholesky(S @ S.T) + scipy.linalg.cholesky(S @ S.T)",
    "scipy.linalg.solve_triangular(S, x) + scipy.linalg.solve_triangular(S, z, 0, 1)",
    "scipy.linalg.solve_triangular(S, x, trans='T')",
    "scipy.linalg.cho_solve(scipy.linalg.cho_factor(S @ S.T), x)",
    "scipy.linalg.cho_solve((np.linalg.cholesky(S @ S.T), True), x)",
    "scipy.linalg.expm(S) + np.linalg.matrix_power(S, 3) + np.linalg.pinv(A) @ A",
    "np.linalg.eigvalsh(S + S.T) + np.linalg.svd(S, compute_uv=False)",
    "np.linalg.eigh(S + S.T)[0] + np.linalg.multi_dot([S, S, x])",
    "np.linalg.solve(V, V) + np.linalg.inv(V) + V @ V",
    "np.linalg.det(V) + np.trace(S, 0)",
    "np.cross(h, 2 * h + s) + np.cross(u[:3], h)",
    "S.T @ x + (A.T @ u) + (x + z).T",
]
SHAPED = [
    "np.zeros(3) * h[0] + np.ones(3) + np.full(3, s) + np.zeros_like(h)",
    "np.ones_like(h) * h + np.ones((3,)) + np.zeros(shape=3)",
    "np.zeros((2, len(x))) + np.full(A.shape[1], 2.5) + np.full_like(x, 3.0)",
    "np.arange(3) * h + np.arange(1, 4) + np.linspace(0, s, 3)",
    "np.arange(2, 2 + len(x)) + np.arange(len(x), dtype=float)",
    "np.linspace(0, 1, len(u)) + np.linspace(x[0], x[1], len(u), endpoint=False)",
    "x / len(x) + x.shape[0] + A.size + A.ndim + u.size * A.shape[1]",
    "np.reshape(A, A.T.shape) + A.reshape(len(x), -1) + A.reshape((x.size, len(u)))",
    "x.reshape(-1, 1) @ x.reshape(1, -1)",
    "W.reshape(2, len(B[0]), 3)",
    "np.ravel(A) + A.flatten() + A.reshape(-1)",
    "np.transpose(T, (0, 2, 1)) + T.transpose(0, 2, 1) + T.swapaxes(1, 2)",
    "np.moveaxis(T, 0, -1) + np.transpose(T, axes=(1, 2, 0))",
    "np.concatenate([x, u]) + np.hstack((x, u)) + np.concatenate((x, u), axis=0)",
    "np.vstack([x, z]) + np.stack([x, z]) + np.array([x, z])",
    "np.column_stack([x, z]) + np.stack([x, z], axis=1)",
    "np.column_stack((S, x)) + np.column_stack((x, S))[:, :1]",
    "np.hstack([A, A]) + np.concatenate([A, A], axis=1)",
    "np.expand_dims(x, 0) + x[None, :] + x[np.newaxis] + A",
    "np.squeeze(x[:, None], axis=1) + np.broadcast_to(x, (4, len(x)))",
    "np.flip(x) + x[::-1] + np.roll(x, 1) + np.roll(A, 1, axis=0)[0]",
    "np.repeat(x, 2) + np.tile(x, 2) + np.pad(u, 1)[0] + np.pad(u, (2, 0)).sum()",
    "np.convolve(u, h) + np.pad(np.convolve(u, h, mode='same'), 1)",
    "np.correlate(u, h) + np.correlate(u, h, mode='full')[2:-2]",
    "np.convolve(u, h, 'valid') + np.diff(u, 2)",
    "np.interp(x, np.arange(len(u)), u)",
    "np.array([s, 2.0, 3 * s]) + np.array([1, 2, 3]) * h + np.asarray(h, dtype=float)",
    "np.array([[1, s], [s, 2]]) @ np.array([1.0, s])",
    "np.atleast_2d(x) + np.atleast_1d(x) + x.copy() + x.astype(float)",
    "x.item() if x.ndim == 0 else x",
    "np.meshgrid(x, u) if False else x",
]
SUBSCRIPTS = [
    "x[0] + x[-1] + A[1, 2] + A[-1, 0] + T[0, -1, 1] + x[len(x) - 1]",
    "x[1:] - x[:-1] + x[:len(x) - 1] + (h[1:3] + h[-2:]).sum()",
    "A[0] + A[:, 1].sum() + A[1:, :].mean(axis=0) + A[..., 0].sum()",
    "x[:, None] * z[None, :] + x[:, np.newaxis]",
    "((A[:, None, :] - A[None, :, :]) ** 2).sum(axis=-1)",
    "W[::2] + W[1::2]",
    "P[np.arange(len(y)), y]",
    "P[np.arange(P.shape[0]), y] + np.take_along_axis(P, y[:, None], axis=1)[:, 0]",
    "A[row, col] + u[row] + x[col] + A[row][:, 0] + A[:, col][0]",
    "np.take(u, row) + np.take(A, col, axis=1)[1] + x.take(col)",
    "T[:, col, 0] + T[:, col, :].sum(axis=-1) + T[0, col].sum()",
    "T[row, :, 1].sum(axis=1) + T[row, col, 0]",
    "T[..., None].sum(axis=(2, 3)) + T[:, :, -1]",
    "np.where(y[:, None] == np.arange(P.shape[1]), P, 0.0).sum(axis=1)",
    "(y[:, None] == np.arange(5)).astype(float)",
    "(A @ x)[1:] + (A + 1)[:-1, 0] + A.T[0, 1:]",
    "parts(x)[0] + parts(z)[1]",
]
ALL = [*ELEMENTWISE, *REDUCTIONS, *MATRICES, *SHAPED, *SUBSCRIPTS]


def arguments() -> dict[str, np.ndarray]:
    """Return a value of each argument: positive, and integers below their bounds."""
    rng = np.random.default_rng(0)
    bounds = {"y": 5, "row": 4, "col": 3}
    found: dict[str, np.ndarray] = {}
    for name, text in SHAPES.items():
        axes = text.partition(" int")[0].split()
        shape = tuple(eval(axis, {}, SIZES) for axis in axes)
        if name in bounds:
            found[name] = rng.integers(0, bounds[name], shape)
        else:
            found[name] = rng.uniform(0.2, 1.9, shape)
    return found
