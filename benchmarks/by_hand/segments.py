"""Reductions by group: sums, extrema and means of each, and attention on a graph."""

from typing import Any

import numpy as np
from numpy.random import Generator

from by_hand.problem import Data, Problem

Array = Any
GROUPS = 2_000
SPEC = """
tensorgen: 1
module: segments
dims: {{n: 20000, g: 2000}}
inputs: {{x: [n], w: [g], group: {{shape: [n], index: g}}}}
functions:
  f:
    where: |
      r[q] = {reduction}(x[i], i, group[i] == q)
    expr: sum(w * r)
    wrt: x
    emit: [value, gradient]
"""


def data(rng: Generator) -> Data:
    """Values in groups, of which each has one at least."""
    n = 20_000
    group = np.concatenate([np.arange(GROUPS), rng.integers(0, GROUPS, n - GROUPS)])
    return {
        "x": rng.normal(size=n),
        "w": rng.normal(size=GROUPS),
        "group": rng.permutation(group),
    }


def _tops(x: Array, group: Array) -> Array:
    top = np.full(GROUPS, -np.inf)
    np.maximum.at(top, group, x)
    return top


def logsumexp(x: Array, w: Array, group: Array) -> tuple[Array, Array]:
    """Levels by `maximum.at`, sums by `bincount`, the gradient by gather."""
    top = _tops(x, group)
    e = np.exp(x - top[group])
    total = np.bincount(group, e, GROUPS)
    return w @ (top + np.log(total)), e * (w / total)[group]


def maximum(x: Array, w: Array, group: Array) -> tuple[Array, Array]:
    """The largest of each group; its ties share the slope."""
    top = _tops(x, group)
    hit = x == top[group]
    count = np.bincount(group, hit, GROUPS)
    return w @ top, hit * (w / count)[group]


def mean(x: Array, w: Array, group: Array) -> tuple[Array, Array]:
    """Sums over counts."""
    count = np.bincount(group, minlength=GROUPS)
    return w @ (np.bincount(group, x, GROUPS) / count), (w / count)[group]


def product(x: Array, w: Array, group: Array) -> tuple[Array, Array]:
    """Products by `multiply.at`; no entry of the data is 0."""
    r = np.ones(GROUPS)
    np.multiply.at(r, group, x)
    return w @ r, (w * r)[group] / x


ATTENTION = """
tensorgen: 1
module: attention
dims: {n: 2000, m: 20000, d: 16}
inputs:
  H: [n, d]
  a: [d]
  b: [d]
  target: [n, d]
  src: {shape: [m], index: n}
  dst: {shape: [m], index: n}
functions:
  f:
    where: |
      s = H @ a
      t = H @ b
      e[k] = tanh(s[src[k]] + t[dst[k]])
      level[q] = logsumexp(e[k], k, dst[k] == q)
      p[k] = exp(e[k] - level[dst[k]])
      out[q, j] = sum(p[k] * H[src[k], j], k, dst[k] == q)
    expr: sum((out - target)**2) / 2
    wrt: [H, a, b]
    emit: [value, gradient]
"""


def attention_data(rng: Generator) -> Data:
    """A graph of which each node has an edge to it."""
    n, m, d = 2_000, 20_000, 16
    return {
        "H": rng.normal(size=(n, d)),
        "a": rng.normal(size=d) / 4,
        "b": rng.normal(size=d) / 4,
        "target": rng.normal(size=(n, d)),
        "src": rng.integers(0, n, m),
        "dst": rng.permutation(
            np.concatenate([np.arange(n), rng.integers(0, n, m - n)])
        ),
    }


def _rows_by_key(keys: Array, rows: Array, size: int) -> Array:
    """Rows added up by key: their entries by `bincount`."""
    width = rows.shape[1]
    places = keys[:, None] * width + np.arange(width)
    sums = np.bincount(places.ravel(), rows.ravel(), size * width)
    return sums.reshape(size, width)


def attention(
    H: Array, a: Array, b: Array, target: Array, src: Array, dst: Array
) -> tuple[Array, tuple[Array, Array, Array]]:
    """Each node's mean of those with an edge to it, by a softmax over these edges."""
    n = len(H)
    e = np.tanh((H @ a)[src] + (H @ b)[dst])
    top = np.full(n, -np.inf)
    np.maximum.at(top, dst, e)
    p = np.exp(e - top[dst])
    p /= np.bincount(dst, p, n)[dst]
    sources = H[src]
    difference = _rows_by_key(dst, p[:, None] * sources, n) - target
    slopes = difference[dst]
    d_p = np.einsum("kj,kj->k", sources, slopes)
    mean = np.bincount(dst, p * d_p, n)
    d_e = p * (d_p - mean[dst]) * (1 - e * e)
    d_s, d_t = np.bincount(src, d_e, n), np.bincount(dst, d_e, n)
    d_H = _rows_by_key(src, p[:, None] * slopes, n)
    d_H += np.outer(d_s, a) + np.outer(d_t, b)
    value = np.vdot(difference, difference) / 2
    return value, (d_H, H.T @ d_s, H.T @ d_t)


def _problem(reduction: str, hand: Any) -> Problem:
    return Problem(
        f"segments, {reduction}",
        SPEC.format(reduction=reduction),
        "f_value_and_grad",
        data,
        hand,
    )


PROBLEMS = [
    _problem("logsumexp", logsumexp),
    _problem("max", maximum),
    _problem("mean", mean),
    _problem("prod", product),
    Problem("attention", ATTENTION, "f_value_and_grad", attention_data, attention),
]
