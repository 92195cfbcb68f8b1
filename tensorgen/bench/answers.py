"""Results compared with what they ought to be, before anything is timed.

Against JAX, number by number; where it has no counterpart, against the formula: a
result that is multiplied by directions is a derivative along them, which complex steps
and their differences tell at any size, a few values at a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tensorgen.calculus.kinds import Kind
from tensorgen.lang import ElaboratedFunction, Program
from tensorgen.operators.references import Array
from tensorgen.operators.references.rounding import largest
from tensorgen.verify.cases import Case
from tensorgen.verify.derivative_claims import (
    DIFFERENCES,
    FORMULA,
    HIGHER,
    Part,
    Rows,
    measured,
)
from tensorgen.verify.findings import Measure
from tensorgen.verify.large import ROWS as LARGE_ROWS
from tensorgen.verify.large import Large
from tensorgen.verify.reference import HIGHEST, Known, Unfit
from tensorgen.verify.verified_modules import Subject

JAX = "JAX"
AGREEMENT = 1e-6
"""What numbers of JAX may differ by, relative to the largest one of an array."""


@dataclass(frozen=True)
class Answer:
    """How far a result is off, and from what; why nothing was compared."""

    against: str = ""
    error: float = 0.0
    allowed: float = AGREEMENT
    reason: str = ""

    @property
    def is_wrong(self) -> bool:
        """Whether the difference is more than rounding explains."""
        return bool(self.against) and not self.error <= self.allowed


class Answers:
    """What the functions of one function of a spec ought to return at a point."""

    def __init__(
        self, function: ElaboratedFunction, program: Program, case: Case, on: Subject
    ) -> None:
        self._function, self._program, self._case = function, program, case
        self._wrt, self._on = tuple(x.name for x in function.spec.wrt), on
        self._point: Large | str | None = None

    def against_jax(self, kind: Kind, result: Any, found: Sequence[Array]) -> Answer:
        """Compare a result with the numbers of JAX."""
        own, worst = kind.plain_parts, 0.0
        parts = zip(own, result if len(own) > 1 else (result,), strict=True)
        arrays = [x for part, got in parts for x in self._whole(part, got)]
        for got, wanted in zip(arrays, found, strict=True):
            worst = max(worst, _difference(got, wanted))
        return Answer(JAX, worst)

    def _whole(self, part: Kind, got: Any) -> list[Array]:
        """What was returned of one kind as arrays: one an input, or a pair of them."""
        single, wrt, array = len(self._wrt) == 1, self._wrt, self._on.numbers
        if part.by == "nothing":
            return [array(got)]
        if part.by == "each":
            each = [got] if single else [getattr(got, x) for x in wrt]
            return [array(x.dense() if part.holder else x) for x in each]
        if single:
            return [array(got.dense() if part.holder else got)]
        pairs = [(a, b) for a in wrt for b in wrt]
        if part.holder:
            return [array(got.blocks[pair].dense()) for pair in pairs]
        return [array(got[pair]) for pair in pairs]

    def against_formula(
        self, kind: Kind, order: tuple[str, ...], result: Any
    ) -> Answer:
        """Compare what is left of a result along directions with the formula's."""
        try:
            if self._function.batch is not None:
                raise Unfit("samples of a batch are compared by verify alone")
            if self._function.metrics and kind.name != "value":
                raise Unfit("it is a vector of another inner product")
            found = [*measured(self._known(), kind, order, self._on, ROWS, result)]
            told = [x for x in found if x.is_wrong or not x.is_open]
            if not told:
                raise Unfit("this kind is compared by verify alone")
        except Unfit as error:
            return Answer(reason=str(error))
        worst = max(told, key=lambda x: x.error / max(x.tolerance, 1e-300))
        return Answer(FORMULA, worst.error, worst.tolerance)

    def _known(self) -> Large:
        """What is known of the formula at the point; raises `Unfit`."""
        if self._point is None:
            try:
                self._point = Large(self._function, self._program, self._case)
            except Unfit as error:
                self._point = str(error)
        if isinstance(self._point, str):
            raise Unfit(self._point)
        return self._point


def _higher(part: Part) -> Iterator[Measure]:
    """A tensor of one input, along one direction in all of its places."""
    own, count = part.reference, len(part.order)
    if count > HIGHEST:
        return
    d = own.project(part.point.direction(0))
    single = part.subject.array(own.parts(d)[part.order[0]])
    got = part.array(part.got.contract(*[single] * count)).reshape(own.value.shape)
    known = own.along(*[d] * count)
    wanted = Known(known.value.reshape(own.value.shape), known.error)
    yield Measure("contract", DIFFERENCES, got, wanted, HIGHER, part.code)


ROWS: Rows = {**LARGE_ROWS, "order": _higher}
"""What is compared of each kind; of mixed tensors and joint ones, nothing."""


def _difference(got: Array, wanted: Array) -> float:
    got, wanted = np.asarray(got), np.asarray(wanted)
    if got.shape != wanted.shape or not np.all(np.isfinite(got)):
        return float("inf")
    return largest(got - wanted) / (largest(wanted) or 1.0)
