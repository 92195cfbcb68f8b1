"""What holds of a problem class: its methods are the function's derivatives, flat."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import numpy as np

from tensorgen.calculus.kinds import PROBLEM
from tensorgen.verify.derivative_claims import FIRST, SECOND, SLOPES, VALUES, formula
from tensorgen.verify.emitted_calls import Arguments, arguments
from tensorgen.verify.findings import Measure
from tensorgen.verify.object_claims import DIFFERENCES
from tensorgen.verify.points import Point
from tensorgen.verify.reference import Known, Reference
from tensorgen.verify.verified_modules import Subject

Array = Any


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
        flat, inputs = {"v": array(v)}, Known(own.x)
        yield Measure("pack", "its inputs", array(v), inputs, 0.0, "v", flat)
        found = problem.unpack(v)
        found = found if len(own.wrt) > 1 else (found,)
        again = np.concatenate([array(part).ravel() for part in found])
        how = "result.unpack(v)"
        yield Measure("unpack", "its inputs", again, inputs, 0.0, how, flat)

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
    own, flat = point.any, {"v": subject.numbers(v), "d": d}

    def array(found: Any) -> Array:
        return subject.numbers(found)

    value, rows = own.measured, own.jacobian.value
    yield Measure(
        "value",
        formula(own),
        array(problem.value(v)),
        value,
        VALUES,
        "result.value(v)",
        flat,
    )
    if own.value.ndim:
        yield from _of_arrays(problem, v, own, d, subject, flat)
        return
    gradient = Known(own.vectors(rows)[0], own.jacobian.error)
    how = "result.gradient(v)"
    yield Measure(
        "gradient", SLOPES, array(problem.gradient(v)), gradient, FIRST, how, flat
    )
    both, how = problem.value_and_gradient(v), "result.value_and_gradient(v)"
    yield Measure(
        "value_and_gradient",
        formula(own),
        array(both[0]),
        value,
        VALUES,
        f"{how}[0]",
        flat,
    )
    yield Measure(
        "value_and_gradient", SLOPES, array(both[1]), gradient, FIRST, f"{how}[1]", flat
    )
    second = point.second("", 0)
    wanted = Known(own.vectors(second.value[0]), second.error)
    how = "result.hvp(v, d)"
    got = array(problem.hvp(v, subject.array(d)))
    yield Measure("hvp", DIFFERENCES, got, wanted, SECOND, how, flat)
    if hasattr(problem, "hessian"):
        got = array(problem.hessian(v).matvec(subject.array(d)))
        row = Known(second.value[0], second.error)
        how = "result.hessian(v).matvec(d)"
        yield Measure("hessian", DIFFERENCES, got, row, SECOND, how, flat)


def _of_arrays(
    problem: Any,
    v: Any,
    own: Reference,
    d: Array,
    subject: Subject,
    flat: dict[str, Array],
) -> Iterator[Measure]:
    """What holds of a function that is no scalar: its Jacobian."""
    known = Known(own.jacobian.value @ d, own.jacobian.error * max(1, d.size))
    jacobian = problem.jacobian(v)
    got = subject.numbers(jacobian.matvec(subject.array(d))).ravel()
    how = "result.jacobian(v).matvec(d)"
    yield Measure("jacobian", SLOPES, got, known, FIRST, how, flat)
    if subject.backend == "numpy":
        how = "np.asarray(result.jacobian(v))"
        whole = np.asarray(jacobian)
        yield Measure("jacobian", SLOPES, whole, own.jacobian, FIRST, how, flat)
