"""Regressions and likelihoods: dense Hessians of products, scalars that cancel."""

from typing import Any

import numpy as np
from numpy.random import Generator
from scipy.special import digamma, gammaln

from by_hand.problem import Data, Problem

Array = Any


def _dense(module: Any, data: Data) -> Any:
    return lambda: module.f_hess(**data).dense()


def logistic(w: Array, X: Array, y: Array) -> Array:
    """A product of one scaled matrix with itself: BLAS forms half of it."""
    t = y * (X @ w)
    e = np.exp(-np.abs(t))
    Z = (np.abs(y) * np.sqrt(e) / (1 + e))[:, None] * X
    return Z.T @ Z


MULTINOMIAL = """
tensorgen: 1
module: regressions
dims: {m: 2000, n: 30, c: 8}
inputs: {W: [n, c], X: [m, n], Y: [m, c]}
functions:
  f:
    expr: sum(logsumexp(X @ W, axis=1)) - sum(Y * (X @ W))
    wrt: W
    emit: [hessian]
"""


def _multinomial_data(rng: Generator) -> Data:
    return {
        "W": rng.normal(size=(30, 8)) / 6,
        "X": rng.normal(size=(2000, 30)),
        "Y": np.eye(8)[rng.integers(0, 8, 2000)],
    }


def multinomial(W: Array, X: Array, Y: Array) -> Array:
    """The term of rank one as one flat product, classes' own blocks beside it."""
    (m, n), c = X.shape, W.shape[1]
    Z = X @ W
    P = np.exp(Z - Z.max(1, keepdims=True))
    P /= P.sum(1, keepdims=True)
    Q = (X[:, :, None] * P[:, None, :]).reshape(m, n * c)
    H = -(Q.T @ Q).reshape(n, c, n, c)
    for k in range(c):
        H[:, k, :, k] += X.T @ Q.reshape(m, n, c)[:, :, k]
    return H


def level(x: Array) -> Array:
    """One outer product, then its diagonal."""
    e = np.exp(x - x.max())
    p = e / e.sum()
    H = np.multiply.outer(-p, p)
    H[np.diag_indices_from(H)] += p
    return H


def _likelihood(where: str, expr: str, wrt: str, scalars: str) -> str:
    return f"""
tensorgen: 1
module: regressions
dims: {{m: 20000, n: 20}}
inputs: {{X: [m, n], b: [n], y: [m]{scalars}}}
functions:
  f:
    where: |
      {where}
    expr: {expr}
    wrt: {wrt}
    emit: [value, gradient]
"""


def _counts(rng: Generator) -> Data:
    return {
        "X": rng.normal(size=(20000, 20)),
        "b": rng.normal(size=20) / 10,
        "y": rng.poisson(2, 20000).astype(float) + 1,
    }


def _counts_and_shape(rng: Generator) -> Data:
    return _counts(rng) | {"phi": 1.7}


def huber(X: Array, b: Array, y: Array) -> tuple[Array, Array]:
    """The slope is the clipped residual."""
    r = X @ b - y
    a = np.abs(r)
    c = np.minimum(a, 1.5)
    return (c * (a - c / 2)).sum(), X.T @ np.clip(r, -1.5, 1.5)


def inverse_gaussian(X: Array, b: Array, y: Array, phi: float) -> tuple[Array, Array]:
    """With a logarithmic link, in the reciprocal mean."""
    q = np.exp(-(X @ b))
    d = y * q - 1
    s = d * q
    return phi / 2 * (d * d / y).sum(), -phi * (X.T @ s)


def negative_binomial(X: Array, b: Array, y: Array, phi: float) -> tuple[Array, ...]:
    """One exponential, one logarithm; gammas only where the shape asks."""
    eta = X @ b
    mu = np.exp(eta)
    s = mu + phi
    ls = np.log(s)
    value = (gammaln(phi) - gammaln(y + phi) - phi * (np.log(phi) - ls)) - y * (
        eta - ls
    )
    ratio = (y + phi) / s
    by_phi = digamma(phi) - digamma(y + phi) - np.log(phi) - 1 + ls + ratio
    return value.sum(), X.T @ (ratio * mu - y), by_phi.sum()


