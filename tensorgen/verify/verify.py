"""Go through all that a module emits, point by point, small sizes first."""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np

from tensorgen.calculus.kinds import PROBLEM, Kind
from tensorgen.lang import ElaboratedFunction, ElaboratedProblem, program_of, requested
from tensorgen.operators.references import Array
from tensorgen.spec.model import Spec
from tensorgen.verify.cases import SMALLEST_ATTEMPT, Sizes, case, given_case
from tensorgen.verify.constrained_claims import Constrained, as_function
from tensorgen.verify.derivative_claims import ROWS, Rows, called, compared
from tensorgen.verify.emitted_calls import Arguments, arguments
from tensorgen.verify.findings import EMPTY, OPEN, Finding, Measure
from tensorgen.verify.habits import Habits
from tensorgen.verify.large import ROWS as LARGE_ROWS
from tensorgen.verify.large import Large
from tensorgen.verify.log import Log
from tensorgen.verify.points import Point
from tensorgen.verify.problem_claims import bound, data_of
from tensorgen.verify.reference import HIGHEST, Known, NotFinite, TooLarge, Unfit
from tensorgen.verify.samples import of_one_sample
from tensorgen.verify.solutions import Solver, solvers
from tensorgen.verify.verified_modules import Subject

Compared = Iterator[tuple[Arguments, Measure]]

POINTS = 5
ATTEMPTS = 40
"""How often a point of given sizes is looked for, with other numbers."""


@dataclass(frozen=True)
class Task:
    """One emitted function: how it is called, and how it is compared at a point."""

    name: str
    function: ElaboratedFunction
    measured: Callable[[Point, Subject], Compared]
    given: Callable[[Point, Subject], Arguments]
    remark: str = ""
    at_large: Callable[[Point, Subject], Compared] | None = None
    is_class: bool = False
    """Whether a call returns something else than arrays that follow from arrays."""
    solves: bool = False
    """Whether it finds an unknown: no smaller sizes are looked for where it fails."""

    def habits(self) -> Task:
        """The same function, of which the properties of every call are measured."""

        def measured(point: Point, subject: Subject) -> Compared:
            given, arrays = self.given(point, subject), not self.is_class
            return Habits(self.name, given, point, subject, arrays).measures()

        return replace(self, measured=measured)


