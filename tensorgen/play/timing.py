"""How long emitted functions take: small calls, at sizes near those of the spec."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import islice
from statistics import median

import numpy as np

from tensorgen.calculus.kinds import Kind
from tensorgen.lang import ElaboratedFunction, requested
from tensorgen.plans.batches import function_over
from tensorgen.verify import Subject, Verification
from tensorgen.verify.cases import Sizes, case
from tensorgen.verify.emitted_calls import arguments
from tensorgen.verify.points import looks

TIMED_SIZE, LONGEST = 100, 1000
"""A dim of which the spec hints at no size, and the longest one that is taken."""
ENTRIES, WIDEST = 200_000, 1000
"""The most entries of an argument, and of all that is differentiated by."""
SECONDS, GROUPS = 0.2, 50
"""A function is called until so long has been measured, or so many groups of calls."""
SHORTEST = 2e-3
"""The least seconds of a group: in browsers clocks go by tenths of milliseconds."""
ATTEMPTS = 6
"""How often other numbers are tried where a function raises something."""


@dataclass(frozen=True)
class Timed:
    """A function, the sizes it was called at, and its time, or why there is none."""

    function: str
    sizes: str
    milliseconds: float | None
    reason: str = ""


def timed(known: Verification, subject: Subject) -> Iterator[Timed]:
    """Call all that a module emits, and yield how long each takes."""
    hints = {name: size for name, size in known.spec.hints if size is not None}
    program = known.program
    for own in program.generated:
        function = function_over(program.graph, own, program.inputs)
        sizes = _sizes(function, hints)
        told = ", ".join(f"{name} = {size:,}" for name, size in sizes.items())
        for kind, order in requested(function):
            name = kind.public_name(function.spec.name, order)
            try:
                taken = _of(function, kind, name, sizes, subject)
            except Exception as error:  # a module may raise anything
                reason = f"it raises {type(error).__name__}: {error}"
                yield Timed(name, told, None, reason)
            else:
                yield Timed(name, told, taken * 1e3)


def _sizes(function: ElaboratedFunction, hints: Mapping[str, int]) -> dict[str, int]:
    """Sizes that fit, the hinted ones as far as they are not too large."""
    every = Sizes(function)
    found = {x: min(hints.get(x, TIMED_SIZE), LONGEST) for x in every.symbols}
    while max(found.values(), default=1) > 1:
        largest, wide = every.weight(found)
        if every.fit(found) and largest <= ENTRIES and wide <= WIDEST:
            return found
        found = {x: (size + 1) // 2 for x, size in found.items()}
    return next(islice(every.some(0), 3, None), found)


def _of(
    function: ElaboratedFunction,
    kind: Kind,
    name: str,
    sizes: Mapping[str, int],
    subject: Subject,
) -> float:
    """The seconds of one call; raises what the function raises at all points."""
    given = [x for x in function.arguments if not x.unknown]
    found = [x.name for x in function.arguments if x.unknown]
    for attempt in range(ATTEMPTS):
        own = case(given, sizes, "0", attempt)
        call = arguments(function, own, looks(function, kind, own), tuple(found))
        try:
            return _seconds(partial(call.call, subject, name))
        except (ArithmeticError, ValueError):  # outside of what it is defined for
            if attempt == ATTEMPTS - 1:
                raise
    raise AssertionError


def _seconds(call: Callable[[], object]) -> float:
    """The median time of a call, the first of which is not counted."""
    taken: list[float] = []
    several = 1
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        call()
        end = time.perf_counter() + SECONDS
        while len(taken) < GROUPS and (not taken or time.perf_counter() < end):
            start = time.perf_counter()
            for _ in range(several):
                call()
            spent = time.perf_counter() - start
            if spent < SHORTEST:
                several *= 2
            else:
                taken.append(spent / several)
    return median(taken)
