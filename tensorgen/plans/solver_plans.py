"""What finds unknowns, from what a spec says of them."""

from __future__ import annotations

from collections.abc import Sequence

from tensorgen.emit.interface import Function
from tensorgen.emit.unknown_solvers import Solver
from tensorgen.lang import ElaboratedUnknown
from tensorgen.spec.names import on_one_line


def solver_of(unknown: ElaboratedUnknown, functions: Sequence[Function]) -> Solver:
    """What finds an unknown by functions of the module."""
    measure = unknown.measure.spec.name
    found = next(f for f in functions if f.name == measure)
    spec, text = unknown.spec, on_one_line(unknown.spec.body)
    told = {
        "equation": f"0 = {text}",
        "fixed_point": f"{spec.name} = {text}",
        "minimises": f"{spec.name} = argmin {text}",
    }
    own = found.parameter(spec.name)
    starts = unknown.start is not None
    doc, each = spec.given.doc, unknown.each
    return Solver(spec.way, own, found, told[spec.way], doc, starts, each)
