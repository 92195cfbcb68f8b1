"""A function of Python's that a spec was read from, compared with the spec."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from types import ModuleType

import numpy as np

from tensorgen.lang import ElaboratedFunction
from tensorgen.operators.references import Array
from tensorgen.verify.derivative_claims import VALUES, formula
from tensorgen.verify.emitted_calls import arguments
from tensorgen.verify.findings import Finding, Measure
from tensorgen.verify.log import Log
from tensorgen.verify.points import Point
from tensorgen.verify.reference import Unfit
from tensorgen.verify.verified_modules import Subject
from tensorgen.verify.verify import Verification


def compared(
    verification: Verification,
    function: ElaboratedFunction,
    where: str,
    call: Callable[[Mapping[str, Array], Mapping[str, int]], Array],
) -> list[Finding]:
    """Return how far the values of a function of Python's are from its spec's.

    `call` takes inputs by the names of the spec, and sizes; `where` says in which file
    the function is.
    """
    name = function.spec.name
    subject = Subject(where, ModuleType(name), "")
    log = Log(name, subject)
    try:
        points = verification.points(function)
    except Unfit as error:
        log.opened(str(error))
        return log.findings("")
    for point in points:
        given = arguments(function, point.case)
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                got = np.asarray(call(given.values, point.case.sizes), dtype=float)
            except Exception as error:  # a function may raise anything
                log.raised(point.case, given, error)
            else:
                log.add(point.case, given, _measure(point, got))
        log.reached()
    found = log.findings("")
    for row in found:
        row.reproduction = ""  # it imports a module, which this is not
    return found


def _measure(point: Point, got: Array) -> Measure:
    wanted = point.any.measured
    return Measure("value", formula(point.any), got, wanted, VALUES, "result")
