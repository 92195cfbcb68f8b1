"""Operations research: prices for customers who choose by a logit."""

from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from by_hand.fields.pair import Array, Data, Operation, Pair, dense_times

SPEC = """
tensorgen: 1
module: logit_pricing
doc: Expected profit of prices, segments of customers choose by a logit or buy nothing.
dims: {m: 500, n: 100}
inputs:
  p: {shape: [n], doc: prices}
  cost: {shape: [n], doc: unit costs}
  a: {shape: [m, n], doc: "what products are worth, a segment a row"}
  beta: {shape: [m], doc: sensitivity of segments to prices}
  w: {shape: [m], doc: their sizes}
functions:
  profit:
    where: |
      v[i, j] = exp(a[i, j] - beta[i]*p[j])
      share[i, j] = v[i, j]/(1 + sum(v[i, l], l))
    expr: sum(w[i]*share[i, j]*(p[j] - cost[j]), i, j)
    wrt: p
    emit: [value, gradient, hessian]
"""


def _shares(p: Array, a: Array, beta: Array) -> Array:
    """Return the choice probabilities; the outside option has utility 0."""
    u = a - beta[:, None] * p
    top = np.maximum(u.max(1, keepdims=True), 0)
    v = np.exp(u - top)
    return v / (np.exp(-top) + v.sum(1, keepdims=True))


class _Sales(NamedTuple):
    """Shares of products, and the slope of a customer's profit by their prices."""

    share: Array
    slope: Array


def _sales(p: Array, cost: Array, a: Array, beta: Array) -> _Sales:
    share = _shares(p, a, beta)
    margin = p - cost
    excess = margin - (share @ margin)[:, None]
    return _Sales(share, share * (1 - beta[:, None] * excess))


def value(p: Array, cost: Array, a: Array, beta: Array, w: Array) -> Array:
    """Return the expected profit."""
    return w @ (_shares(p, a, beta) @ (p - cost))


def gradient(p: Array, cost: Array, a: Array, beta: Array, w: Array) -> Array:
    """Return the slope by each price."""
    return w @ _sales(p, cost, a, beta).slope


def hessian(p: Array, cost: Array, a: Array, beta: Array, w: Array) -> Array:
    """Return the slopes of the gradient: a product and its transpose, a diagonal."""
    share, slope = _sales(p, cost, a, beta)
    weight = w * beta
    half = share.T @ (weight[:, None] * slope)
    H = half + half.T
    i = np.arange(len(p))
    H[i, i] -= weight @ (share + slope)
    return H


def _data(m: int, rng: Generator) -> Data:
    n = 100 if m > 100 else 3
    return {
        "p": rng.random(n) + 1,
        "cost": rng.random(n),
        "a": rng.normal(size=(m, n)),
        "beta": rng.random(m) + 0.5,
        "w": rng.dirichlet(np.ones(m)),
    }


PAIR = Pair(
    "operations research",
    "logit pricing",
    SPEC,
    "m",
    (4, 500),
    _data,
    (
        Operation("value", "profit", value),
        Operation("gradient", "profit_grad", gradient),
        Operation("Hessian", "profit_hess", hessian, dense_times),
    ),
)
