"""What goes along an axis: running reductions, their derivatives, and filters.

It is written in NumPy, apart from the emission, for numbers of any kind: who has some
of his own says what their functions are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tensorgen.operators.references import Array

Axes = tuple[int, ...]


def with_triangle(weights: Callable[..., Array], pair: str) -> Callable[..., Array]:
    """Products with a triangle, with entries where j <= i, over j ("ij") or over i."""

    def times(z: Array, level: Array, v: Array, along: Axes, *how: Any) -> Array:
        axis = along[0] - v.ndim
        z, level, v = (np.moveaxis(x, axis, -1) for x in (z, level, v))
        lower = np.tri(z.shape[-1], dtype=bool)
        triangle = weights(z[..., None, :], level[..., :, None], lower, *how)
        found = np.einsum(f"...ij,...{pair[1]}->...{pair[0]}", triangle, v)
        return np.moveaxis(found, -1, axis)

    return times


def exponentials(z: Array, level: Array, lower: Array, exp: Any = np.exp) -> Array:
    """Return `exp(z[j] - level[i])`."""
    return np.where(lower, exp(np.where(lower, z - level, 0)), 0)


def shares(x: Array, top: Array, lower: Array, divided: Any = np.divide) -> Array:
    """Return what those x[j] that equal top[i] have of it."""
    ties = (x == top) & lower
    return divided(ties * 1, ties.sum(axis=-1, keepdims=True))


def filtered(x: Array, a: Array) -> Array:
    """Return y with y[t] = x[t] + a * y[t - 1]."""
    return filtered_by(x, np.broadcast_to(a, (max(len(x) - 1, 0),)))


def filtered_by(x: Array, a: Array) -> Array:
    """Return y with y[t + 1] = x[t + 1] + a[t] * y[t]."""
    found = x.astype(np.result_type(x, a))
    for t, gain in enumerate(a):
        found[t + 1] += gain * found[t]
    return found


def along(function: Callable[..., Array]) -> Callable[..., Array]:
    """What goes along the one axis of a parameter."""
    return lambda x, along: function(x, axis=along[0])


WALKS: dict[str, Callable[..., Array]] = {
    "running_product": lambda x: np.cumprod(x, axis=0),
    "running_max": along(np.maximum.accumulate),
    "running_min": along(np.minimum.accumulate),
    "running_mean": with_triangle(exponentials, "ij"),
    "running_share": with_triangle(exponentials, "ji"),
    "tied_mean": with_triangle(shares, "ij"),
    "tied_share": with_triangle(shares, "ji"),
    "filtered": filtered,
    "filtered_back": lambda x, a: filtered(x[::-1], a)[::-1],
    "filtered_by": filtered_by,
    "filtered_back_by": lambda x, a: filtered_by(x[::-1], a[::-1])[::-1],
}
