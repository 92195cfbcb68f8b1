"""What holds of functions that find unknowns: their equation, at what they return."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from tensorgen.lang import ElaboratedFunction, Program
from tensorgen.verify.cases import Case
from tensorgen.verify.emitted_calls import Arguments, arguments
from tensorgen.verify.findings import Measure
from tensorgen.verify.points import Point
from tensorgen.verify.reference import Known, Reference
from tensorgen.verify.verified_modules import Subject

MOST_OF_A_RESIDUAL = 1e-6
"""What a residual may be, relative to its slope and the solution."""


@dataclass(frozen=True)
class Solver:
    """The function that finds an unknown, and its residual or its objective."""

    name: str
    unknown: str
    measure: ElaboratedFunction
    minimises: bool

    def measured(
        self, point: Point, subject: Subject
    ) -> Iterator[tuple[Arguments, Measure]]:
        """Solve with the data of a point, and look at the equation there."""
        given = self.given(point, subject)
        found = subject.numbers(given.call(subject, self.name))
        values = {**point.case.values, self.unknown: found.astype(float)}
        there = Case(point.case.sizes, values, point.case.seed)
        spec = replace(self.measure.spec, wrt=point.function.spec.wrt)
        own = Reference(replace(self.measure, spec=spec), there.values, there.sizes)
        slope, residual = own.jacobian.value, np.ravel(own.value)
        if self.minimises:
            residual = slope[0]
            slope = np.array([own.second(unit).value[0] for unit in np.eye(len(own.x))])
        # How far the solution is from where the equation holds, to first order.
        step = np.linalg.lstsq(slope, residual, rcond=None)[0]
        got, zero = own.x - step, Known(own.x)
        yield given, Measure(
            "solution", "its equation", got, zero, MOST_OF_A_RESIDUAL, "result"
        )

    def given(self, point: Point, subject: Subject) -> Arguments:
        """What the function is called with at a point."""
        return arguments(self.measure, point.case, without=(self.unknown,))


def solvers(program: Program) -> Iterator[Solver]:
    """Yield the functions that find unknowns."""
    for unknown in program.unknowns:
        name = unknown.spec.name
        minimises = unknown.spec.way == "minimises"
        yield Solver(f"{name}_solve", name, unknown.measure, minimises)
