"""A point for one function: its inputs, its references, directions to look along."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

import numpy as np

from tensorgen.calculus.kinds import Kind
from tensorgen.lang import ElaboratedFunction, Program
from tensorgen.operators.references import Array
from tensorgen.operators.references.rounding import largest
from tensorgen.verify.cases import Case
from tensorgen.verify.emitted_calls import solved
from tensorgen.verify.reference import Known, Reference, Unfit

WORST_NOISE = 1e-7
"""What the last bits of the inputs may move, relatively, where anything is reported."""

SINGLE_MAX = float(np.finfo(np.float32).max)
"""The largest number of single precision."""


def seeded(name: str, seed: str, count: int) -> Array:
    """Return some numbers of few digits, others for each name."""
    rng = random.Random(f"{name} {seed}")
    return np.array([round(rng.uniform(-1, 1), 4) for _ in range(count)])


def looks(
    function: ElaboratedFunction, kind: Kind, case: Case, look: int = 0
) -> dict[str, Any]:
    """Return directions or cotangents at a point, by the names of the arguments."""
    found: dict[str, Array] = {}
    if kind.argument == "direction":
        values = {f"d{w.name}": case.values[w.name] for w in function.spec.wrt}
        sizes = [np.size(x) for x in values.values()]
        flat = seeded(f"direction {look}", case.seed, sum(sizes))
        parts = np.split(flat, np.cumsum(sizes)[:-1])
        for (name, at), part in zip(values.items(), parts, strict=True):
            found[name] = part.reshape(np.shape(at))
    elif kind.argument:
        for name, one in function.alone.items():
            shape = tuple(dim.value(case.sizes) for dim in one.node.dims)
            count = int(np.prod(shape, dtype=int))
            flat = seeded(f"cotangent {name} {look}", case.seed, count)
            found[f"ct_{name}" if name else "ct"] = flat.reshape(shape)
    return {name: x if x.ndim else float(x) for name, x in found.items()}


class Point:
    """Where one function is compared; what is computed there is cached.

    `references` has one for each result, under its name; a single one has none.
    """

    def __init__(
        self,
        function: ElaboratedFunction,
        program: Program,
        case: Case,
        most: bool = False,
    ) -> None:
        """Compute values and first derivatives; raises `Unfit` where that fails.

        Not all entries have to be finite if that is so of `most`.
        """
        self.function = function
        self.case = solved(function, program, case)
        with np.errstate(all="ignore"):
            self.references: Mapping[str, Reference] = {
                name: Reference(own, case.values, case.sizes, most)
                for name, own in function.alone.items()
            }
            for own in self.references.values():
                own.look(WORST_NOISE)
        self._seconds: dict[tuple[str, int], Known] = {}

    @cached_property
    def is_single(self) -> bool:
        """Whether single precision has values and first derivatives in its range."""
        known = [
            x for own in self.references.values() for x in (own.measured, own.jacobian)
        ]
        return all(largest(x.value) <= SINGLE_MAX for x in known)

    @property
    def any(self) -> Reference:
        """The reference of some result: all have the same variables."""
        return next(iter(self.references.values()))

    def direction(self, k: int) -> Array:
        """Return the k-th direction in the variables, flat."""
        return seeded(f"direction {k}", self.case.seed, len(self.any.x))

    def cotangent(self, name: str, k: int) -> Array:
        """Return the k-th cotangent of a result."""
        shape = self.references[name].value.shape
        count = int(np.prod(shape))
        return seeded(f"cotangent {name} {k}", self.case.seed, count).reshape(shape)

    def second(self, name: str, k: int) -> Known:
        """Return what second derivatives of a result make of the k-th direction.

        A row for each entry of the result.
        """
        if (name, k) not in self._seconds:
            found = self.references[name].second(self.direction(k))
            self._seconds[name, k] = found
        return self._seconds[name, k]

    def chosen(self, part: Any) -> Iterator[tuple[str, Reference]]:
        """Yield the results that have a kind of derivative."""
        for name, own in self.references.items():
            if not (part.scalar and own.value.ndim):
                yield name, own


__all__ = ["Point", "Unfit"]
