"""Floating-point numbers, with the interface of the residues."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from tensorgen.check.residues import holds
from tensorgen.operators.elementwise import ELEMENTWISE
from tensorgen.operators.references.rows import FUNCTIONS

Array = Any


class Reals:
    """Double precision; nothing is ever outside: it is NaN."""

    library: Any = np
    dtype: Any = float
    outside = lost = False

    def __init__(self) -> None:
        """Take functions from the reference, and the others from NumPy."""
        own = {name: getattr(np, name) for name in dir(np)}
        self.functions: dict[str, Callable[..., Array]] = {
            **{name: f for name, f in own.items() if isinstance(f, np.ufunc)},
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
        self.functions = {
            name: partial(self.each, f) for name, f in self.functions.items()
        }

    def number(self, value: Fraction) -> Array:
        """A rational."""
        return np.asarray(float(value))

    def constant(self, name: str) -> Array:
        """A number with a name."""
        return np.asarray(getattr(np, name))

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
