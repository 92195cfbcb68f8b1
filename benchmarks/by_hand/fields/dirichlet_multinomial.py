"""Ecology: counts of species at sites that differ more than by chance."""

import numpy as np
from numpy.random import Generator
from scipy.special import digamma, gammaln, polygamma

from by_hand.fields.pair import Array, Data, Operation, Pair, direction

SPEC = """
tensorgen: 1
module: dirichlet_multinomial
doc: Dirichlet-multinomial likelihood of community counts (Mosimann 1962).
dims: {n: 500, k: 50}
inputs:
  alpha: {shape: [k], positive: true, doc: concentration of each species}
  X: {shape: [n, k], nonnegative: true, doc: "counts, a site a row"}
functions:
  nll:
    where: |
      A = sum(alpha)
      N[i] = sum(X[i, s], s)
    expr: >-
      sum(lgamma(N[i] + A) - lgamma(A), i)
      - sum(lgamma(X[i, s] + alpha[s]) - lgamma(alpha[s]), i, s)
    wrt: alpha
    emit: [value, gradient, hessian]
"""


def value(alpha: Array, X: Array) -> Array:
    """Return the negative log-likelihood, without what only counts are in."""
    A, n = alpha.sum(), len(X)
    sites = gammaln(X.sum(1) + A).sum() - n * gammaln(A)
    return sites - gammaln(X + alpha).sum() + n * gammaln(alpha).sum()


def gradient(alpha: Array, X: Array) -> Array:
    """Return the slope by each concentration."""
    A, n = alpha.sum(), len(X)
    common = digamma(X.sum(1) + A).sum() - n * digamma(A)
    return common - digamma(X + alpha).sum(0) + n * digamma(alpha)


def hessian(alpha: Array, X: Array) -> tuple[Array, Array]:
    """Return a diagonal, and the number that is added to all entries."""
    A, n = alpha.sum(), len(X)
    common = polygamma(1, X.sum(1) + A).sum() - n * polygamma(1, A)
    return n * polygamma(1, alpha) - polygamma(1, X + alpha).sum(0), common


def newton(alpha: Array, X: Array) -> Array:
    """Return the step of Newton's method, by Sherman and Morrison (Minka 2000)."""
    g = gradient(alpha, X)
    diagonal, common = hessian(alpha, X)
    level = np.sum(g / diagonal) / (1 / common + np.sum(1 / diagonal))
    return (g - level) / diagonal


def _times(parts: tuple[Array, Array]) -> Array:
    diagonal, common = parts
    v = direction(len(diagonal))
    return diagonal * v + common * v.sum()


def _data(n: int, rng: Generator) -> Data:
    k = 50 if n > 100 else 3
    p = rng.dirichlet(np.ones(k), n)
    X = np.array([rng.multinomial(200, row) for row in p], dtype=float)
    return {"alpha": np.exp(rng.normal(size=k) / 2), "X": X}


PAIR = Pair(
    "ecology",
    "Dirichlet-multinomial",
    SPEC,
    "n",
    (4, 500),
    _data,
    (
        Operation("value", "nll", value),
        Operation("gradient", "nll_grad", gradient),
        Operation("Hessian", "nll_hess", hessian, _times),
        Operation("Newton step", "nll_hess", newton, solves="nll_grad"),
    ),
)
