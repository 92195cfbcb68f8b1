"""Reductions by group: each group's logarithm of summed exponentials, maximum, mean."""

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
]
