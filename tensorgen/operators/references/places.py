"""What computed index arrays mean, and sums between places, written in NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

Array = Any
Axes = tuple[int, ...]


def argsort(x: Array, along: Axes, bound: int) -> Array:
    """Return the places of the entries along an axis, the smallest first."""
    return np.argsort(x.real, axis=along[0], kind="stable")


def interval(x: Array, knots: Array, bound: int) -> Array:
    """Return the number of the last knot that is not above each x, but the last one."""
    inner = knots.real[1:-1]
    return np.sum(x.real[..., None] >= inner, axis=-1)


def ranks(keys: Array, order: Array, bound: int) -> Array:
    """Return the place of each entry in order."""
    return np.argsort(order)


def last_place(keys: Array, number: Array, bound: int) -> Array:
    """Return the last of so many places, or 0."""
    return np.maximum(number - 1, 0)


def count_within(keys: Array, limits: Array, bound: int) -> Array:
    """Return how many keys are at most each limit."""
    return np.sum(keys.real <= limits.real[..., None], axis=-1)


def count_below(keys: Array, limits: Array, bound: int) -> Array:
    """Return how many keys are below each limit."""
    return np.sum(keys.real < limits.real[..., None], axis=-1)


def begin(compare: Callable[[Array, Array], Array]) -> Callable[..., Array]:
    """The place of the first key that a limit does not exclude."""

    def place(keys: Array, limits: Array, bound: int) -> Array:
        skipped = ~compare(keys.real, limits.real[..., None])
        return np.sum(skipped, axis=-1) if len(keys) else np.zeros(limits.shape, int)

    return place


def joint_order(_: Array, keys: Array, places: Array, bound: int) -> Array:
    """Return the entries in the order of keys, and of places where these are alike."""
    return np.lexsort((places, keys))


def count_joint(compare: Callable[[Array, Array], Array]) -> Callable[..., Array]:
    """How many pairs of a key and a place come before others, or are these too."""

    def count(
        _: Array, keys: Array, places: Array, key: Array, place: Array, bound: int
    ) -> Array:
        key, place = key[..., None], place[..., None]
        before = (keys < key) | ((keys == key) & compare(places, place))
        return np.sum(before, axis=-1)

    return count


def count_keys(side: Literal["left", "right"]) -> Callable[..., Array]:
    """How many keys in order are before others, or are these too."""
    return lambda _, ordered, keys, bound: np.searchsorted(ordered, keys, side)


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


def tie(beyond: int) -> Callable[[Array, Array, int], Array]:
    """The place of the first key that equals each x, or one behind all and beyond."""

    def place(keys: Array, x: Array, bound: int) -> Array:
        equal = keys.real == x.real[..., None]
        none = np.full((*x.shape, 1), True)
        found = np.argmax(np.concatenate([equal, none], axis=-1), axis=-1)
        return np.where(found == len(keys), len(keys) + beyond, found)

    return place


PLACES: dict[str, Callable[..., Array]] = {
    "argsort": argsort,
    "interval": interval,
    "ranks": ranks,
    "last_place": last_place,
    "count_within": count_within,
    "count_below": count_below,
    "begin_at": begin(np.greater_equal),
    "begin_above": begin(np.greater),
    "joint_order": joint_order,
    "count_joint_before": count_joint(np.less),
    "count_joint_within": count_joint(np.less_equal),
    "count_keys_before": count_keys("left"),
    "count_keys_within": count_keys("right"),
    "sums_between": sums_between,
    "spread_between": spread_between,
    "tie_of_key": tie(0),
    "tie": tie(1),
}
