"""Index arrays that generated code computes: places in an order, and their number."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import Any

import numpy as np

from tensorgen.check.walks import Walks

Array = Any


class Places(Walks):
    """Functions that look at numbers only to compare them."""

    def _np_argsort(self, a: Array, axis: int = -1, kind: str = "") -> Array:
        return np.argsort(self.field.of(a), axis=axis, kind="stable")

    def _np__interval(self, x: Array, knots: Array) -> Array:
        x, knots = self._numbers(x, knots)
        return (x[..., None] >= knots[1:-1]).sum(axis=-1).astype(int)

    def _np__count_within(self, keys: Array, limits: Array) -> Array:
        return self._counted("<=", keys, limits)

    def _np__count_below(self, keys: Array, limits: Array) -> Array:
        return self._counted("<", keys, limits)

    def _np__begin_at(self, keys: Array, limits: Array) -> Array:
        return len(keys) - self._counted(">=", keys, limits)

    def _np__begin_above(self, keys: Array, limits: Array) -> Array:
        return len(keys) - self._counted(">", keys, limits)

    def _np_searchsorted(self, keys: Array, x: Array, side: str = "left") -> Array:
        return np.searchsorted(keys, x, "right" if side == "right" else "left")

    def _np__joint_order(self, keys: Array, places: Array) -> Array:
        return np.lexsort((places, keys))

    def _np__count_joint(
        self, keys: Array, places: Array, key: Array, place: Array, side: str = "left"
    ) -> Array:
        pairs = [*zip(keys, places, strict=True)]
        cut = bisect_right if side == "right" else bisect_left
        found = [cut(pairs, pair) for pair in zip(key, place, strict=True)]
        return np.array(found, dtype=int)

    def _np__tie(self, keys: Array, x: Array, beyond: int = 0) -> Array:
        keys, x = self._numbers(keys, x)
        equal = self.field.compared("==", keys, x[..., None])
        none = np.full((*x.shape, 1), True)
        found = np.argmax(np.concatenate([equal, none], axis=-1).astype(bool), axis=-1)
        return np.where(found == len(keys), len(keys) + beyond, found)

    def _np__last_index(self, number: Array) -> Array:
        return np.maximum(number - 1, 0)

    def _counted(self, symbol: str, keys: Array, limits: Array) -> Array:
        keys, limits = self._numbers(keys, limits)
        found = self.field.compared(symbol, keys, limits[..., None])
        return np.asarray(found.sum(axis=-1), dtype=int)