SINKHORN = """
tensorgen: 1
module: regressions
dims: {m: 200, n: 300}
inputs: {C: [m, n], a: [m], b: [n], eps: scalar}
functions:
  f:
    where: |
      f1[i] = -eps*logsumexp(-C[i, j]/eps, j)
      g1[j] = eps*log(b[j]) - eps*logsumexp((f1[i] - C[i, j])/eps, i)
      f2[i] = eps*log(a[i]) - eps*logsumexp((g1[j] - C[i, j])/eps, j)
      g2[j] = eps*log(b[j]) - eps*logsumexp((f2[i] - C[i, j])/eps, i)
    expr: sum(a*f2) + sum(b*g2)
    wrt: C
    emit: [value, gradient]
"""


def _sinkhorn_data(rng: Generator) -> Data:
    return {
        "C": rng.random((200, 300)),
        "a": rng.dirichlet(np.ones(200)),
        "b": rng.dirichlet(np.ones(300)),
        "eps": 0.3,
    }


def sinkhorn(C: Array, a: Array, b: Array, eps: float) -> tuple[Array, Array]:
    """Four half-steps in logarithms; their shares are kept for the way back."""
    K = C / -eps

    def half(t: Array, axis: int) -> tuple[Array, Array]:
        top = t.max(axis, keepdims=True)
        e = np.exp(t - top)
        s = e.sum(axis, keepdims=True)
        e /= s
        return (top + np.log(s)).squeeze(axis), e

    la, lb = np.log(a), np.log(b)
    l1, P1 = half(K, 1)
    u1 = -l1
    l2, P2 = half(K + u1[:, None], 0)
    v1 = lb - l2
    l3, P3 = half(K + v1, 1)
    u2 = la - l3
    l4, P4 = half(K + u2[:, None], 0)
    v2 = lb - l4
    value = eps * (a @ u2 + b @ v2)
    # Each level is -1 times its level of K; cotangents in units of eps cancel.
    P4 *= b
    du2 = a - P4.sum(1)
    P3 *= du2[:, None]
    dv1 = -P3.sum(0)
    P2 *= dv1
    du1 = -P2.sum(1)
    P1 *= du1[:, None]
    P1 += P2
    P1 += P3
    P1 += P4
    return value, P1


PROBLEMS = [
    Problem(
        "multinomial Hessian",
        MULTINOMIAL,
        "",
        _multinomial_data,
        multinomial,
        _dense,
        jax="multinomial",
        twice=True,
    ),
    Problem(
        "Huber",
        _likelihood(
            "r = X @ b - y",
            "sum(where(abs(r) <= 1.5, r**2/2, 1.5*(abs(r) - 0.75)))",
            "b",
            "",
        ),
        "f_value_and_grad",
        _counts,
        huber,
        jax="huber",
    ),
    Problem(
        "inverse Gaussian",
        _likelihood(
            "mu = exp(X @ b)", "sum(phi*(y - mu)**2/(2*mu**2*y))", "b", ", phi: scalar"
        ),
        "f_value_and_grad",
        _counts_and_shape,
        inverse_gaussian,
        jax="inverse_gaussian",
    ),
    Problem(
        "negative binomial",
        _likelihood(
            "mu = exp(X @ b)",
            "sum(lgamma(phi) - lgamma(y + phi) - phi*log(phi/(phi + mu))"
            " - y*log(mu/(phi + mu)))",
            "[b, phi]",
            ", phi: {shape: scalar, positive: true}",
        ),
        "f_value_and_grad",
        _counts_and_shape,
        negative_binomial,
        jax="negative_binomial",
        variables=2,
    ),
    Problem(
        "Sinkhorn",
        SINKHORN,
        "f_value_and_grad",
        _sinkhorn_data,
        sinkhorn,
        jax="sinkhorn",
    ),
]
