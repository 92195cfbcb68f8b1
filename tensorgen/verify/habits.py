"""What holds of every call: single precision, defaults, and what is refused.

All that a module emits takes its arguments in one way. So no reference is needed here:
a call is compared with another call of the same function, or has to raise.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tensorgen.ir.dims import Dim
from tensorgen.operators.references import Array
from tensorgen.operators.references.rounding import largest
from tensorgen.spec.model import InputSpec
from tensorgen.verify.emitted_calls import Arguments
from tensorgen.verify.findings import Measure
from tensorgen.verify.points import SINGLE_MAX, Point
from tensorgen.verify.reference import Known
from tensorgen.verify.verified_modules import Subject

SINGLE = 1e-3
"""The relative tolerance of single precision."""

ROUNDED = float(np.finfo(np.float32).eps / np.finfo(np.float64).eps)
"""How much more the last bits of inputs move what is computed in single precision."""

DOUBLE = "double precision"

TRUE = Known(np.asarray(1.0))


@dataclass(frozen=True)
class Habits:
    """One call at a point: what is asked of the function besides its value."""

    name: str
    given: Arguments
    point: Point
    subject: Subject
    returns_arrays: bool

    @property
    def _values(self) -> dict[str, Any]:
        return self.given.values

    def measures(self) -> Iterator[tuple[Arguments, Measure]]:
        """Yield what holds of other calls, and how each was made."""
        if self.returns_arrays:
            yield from self._single()
            yield from self._defaults()
        for name, bad, error in self._refused():
            yield self.given, self._raises(name, bad, error)

    def _single(self) -> Iterator[tuple[Arguments, Measure]]:
        """The same numbers in single precision, of which the result has to be."""
        single = self.given.each(_cast("f"))
        values = single.values.values()
        if not any(getattr(x, "dtype", None) == np.float32 for x in values):
            return
        # What is solved for by steps may not come to rest within single precision.
        not_converged = getattr(self.subject.module, "NotConverged", ())
        try:
            found = leaves(single.call(self.subject, self.name), self.subject)
        except not_converged:
            return
        double = single.each(_cast("d")).call(self.subject, self.name)
        wanted = leaves(double, self.subject)
        noise = max(
            x.error / max(largest(x.value), 1e-6)
            for own in self.point.references.values()
            for x in (own.measured, own.jacobian)
        )
        # Beyond its range, single precision has no numbers that could be compared.
        fits = max(map(largest, wanted), default=0.0) <= SINGLE_MAX
        for got, known in zip(found, wanted, strict=True):
            if known.dtype.kind == "f":
                kind, how = np.asarray(1.0 * (got.dtype == np.float32)), "result"
                yield single, Measure("float32", DOUBLE, kind, TRUE, 0.5, how)
                if not fits:
                    continue
                error = noise * ROUNDED * largest(known)
                yield single, Measure(
                    "float32", DOUBLE, got, Known(known, error), SINGLE, how
                )

    def _defaults(self) -> Iterator[tuple[Arguments, Measure]]:
        """What is left out is as the spec has it."""
        stated = {
            x.name: float(x.default)
            for x in self.point.function.arguments
            if x.default is not None and x.name in self.given.keyword
        }
        if not stated:
            return
        said = replace(self.given, keyword={**self.given.keyword, **stated})
        rest = {k: x for k, x in said.keyword.items() if k not in stated}
        left = replace(said, keyword=rest)
        one, other = (
            leaves(x.call(self.subject, self.name), self.subject) for x in (left, said)
        )
        for got, wanted in zip(one, other, strict=True):
            same = np.asarray(1.0 * np.array_equal(got, wanted, equal_nan=True))
            yield left, Measure("defaults", "the spec", same, TRUE, 0.5, "result")

    def _refused(self) -> Iterator[tuple[str, Any, type[Exception]]]:
        """Yield arguments that none may take, by name, and what has to be raised."""
        every = dict.fromkeys(x.of or x for x in self.point.function.arguments)
        inputs = {x.name: x for x in every}
        # Directions are as long as what they are directions in.
        dims = {
            name: x.shape
            for key, x in inputs.items()
            for name in (key, f"d{key}" if f"d{key}" not in inputs else key)
            if name in self._values
        }
        for name, value in self._values.items():
            if name in self.point.case.sizes or hasattr(value, "tocoo"):
                continue
            array, own = np.asarray(value), inputs.get(name)
            yield name, array[None], ValueError
            if array.dtype.kind == "f":
                yield name, array + 0j, TypeError
                if self.subject.backend == "numpy":
                    yield name, array.astype(object), TypeError
            if own is not None and own.index is not None and array.size:
                yield from self._outside(own, array)
            yield from self._longer(name, array, dims)

    def _outside(
        self, own: InputSpec, array: Array
    ) -> Iterator[tuple[str, Any, type[Exception]]]:
        assert own.index is not None
        every = [x for x in self.point.function.arguments if x.name in self._values]
        known = {s for x in every for dim in x.shape for s in dim.sources}
        if not known.union(self._values).issuperset(own.index.sources):
            return  # a class may learn how long its variables are from these
        for beyond in (-1, own.index.value(self.point.case.sizes)):
            for at in (0, -1):
                wrong = array.copy()
                wrong.flat[at] = beyond
                yield own.name, wrong, ValueError

    def _longer(
        self, name: str, array: Array, dims: Mapping[str, Sequence[Dim]]
    ) -> Iterator[tuple[str, Any, type[Exception]]]:
        """Axes that are longer than an axis of another argument that is as long."""
        others = {dim for x, own in dims.items() if x != name for dim in own}
        for axis, dim in enumerate(dims.get(name, ())):
            if dim in others and array.shape[axis]:
                more = array.take([0], axis)
                yield name, np.concatenate([array, more], axis), ValueError

    def _raises(self, name: str, bad: Any, error: type[Exception]) -> Measure:
        given = self.given.each(lambda x: x, {name: bad})
        right = 0.0
        try:
            given.call(self.subject, self.name)
        except error as raised:
            # Of two that are not as long it may be the other that is told of.
            said = re.match(rf"{name}\b|.*\bset by {name}\b", str(raised), re.DOTALL)
            right = 1.0 * (said is not None)
        except Exception:  # another one, which tells callers something else
            pass
        got = np.asarray(right)
        return Measure("refusals", "the rules", got, TRUE, 0.5, "result", {name: bad})


def leaves(found: Any, subject: Subject) -> list[Array]:
    """Return all arrays of what a function returned, objects as dense ones."""
    if isinstance(found, tuple):
        return [leaf for part in found for leaf in leaves(part, subject)]
    if isinstance(found, Mapping):
        return leaves(tuple(found.values()), subject)
    if hasattr(found, "dense"):
        return [subject.numbers(found.dense())]
    if hasattr(found, "blocks"):
        return leaves(found.blocks, subject)
    return [subject.numbers(found)]


def _cast(kind: str) -> Callable[[Any], Any]:
    def cast(value: Any) -> Any:
        floats = getattr(value, "dtype", np.dtype(int)).kind == "f"
        return value.astype(kind) if floats else value

    return cast
