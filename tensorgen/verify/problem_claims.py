"""What holds of a problem class: its methods are the function's derivatives, flat."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from tensorgen.calculus.kinds import PROBLEM
from tensorgen.operators.references import Array
from tensorgen.verify.derivative_claims import FIRST, SECOND, SLOPES, VALUES, formula
from tensorgen.verify.emitted_calls import Arguments, arguments
from tensorgen.verify.findings import Measure
from tensorgen.verify.object_claims import DIFFERENCES
from tensorgen.verify.points import Point
from tensorgen.verify.reference import Known
from tensorgen.verify.verified_modules import Subject


@dataclass(frozen=True)
class OnVector:
    """Measures of what a problem of a backend says at one vector."""

    subject: Subject
    given: dict[str, Array]

    def __call__(
        self, what: str, code: str, got: Any, against: str, wanted: Known, most: float
    ) -> Measure:
        """Measure what some code gave against what is known."""
        numbers = self.subject.numbers(got)
        return Measure(what, against, numbers, wanted, most, code, self.given)


def bound(point: Point, subject: Subject) -> Iterator[tuple[Arguments, Measure]]:
    """Bind a function to the data of a point, and yield what is measured there.

    Raises what the class raises.
    """
    name = PROBLEM.public_name(point.function.spec.name)
    d = point.direction(0)
    given = data_of(point, subject, name)
    problem = given.call(subject, name)
    v, packed = packing(problem, point, subject)
    for measures in (packed, _measures(problem, v, point, d, subject)):
        for measure in measures:
            yield given, measure


def packing(
    problem: Any, point: Point, subject: Subject
) -> tuple[Any, Iterator[Measure]]:
    """Return the variables of a point as a class packs them, and what holds of that."""
    own, array = point.any, subject.numbers
    parts = {x: subject.array(point.case.values[x]) for x in own.wrt}
    v = problem.pack(**parts)

    def measures() -> Iterator[Measure]:
        on, inputs = OnVector(subject, {"v": array(v)}), Known(own.x)
        yield on("pack", "v", v, "its inputs", inputs, 0.0)
        found = problem.unpack(v)
        found = found if len(own.wrt) > 1 else (found,)
        again = np.concatenate([array(part).ravel() for part in found])
        yield on("unpack", "result.unpack(v)", again, "its inputs", inputs, 0.0)

    return v, measures()


def data_of(point: Point, subject: Subject, name: str) -> Arguments:
    """Return what a class is bound to at a point; raises if there is no class."""
    unknown = [x.name for x in point.function.arguments if x.unknown]
    without = (*point.any.wrt, *unknown)
    data = arguments(point.function, point.case, without=without).values
    # Sizes that no data give are arguments, those that do are none.
    wanted = inspect.signature(getattr(subject.module, name)).parameters
    known = {**point.case.sizes, **data}
    return Arguments({}, {x: known[x] for x in known if x in wanted})


def _measures(
    problem: Any, v: Any, point: Point, d: Array, subject: Subject
) -> Iterator[Measure]:
    own, along = point.any, subject.array(d)
    on = OnVector(subject, {"v": subject.numbers(v), "d": d})
    values, slopes = (formula(own), own.measured, VALUES), own.jacobian
    yield on("value", "result.value(v)", problem.value(v), *values)
    if own.value.ndim:
        jacobian, how = problem.jacobian(v), "result.jacobian(v)"
        known = Known(slopes.value @ d, slopes.error * max(1, d.size))
        got = subject.numbers(jacobian.matvec(along)).ravel()
        yield on("jacobian", f"{how}.matvec(d)", got, SLOPES, known, FIRST)
        if subject.backend == "numpy":
            got = np.asarray(jacobian)
            yield on("jacobian", f"np.asarray({how})", got, SLOPES, slopes, FIRST)
        return
    gradient = SLOPES, Known(own.vectors(slopes.value)[0], slopes.error), FIRST
    yield on("gradient", "result.gradient(v)", problem.gradient(v), *gradient)
    both, how = problem.value_and_gradient(v), "result.value_and_gradient(v)"
    yield on("value_and_gradient", f"{how}[0]", both[0], *values)
    yield on("value_and_gradient", f"{how}[1]", both[1], *gradient)
    second = point.second("", 0)
    wanted = Known(own.vectors(second.value[0]), second.error)
    got = problem.hvp(v, along)
    yield on("hvp", "result.hvp(v, d)", got, DIFFERENCES, wanted, SECOND)
    if hasattr(problem, "hessian"):
        row, how = Known(second.value[0], second.error), "result.hessian(v).matvec(d)"
        got = problem.hessian(v).matvec(along)
        yield on("hessian", how, got, DIFFERENCES, row, SECOND)