class Verification:
    """All comparisons of one spec; points are cached for the modules that follow."""

    def __init__(
        self,
        spec: Spec,
        seed: int = 0,
        data: Mapping[str, Array] | None = None,
        points: int = POINTS,
        watch: Callable[[str], None] | None = None,
    ) -> None:
        """Elaborate the spec; raises `SpecError` with all faults."""
        self.spec, self.seed, self.data, self._count = spec, seed, data, points
        self._watch = watch or (lambda doing: None)
        _, self.program = program_of(spec, watch)
        self._points: dict[str, list[Point] | Unfit] = {}
        self._large: dict[str, Large | None] = {}

    @property
    def names(self) -> tuple[str, ...]:
        """What can be asked for: functions of the spec, and all that is emitted."""
        found = [x.spec.name for x in self.program.generated]
        found += [task.name for task in self.tasks()]
        found += [solver.name for solver in solvers(self.program)]
        return tuple(dict.fromkeys(found))

    def tasks(self, only: str | None = None) -> Iterator[Task]:
        """Yield what is emitted; `only` names a function, or what is emitted."""
        for function in self.program.generated:
            for task in self._of(function):
                if only in (None, function.spec.name, task.name):
                    yield task
        problem = self.program.problem
        if problem is not None and only in (None, problem.spec.name):
            name, function = problem.spec.name, as_function(problem)
            measured, given = _constrained(problem), _bound(name)
            yield Task(name, function, measured, given, is_class=True)

    def _of(self, function: ElaboratedFunction) -> Iterator[Task]:
        name = function.spec.name
        for kind, order in requested(function):
            own = kind.public_name(name, order)
            remark = ""
            if len(order) > HIGHEST:
                remark = f"order {len(order)} is compared with itself alone"
            given, rows = _called(kind), (ROWS, LARGE_ROWS)
            measured, at_large = (_kind(kind, order, x) for x in rows)
            yield Task(own, function, measured, given, remark, at_large)
        if any(emit.kind is PROBLEM for emit in function.spec.emit):
            own = PROBLEM.public_name(name)
            yield Task(own, function, bound, _bound(own), is_class=True)

    def verify(self, subject: Subject, only: str | None = None) -> list[Finding]:
        """Return what is found of a module."""
        found, subject = [], of_one_sample(subject, self.program)
        for task in self.tasks(only):
            self._watch(f"verifying {task.name} of {subject.name}")
            found += self._verified(task, subject)
        for solver in solvers(self.program):
            if only in (None, solver.name):
                found += self._verified(_solving(solver), subject)
        return found

    def agreed(self, first: Subject, other: Subject, only: str | None) -> list[Finding]:
        """Return how far two modules differ in what they return."""
        found = []
        first, other = (of_one_sample(x, self.program) for x in (first, other))
        for task in self.tasks(only):
            log = Log(task.name, other)
            try:
                points = self.points(task.function)
            except Unfit:
                continue  # which has been told of each of them
            for point in points:
                self._together(task, first, other, point, log)
            found += log.findings("") if log.compared else []
        return found

    def _together(
        self, task: Task, first: Subject, other: Subject, point: Point, log: Log
    ) -> None:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                pairs = zip(
                    task.measured(point, first),
                    task.measured(point, other),
                    strict=False,
                )
                for (_, one), (given, two) in pairs:
                    if one.code == two.code:
                        wanted = Known(np.asarray(one.got))
                        size = max(one.scale, one.size)
                        same = replace(
                            two, against=first.name, wanted=wanted, scale=size
                        )
                        log.add(point.case, given, same)
            except Exception:  # told of each of them
                return
            finally:
                log.reached()

    def points(self, function: ElaboratedFunction) -> list[Point]:
        """Return the points of a function, once; raises `Unfit` without any."""
        name = function.spec.name
        if name not in self._points:
            try:
                self._points[name] = [*self._made(function)]
            except Unfit as error:
                self._points[name] = error
        found = self._points[name]
        if isinstance(found, Unfit):
            raise found
        return found

    def _made(self, function: ElaboratedFunction) -> Iterator[Point]:
        if self.data is not None:
            try:
                own = given_case(function.arguments, self.data)
            except ValueError as error:
                raise Unfit(str(error)) from error
            yield Point(function, self.program, own, most=True)
            return
        found, why = 0, Unfit("no small sizes fit")
        sizes = Sizes(function)
        for k, one in enumerate(islice(sizes.some(self.seed), 4 * self._count)):
            try:
                yield self.point(function, one, f"{self.seed}.{k}")
                found += 1
            except Unfit as error:
                why = error
                if isinstance(error, TooLarge) and not sizes.symbols:
                    break
            if found == self._count:
                return
        if not found:
            reason = f"no point was found at which it can be compared: {why}"
            raise type(why)(reason)

    def large(self, function: ElaboratedFunction) -> Large | None:
        """Return the larger point of a function, computed once, if there is one."""
        name = function.spec.name
        if name not in self._large:
            self._large[name] = None if self.data else self._larger(function)
        return self._large[name]

    def _larger(self, function: ElaboratedFunction) -> Large | None:
        sizes, seed = Sizes(function).large(self.seed), f"{self.seed}.l"
        if sizes is None or function.metrics:
            return None
        for attempt in range(ATTEMPTS // 4):
            # Small numbers first: sums of a hundred products saturate.
            own = case(self._inputs(function), sizes, seed, SMALLEST_ATTEMPT + attempt)
            try:
                return Large(function, self.program, own)
            except Unfit:
                continue
        return None

    def point(
        self, function: ElaboratedFunction, sizes: Mapping[str, int], seed: str
    ) -> Point:
        """Return a point of some sizes; raises `Unfit` where none is found."""
        why = Unfit("no numbers fit")
        start = random.Random(seed).randrange(2) * 2
        inputs = self._inputs(function)
        # Last, where parts of a result are not finite.
        for most in (False, True):
            for attempt in range(ATTEMPTS):
                own = case(inputs, sizes, seed, start + attempt)
                try:
                    return Point(function, self.program, own, most)
                except TooLarge:
                    raise
                except Unfit as error:
                    why = error
            parts = any(x.node.order for x in function.alone.values())
            if not isinstance(why, NotFinite) or not parts:
                break
        raise why

    def _inputs(self, function: ElaboratedFunction) -> list[Any]:
        return [x for x in function.arguments if not x.unknown]

    def _verified(self, task: Task, subject: Subject) -> list[Finding]:
        log = Log(task.name, subject)
        try:
            points = self.points(task.function)
        except Unfit as error:
            return [_none(task.name, subject, error)]
        for point in points:
            self._at(task, subject, point, log)
            if log.failed is not None:
                if not task.solves:
                    self._smaller(task, subject, point, log)
                break
        else:
            # What single precision cannot hold would not be compared there.
            held = [point for point in points if point.is_single]
            self._at(task.habits(), subject, [*points, *held][-1], log)
            large = task.at_large and self.large(task.function)
            if large is not None and task.at_large is not None:
                own = replace(task, measured=task.at_large)
                self._at(own, subject, large, log)
        return log.findings(task.remark)

    def _at(self, task: Task, subject: Subject, point: Point, log: Log) -> None:
        given: Arguments | None = None
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                for given, measure in task.measured(point, subject):
                    log.add(point.case, given, measure)
            except Unfit as error:
                log.opened(str(error), _verdict(error))
            except Exception as error:  # a module may raise anything
                if not _is_of(subject, error):
                    if log.failed is None:
                        raise
                    return
                log.raised(
                    point.case, given or arguments(task.function, point.case), error
                )
            log.reached()

    def _smaller(self, task: Task, subject: Subject, point: Point, log: Log) -> None:
        """Look for sizes below those of the first failure at which it fails as well."""
        if self.data is not None:
            return
        sizes, old = Sizes(task.function), point.case.sizes
        total = sum(old[x] for x in sizes.symbols)
        for most in range(1, 4):
            for own in _up_to(sizes, old, most):
                if sum(own.values()) >= total:
                    continue
                try:
                    found = self.point(task.function, own, f"{self.seed}.s{most}")
                except Unfit:
                    continue
                again = Log(task.name, subject)
                self._at(task, subject, found, again)
                if again.failed is not None and again.key == log.key:
                    log.failed = again.failed
                    return


def _solving(solver: Solver) -> Task:
    own = solver.measure, solver.measured, solver.given
    # To what it converges in single precision, its tolerance says.
    return Task(solver.name, *own, is_class=True, solves=True)


def _none(name: str, subject: Subject, error: Unfit) -> Finding:
    verdict, reason = _verdict(error), str(error)
    return Finding(name, subject.name, "all", verdict=verdict, reason=reason)


def _verdict(error: Unfit) -> str:
    return EMPTY if isinstance(error, NotFinite) else OPEN


def _is_of(subject: Subject, error: Exception) -> bool:
    """Whether a module is to blame: it, or how it is called, and not what looks on."""
    frames, trace = list[Any](), error.__traceback__
    while trace is not None:
        frames.append(trace.tb_frame)
        trace = trace.tb_next
    if isinstance(error, AttributeError):
        return True  # something is missing
    called = frames[-1].f_code is Arguments.call.__code__
    return called or any(x.f_globals is vars(subject.module) for x in frames)


def _kind(
    kind: Kind, order: tuple[str, ...], rows: Rows
) -> Callable[[Point, Subject], Compared]:
    return lambda point, subject: compared(point, kind, order, subject, rows)


def _called(kind: Kind) -> Callable[[Point, Subject], Arguments]:
    return lambda point, subject: called(point, kind)


def _bound(name: str) -> Callable[[Point, Subject], Arguments]:
    return lambda point, subject: data_of(point, subject, name)


def _constrained(problem: ElaboratedProblem) -> Callable[[Point, Subject], Compared]:
    return lambda point, subject: Constrained(problem, point, subject).measures()


def _up_to(sizes: Sizes, old: Mapping[str, int], most: int) -> Iterator[dict[str, int]]:
    """Yield sizes of at most so much each, and one by one as they were."""
    whole = {x: min(old[x], most) for x in sizes.symbols}
    for own in (whole, *({**whole, x: old[x]} for x in sizes.symbols)):
        if sizes.fit(own):
            yield own
