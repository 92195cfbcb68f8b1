"""Running reductions and recurrences that generated code calls, over any numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tensorgen.check.reals import Reals
from tensorgen.check.residues import Residues, store

Array = Any
Field = Residues | Reals


class Walks:
    """What goes along an axis; what begins with `_np_` is called by that name."""

    def __init__(self, field: Field, others: dict[str, Callable[..., Array]]) -> None:
        """Make the functions of a field, of which some stand in `others`."""
        self.field = field
        self.others = others

    def _numbers(self, *args: Array) -> list[Array]:
        return [self.field.of(one) for one in args]

    # Running reductions, and products with what they are differentiated to

    def _np__running_logsumexp(self, z: Array, axis: int = 0) -> Array:
        sums = np.cumsum(self.others["exp"](z), axis=axis)
        return self.others["log"](self.field.reduced(sums))

    def _np__running_mean(
        self, z: Array, level: Array, v: Array, axis: int = 0
    ) -> Array:
        return self._times(self._exponentials, "ij,...j->...i", z, level, v, axis=axis)

    def _np__running_share(
        self, z: Array, level: Array, w: Array, axis: int = 0
    ) -> Array:
        return self._times(self._exponentials, "ij,...i->...j", z, level, w, axis=axis)

    def _np__tied_mean(self, x: Array, top: Array, v: Array, axis: int = 0) -> Array:
        return self._times(self._ties, "ij,...j->...i", x, top, v, axis=axis)

    def _np__tied_share(self, x: Array, top: Array, w: Array, axis: int = 0) -> Array:
        return self._times(self._ties, "ij,...i->...j", x, top, w, axis=axis)

    def _times(self, triangle: Any, pair: str, *args: Array, axis: int) -> Array:
        axis -= args[-1].ndim
        z, level, v = (np.moveaxis(x, axis, -1) for x in self._numbers(*args))
        weights = triangle(z[..., None, :], level[..., :, None])
        return np.moveaxis(
            self.field.reduced(np.einsum(f"...{pair}", weights, v)), -1, axis
        )

    def _exponentials(self, z: Array, level: Array) -> Array:
        lower = np.tri(z.shape[-1], dtype=int)
        return self.others["exp"](self.field.reduced(z - level)) * lower

    def _ties(self, x: Array, top: Array) -> Array:
        ties = self.field.of((x == top) * np.tri(x.shape[-1], dtype=int))
        return self.field.divided(ties, ties.sum(axis=-1, keepdims=True))

    # Walks

    def _walked(self, a: Array, step: Callable[[Array, Array], Array]) -> Array:
        found = self.field.of(a).copy()
        for t in range(1, len(found)):
            store(found, t, np.asarray(step(found[t - 1], found[t])))
        return found

    def _np_cumprod(self, a: Array, axis: int = 0) -> Array:
        return self._walked(a, lambda x, y: self.field.reduced(x * y))

    def _np__running_max(self, a: Array, axis: int = 0) -> Array:
        return self._extremes(a, self.others["first"], axis)

    def _np__running_min(self, a: Array, axis: int = 0) -> Array:
        return self._extremes(a, self.others["last"], axis)

    def _extremes(self, a: Array, step: Any, axis: int) -> Array:
        rows = np.moveaxis(self.field.of(a), axis, 0)
        return np.moveaxis(self._walked(rows, step), 0, axis)

    def _np__filtered(self, a: Array, gain: Array, back: bool = False) -> Array:
        gains = np.broadcast_to(self.field.of(gain), (len(a) - 1,))
        return self._np__filtered_by(a, gains, back)

    def _np__filtered_by(self, a: Array, gains: Array, back: bool = False) -> Array:
        if back:
            return self._np__filtered_by(a[::-1], gains[::-1])[::-1]
        found, gains = self.field.of(a).copy(), self.field.of(gains)
        for t, gain in enumerate(gains):
            store(found, t + 1, self.field.reduced(gain * found[t] + found[t + 1]))
        return found
