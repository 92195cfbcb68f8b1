"""Psychometrics: comparisons of pairs, ties among them (Glenn and David 1960)."""

from typing import NamedTuple

import numpy as np
from numpy.random import Generator
from scipy.special import log_ndtr, ndtr

from by_hand.fields.pair import Array, Data, Operation, Pair

SPEC = """
tensorgen: 1
module: paired_comparisons
doc: Thurstone's case V with ties (Glenn and David 1960), and a normal prior.
dims: {n: 200, p: 10000, q: 3000}
definitions: |
  Phi(z) = erfc(-z/sqrt(2))/2
inputs:
  mu: {shape: [n], doc: scale values of the stimuli}
  tau: {shape: scalar, positive: true, doc: threshold of a preference}
  a: {shape: [p], index: n, doc: preferred}
  b: {shape: [p], index: n, doc: to these}
  i: {shape: [q], index: n, doc: no preference between these}
  j: {shape: [q], index: n, doc: and these}
functions:
  nll:
    where: |
      z[e] = mu[a[e]] - mu[b[e]] - tau
      t[e] = mu[i[e]] - mu[j[e]]
    expr: sum(mu**2)/2 - sum(log(Phi(z))) - sum(log(Phi(t + tau) - Phi(t - tau)))
    wrt: [mu, tau]
    emit: [value, gradient, hvp]
"""


def _density(z: Array) -> Array:
    return np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)


class _Ties(NamedTuple):
    """Both ends of the indifference interval, densities there relative to its mass."""

    upper: Array
    lower: Array
    at_upper: Array
    at_lower: Array


def _preferences(mu: Array, tau: float, a: Array, b: Array) -> tuple[Array, Array]:
    """Return the margins, and Mills' ratio at each."""
    z = mu[a] - mu[b] - tau
    return z, np.exp(-(z**2) / 2 - log_ndtr(z)) / np.sqrt(2 * np.pi)


def _ties(mu: Array, tau: float, i: Array, j: Array) -> _Ties:
    t = mu[i] - mu[j]
    upper, lower = t + tau, t - tau
    mass = ndtr(upper) - ndtr(lower)
    return _Ties(upper, lower, _density(upper) / mass, _density(lower) / mass)


def _by_pair(slopes: Array, first: Array, second: Array, n: int) -> Array:
    return np.bincount(first, slopes, n) - np.bincount(second, slopes, n)


def value(mu: Array, tau: float, a: Array, b: Array, i: Array, j: Array) -> Array:
    """Return the negative log-posterior."""
    t = mu[i] - mu[j]
    mass = ndtr(t + tau) - ndtr(t - tau)
    preferred = log_ndtr(mu[a] - mu[b] - tau).sum()
    return mu @ mu / 2 - preferred - np.log(mass).sum()


def gradient(
    mu: Array, tau: float, a: Array, b: Array, i: Array, j: Array
) -> tuple[Array, Array]:
    """Return the slopes by scale values and threshold."""
    n = len(mu)
    _, mills = _preferences(mu, tau, a, b)
    _, _, at_upper, at_lower = _ties(mu, tau, i, j)
    by_mu = mu - _by_pair(mills, a, b, n) - _by_pair(at_upper - at_lower, i, j, n)
    return by_mu, mills.sum() - np.sum(at_upper + at_lower)


def hvp(
    mu: Array,
    tau: float,
    a: Array,
    b: Array,
    i: Array,
    j: Array,
    dmu: Array,
    dtau: float,
) -> tuple[Array, Array]:
    """Return the Hessian times a direction."""
    n = len(mu)
    z, mills = _preferences(mu, tau, a, b)
    preferred = mills * (z + mills) * (dmu[a] - dmu[b] - dtau)
    upper, lower, at_upper, at_lower = _ties(mu, tau, i, j)
    dt = dmu[i] - dmu[j]
    d_upper, d_lower = dt + dtau, dt - dtau
    growth = at_upper * d_upper - at_lower * d_lower  # of the mass, relative
    upper_dot = -at_upper * (upper * d_upper + growth)
    lower_dot = -at_lower * (lower * d_lower + growth)
    by_mu = dmu + _by_pair(preferred, a, b, n)
    by_mu -= _by_pair(upper_dot - lower_dot, i, j, n)
    return by_mu, -preferred.sum() - np.sum(upper_dot + lower_dot)


def _data(n: int, rng: Generator) -> Data:
    def pairs(m: int) -> tuple[Array, Array]:
        first = rng.integers(0, n, m)
        return first, (first + rng.integers(1, n, m)) % n

    (a, b), (i, j) = pairs(50 * n), pairs(15 * n)
    return {
        "mu": rng.normal(size=n),
        "tau": 0.4,
        "a": a,
        "b": b,
        "i": i,
        "j": j,
        "dmu": rng.normal(size=n),
        "dtau": 0.3,
    }


PAIR = Pair(
    "psychometrics",
    "paired comparisons",
    SPEC,
    "n",
    (4, 200),
    _data,
    (
        Operation("value", "nll", value),
        Operation("gradient", "nll_grad", gradient),
        Operation("hvp", "nll_hvp", hvp),
    ),
)
