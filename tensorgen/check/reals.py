"""Floating-point numbers, with what the residues have."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from tensorgen.check.residues import holds
from tensorgen.fields.doubles import Doubles
from tensorgen.operators.elementwise import ELEMENTWISE
from tensorgen.operators.references import Array
from tensorgen.operators.references.rows import FUNCTIONS


class Reals(Doubles):
    """Double precision; nothing is ever outside: it is NaN."""

    dtype: Any = float
    outside = lost = False

    def __init__(self) -> None:
        """Take functions from the reference, and the others from NumPy."""
        own = vars(np).items()
        every: dict[str, Callable[..., Array]] = {
            **{name: f for name, f in own if isinstance(f, np.ufunc)},
            **{f"_{name}": function for name, function in FUNCTIONS.items()},
            "first": np.maximum,
            "last": np.minimum,
            "clipped": np.clip,
            **{
                row.numpy.partition("(")[0].removeprefix("special."): FUNCTIONS[name]
                for name, row in ELEMENTWISE.items()
                if row.requires
            },
        }
        super().__init__({name: partial(self.each, f) for name, f in every.items()})

    def of(self, value: Array) -> Array:
        """Masks, indices and rationals as numbers."""
        return np.asarray(value, dtype=float)

    def reduced(self, value: Array) -> Array:
        """The same numbers."""
        return np.asarray(value, dtype=float)

    def beyond(self, value: Array) -> Array:
        """No value: something was promised that does not hold."""
        return np.full_like(self.of(value), np.nan)

    def each(self, function: Callable[..., Array], *args: Array) -> Array:
        """A function of arrays."""
        return self.of(function(*map(self.of, args)))

    def divided(self, x: Array, y: Array) -> Array:
        """The quotient."""
        return self.of(x) / self.of(y)

    def power(self, x: Array, y: Array) -> Array:
        """`x**y`."""
        return np.power(self.of(x), self.of(y))

    def compared(self, symbol: str, x: Array, y: Array) -> Array:
        """Whether a comparison holds."""
        return holds(symbol, np.sign(self.of(x) - self.of(y)))
