"""Numbers that add and multiply as arrays do, with functions in tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from tensorgen.fields.evaluator import Evaluator
from tensorgen.ir.dims import Dim
from tensorgen.ir.nodes import Call
from tensorgen.operators.references import Array

Table = Mapping[str, Callable[..., Array]]


class Doubles:
    """Double precision, real or complex, in arrays of NumPy or of what is like it."""

    def __init__(
        self, functions: Table, operators: Table | None = None, library: Any = np
    ) -> None:
        """Have the functions of maps and those of calls, by the names of rows."""
        self.functions = functions
        self.operators = operators or {}
        self.library = library

    def number(self, value: Fraction) -> Array:
        """A rational."""
        return self.library.asarray(float(value))

    def constant(self, name: str) -> Array:
        """A number with a name."""
        return self.library.asarray(getattr(np, name), float)

    def of(self, value: Array) -> Array:
        """Masks, indices and sizes as numbers; numbers as they are."""
        found = self.library.asarray(value)
        return found * 1.0 if found.dtype.kind in "biu" else found

    def reduced(self, value: Array) -> Array:
        """The same numbers."""
        return value


class Tabled(Evaluator[Doubles]):
    """Where functions are what a field has in its tables."""

    def function(self, name: str) -> Callable[..., Array]:
        """The elementwise function of that name."""
        return self.field.functions[name]

    def called(self, node: Call, args: Sequence[Array]) -> Array:
        """The value of the function of that name, given its parameters."""
        given = dict(node.params)
        given.pop("bound", None)  # which says what index arrays are for, not what of
        params = {name: self._parameter(value) for name, value in given.items()}
        return self.field.operators[node.operator](*args, **params)

    def _parameter(self, value: object) -> object:
        """A parameter of a call, with numbers for the dims in it."""
        if isinstance(value, tuple):
            return tuple(map(self._parameter, value))
        return self.size(value) if isinstance(value, Dim) else value
