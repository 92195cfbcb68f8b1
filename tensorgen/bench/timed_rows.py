"""All that is known of each emitted function: its times, its cost, what JAX takes."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from tensorgen.arrays.cost_line import Amount
from tensorgen.bench.answers import Answer, Answers
from tensorgen.bench.clock import Times, peak, timed
from tensorgen.bench.timing_points import (
    ATTEMPTS,
    call_of,
    given_point,
    hinted,
    point,
    sizes_of,
)
from tensorgen.bench.twin import NoTwinError
from tensorgen.bench.twin_derivatives import Twins
from tensorgen.calculus.kinds import Kind
from tensorgen.explanation.subjects import Explained, Form, Subject
from tensorgen.lang import ElaboratedFunction, requested
from tensorgen.plans.batches import function_over
from tensorgen.verify.cases import Case
from tensorgen.verify.emitted_calls import Arguments
from tensorgen.verify.reference import Unfit
from tensorgen.verify.verified_modules import Subject as Module

MOST_BYTES = 4 << 30
"""The memory that a function may need, as far as it is known before."""


@dataclass
class Row:
    """One emitted function: seconds, flops and bytes, modelled and measured.

    `answer` says what its result was compared with; what has a `reason` was not timed.
    JAX `differs` by more than rounding where the formula says that it need not.
    """

    function: str
    sizes: dict[str, int]
    flops: int = 0
    modelled: int = 0
    measured: int = 0
    times: Times | None = None
    jax: Times | None = None
    answer: Answer = field(default_factory=Answer)
    reason: str = ""
    no_jax: str = ""
    differs: float = 0.0


class Bench:
    """Times the functions of a module at some sizes, with seeded arguments."""

    def __init__(
        self,
        told: Explained,
        module: Module,
        dims: Mapping[str, int],
        seed: int = 0,
        seconds: float = 0.5,
        no_jax: str = "",
        data: Mapping[str, Any] | None = None,
        watch: Callable[[str], None] = lambda doing: None,
    ) -> None:
        """Know what is timed; raises `WrongSizesError` for names that are no dims.

        `no_jax` says why JAX is left out, if it is.
        """
        self._told, self._program, self._module = told, told.program, module
        self._sizes = hinted(told.spec, dims)
        self._seed, self._seconds, self._no_jax = seed, seconds, no_jax
        self._watch, self._data = watch, data

    def rows(self) -> list[Row]:
        """Return a row for each function, also for what cannot be run.

        Raises `WrongSizesError` where sizes do not fit.
        """
        wanted = {subject.name: subject for subject in self._told.subjects}
        found: list[Row] = []
        for function in self._program.generated:
            name = function.spec.name
            own = [
                (kind, order, wanted[kind.public_name(name, order)])
                for kind, order in requested(function)
                if kind.public_name(name, order) in wanted
            ]
            if own:
                with np.errstate(all="ignore"), warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    found += self._of(function, own)
        return found

    def _of(
        self,
        function: ElaboratedFunction,
        asked: Sequence[tuple[Kind, tuple[str, ...], Subject]],
    ) -> list[Row]:
        program, chosen = self._program, None
        called = function_over(program.graph, function, program.inputs)
        if self._data is not None:
            chosen = given_point(called, program, self._data)
        sizes = chosen.sizes if chosen else sizes_of(called, self._sizes)
        rows = [self._row(subject, sizes) for _, _, subject in asked]
        fitting = [k for k, row in enumerate(rows) if not row.reason]
        if not fitting:
            return rows
        try:
            case = chosen or self._point(called, sizes)
        except (Unfit, ValueError) as error:
            for k in fitting:
                rows[k].reason = str(error)
            return rows
        answers = Answers(function, self._program, case, self._module)
        twins: Twins | str = self._no_jax
        if not self._no_jax:
            try:
                twins = Twins(function, case)
            except NoTwinError as error:
                twins = str(error)
        for k in fitting:
            kind, order, _ = asked[k]
            self._watch(f"timing {rows[k].function}")
            given, more = call_of(called, kind, case)
            self._time(rows[k], kind, order, given, more, answers, twins)
        return rows

    def _row(self, subject: Subject, sizes: Mapping[str, int]) -> Row:
        """What the model says of a function, in the form that is taken."""
        known = {**self._sizes, **sizes}
        form = _taken(subject.forms, known)
        flops, numbers = (int(Amount.of(x, known)) for x in subject.costs(form))
        row = Row(subject.name, dict(sizes), flops, 8 * numbers)
        if row.modelled > MOST_BYTES:
            row.reason = f"it would need {row.modelled / 1e9:.3g} GB: choose --dims"
        return row

    def _point(self, function: ElaboratedFunction, sizes: Mapping[str, int]) -> Case:
        """Arguments at which all values are finite."""
        reason = "no arguments were found at which it is finite: give some by --data"
        for attempt in range(ATTEMPTS):
            try:
                case = point(function, self._program, sizes, self._seed, attempt)
            except Unfit as error:
                reason = str(error)
                continue
            if self._is_finite(function, case):
                return case
        raise Unfit(reason)

    def _is_finite(self, function: ElaboratedFunction, case: Case) -> bool:
        """Whether values are numbers, of functions that have one of their own."""
        name = function.spec.name
        if not hasattr(self._module.module, name):
            return True
        kinds = [kind for kind, _ in requested(function) if kind.name == "value"]
        given, _ = call_of(function, kinds[0], case)
        try:
            found = given.call(self._module, name)
        except Exception:  # a matrix that is not as promised, say
            return False
        parts = found if function.results else [found]
        return all(np.all(np.isfinite(self._module.numbers(x))) for x in parts)

    def _time(
        self,
        row: Row,
        kind: Kind,
        order: tuple[str, ...],
        given: Arguments,
        more: Mapping[str, Any],
        answers: Answers,
        twins: Twins | str,
    ) -> None:
        """Compare, weigh and time one function."""
        task = partial(self._called, given, row.function)
        try:
            result = task()
            other = self._twin(row, kind, more, twins)
            if other is not None and isinstance(twins, Twins):
                numbers = twins.numbers(kind, other())
                row.answer = answers.against_jax(kind, result, numbers)
            if other is None or row.answer.is_wrong:
                # JAX loses digits of its own: then it is the formula that decides.
                own = answers.against_formula(kind, order, result)
                if other is None or own.against:
                    row.differs = row.answer.error
                    row.answer = own
            del result
            if row.answer.is_wrong:
                row.reason = f"it differs from {row.answer.against}"
                return
            row.measured = peak(task)
            tasks = {"tensorgen": task} | ({"jax": other} if other else {})
            found = timed(tasks, self._seconds)
        except MemoryError:
            row.reason = "memory does not suffice: choose --dims"
        except Exception as error:  # a module may raise anything
            row.reason = f"it raises {type(error).__name__}: {error}"
        else:
            row.times, row.jax = found["tensorgen"], found.get("jax")

    def _twin(
        self, row: Row, kind: Kind, more: Mapping[str, Any], twins: Twins | str
    ) -> Callable[[], Any] | None:
        """What computes the same in JAX, compiled; nothing where that fails."""
        try:
            if isinstance(twins, str):
                raise NoTwinError(twins)
            self._watch(f"compiling {row.function} for JAX")
            task = twins.task(kind, more)
            task()
        except NoTwinError as error:
            row.no_jax = str(error)
        except Exception as error:  # of JAX, which may lack memory or a rule
            said = str(error).strip().partition("\n")[0]
            row.no_jax = f"JAX raises {type(error).__name__}: {said[:200]}"
        else:
            return task
        return None

    def _called(self, given: Arguments, name: str) -> Any:
        found = given.call(self._module, name)
        self._module.wait()
        return found


def _taken(forms: Sequence[Form], sizes: Mapping[str, int]) -> Form:
    """The form of a function that it takes at some sizes: the first that may be."""
    for form in forms[1:]:
        # What the module itself would evaluate: sizes, compared.
        if eval(form.condition, {"__builtins__": {}, "min": min}, dict(sizes)):
            return form
    return forms[0]
