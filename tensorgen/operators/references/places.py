"""What computed index arrays mean, and sums between places, written in NumPy.

Numbers are compared by their real parts, or as who has numbers of his own says.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np

from tensorgen.operators.references import Array

Compared = Callable[[str, Array, Array], Array]
"""What a symbol says of two arrays, entry by entry."""

COMPARE: dict[str, Callable[[Array, Array], Array]] = {
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
    "==": np.equal,
    "!=": np.not_equal,
}


def by_real(symbol: str, x: Array, y: Array) -> Array:
    """What a symbol says of the real parts."""
    return COMPARE[symbol](x.real, y.real)


def argsort(x: Array, along: tuple[int, ...]) -> Array:
    """Return the places of the entries along an axis, the smallest first."""
    return np.argsort(x.real, axis=along[0], kind="stable")


def interval(x: Array, knots: Array) -> Array:
    """Return the number of the last knot that is not above each x, but the last one."""
    return np.sum(x.real[..., None] >= knots.real[1:-1], axis=-1)


def counted(symbol: str, skipped: bool = False) -> Callable[..., Array]:
    """How many keys a limit takes in; or how many come before the first of these."""

    def count(keys: Array, limits: Array, compared: Compared = by_real) -> Array:
        found = np.sum(compared(symbol, keys, limits[..., None]), axis=-1, dtype=int)
        return len(keys) - found if skipped else found

    return count


def tie(beyond: int) -> Callable[..., Array]:
    """The place of the first key that equals each x, or one behind all and beyond."""

    def place(keys: Array, x: Array, compared: Compared = by_real) -> Array:
        equal = compared("==", keys, x[..., None])
        none = np.full((*x.shape, 1), True)
        found = np.argmax(np.concatenate([equal, none], axis=-1), axis=-1)
        return np.where(found == len(keys), len(keys) + beyond, found)

    return place


def count_joint(symbol: str) -> Callable[..., Array]:
    """How many pairs of a key and a place come before others, or are these too."""

    def count(_: Array, keys: Array, places: Array, key: Array, place: Array) -> Array:
        key, place = key[..., None], place[..., None]
        alike = (keys == key) & COMPARE[symbol](places, place)
        return np.sum((keys < key) | alike, axis=-1)

    return count


def count_keys(side: Literal["left", "right"]) -> Callable[..., Array]:
    """How many keys in order are before others, or are these too."""
    return lambda _, ordered, keys: np.searchsorted(ordered, keys, side)


def sums_between(x: Array, low: Array, high: Array) -> Array:
    """Return the sums of the rows from each place up to another."""
    sums = [x[a:b].sum(axis=0) for a, b in zip(low, high, strict=True)]
    return np.asarray(sums).reshape(len(low), *x.shape[1:])


def spread_between(w: Array, low: Array, high: Array, shape: tuple[int, ...]) -> Array:
    """Return for each position the sum of the w whose interval contains it."""
    found = np.zeros(shape, dtype=w.dtype)
    for row, a, b in zip(w, low, high, strict=True):
        found[a:b] += row
    return found


PLACES: dict[str, Callable[..., Array]] = {
    "argsort": argsort,
    "interval": interval,
    "ranks": lambda keys, order: np.argsort(order),
    "last_place": lambda keys, number: np.maximum(number - 1, 0),
    "count_within": counted("<="),
    "count_below": counted("<"),
    "begin_at": counted(">=", skipped=True),
    "begin_above": counted(">", skipped=True),
    "joint_order": lambda _, keys, places: np.lexsort((places, keys)),
    "count_joint_before": count_joint("<"),
    "count_joint_within": count_joint("<="),
    "count_keys_before": count_keys("left"),
    "count_keys_within": count_keys("right"),
    "sums_between": sums_between,
    "spread_between": spread_between,
    "tie_of_key": tie(0),
    "tie": tie(1),
}
