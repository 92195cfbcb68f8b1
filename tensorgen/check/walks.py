"""Running reductions, and places in an order, that code calls, over any numbers.

They are those of the reference, as far as these add, multiply and compare.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from tensorgen.check.reals import Reals
from tensorgen.check.residues import Residues, store
from tensorgen.operators.references import Array
from tensorgen.operators.references.rows import OPERATORS

Field = Residues | Reals


class Walks:
    """What goes along an axis; what begins with `_np_` is called by that name."""

    def __init__(self, field: Field, others: dict[str, Callable[..., Array]]) -> None:
        """Make the functions of a field, of which some stand in `others`."""
        self.field = field
        self.others = others
        self._np__filtered = partial(self._filtered, "filtered")
        self._np__filtered_by = partial(self._filtered, "filtered_by")
        for name in ("count_within", "count_below", "begin_at", "begin_above"):
            counted = partial(OPERATORS[name], compared=field.compared)
            setattr(self, f"_np__{name}", counted)
        for name in ("running_mean", "running_share", "tied_mean", "tied_share"):
            how = field.divided if name.startswith("tied") else self._exp
            setattr(self, f"_np__{name}", partial(self._with_triangle, name, how))

    def _numbers(self, *args: Array) -> list[Array]:
        return [self.field.of(one) for one in args]

    def _of_reference(self, name: str, *args: Any) -> Array:
        """What only adds and multiplies, which NumPy does with numbers of any kind."""
        return self.field.reduced(OPERATORS[name](*args))

    # Walks

    def _exp(self, x: Array) -> Array:
        return self.others["exp"](self.field.reduced(x))

    def _with_triangle(self, name: str, how: Any, *args: Array, axis: int = 0) -> Array:
        return self._of_reference(name, *self._numbers(*args), (axis,), how)

    def _np__running_logsumexp(self, z: Array, axis: int = 0) -> Array:
        sums = np.cumsum(self.others["exp"](z), axis=axis)
        return self.others["log"](self.field.reduced(sums))

    def _filtered(self, name: str, a: Array, gain: Array, back: bool = False) -> Array:
        name = name.replace("filtered", "filtered_back") if back else name
        return self._of_reference(name, *self._numbers(a, gain))

    def _np__running_max(self, a: Array, axis: int = 0) -> Array:
        return self._extremes(self.others["first"], a, axis)

    def _np__running_min(self, a: Array, axis: int = 0) -> Array:
        return self._extremes(self.others["last"], a, axis)

    def _extremes(self, step: Callable[..., Array], a: Array, axis: int) -> Array:
        found = self.field.of(a).copy()
        rows = np.moveaxis(found, axis, 0)
        for t in range(1, len(rows)):
            store(rows, t, step(rows[t - 1], rows[t]))
        return found

    # Index arrays

    def _np_argsort(self, a: Array, axis: int = -1, kind: str = "") -> Array:
        return OPERATORS["argsort"](self.field.of(a), (axis,))

    def _np__interval(self, x: Array, knots: Array) -> Array:
        return OPERATORS["interval"](*self._numbers(x, knots)).astype(int)

    def _np_searchsorted(self, keys: Array, x: Array, side: str = "left") -> Array:
        return np.searchsorted(keys, x, "right" if side == "right" else "left")

    def _np__joint_order(self, keys: Array, places: Array) -> Array:
        return OPERATORS["joint_order"](None, keys, places)

    def _np__count_joint(
        self, keys: Array, places: Array, key: Array, place: Array, side: str = "left"
    ) -> Array:
        name = "count_joint_within" if side == "right" else "count_joint_before"
        return OPERATORS[name](None, keys, places, key, place)

    def _np__tie(self, keys: Array, x: Array, beyond: int = 0) -> Array:
        name = "tie" if beyond else "tie_of_key"
        return OPERATORS[name](*self._numbers(keys, x), compared=self.field.compared)

    def _np__last_index(self, number: Array) -> Array:
        return OPERATORS["last_place"](None, number)
