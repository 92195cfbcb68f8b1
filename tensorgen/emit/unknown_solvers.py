"""The functions that find unknowns: `y_solve`, around those that say how good y is."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from tensorgen.calculus.kinds import VALUE
from tensorgen.emit import function_preamble
from tensorgen.emit.backends import Backend
from tensorgen.emit.documentation import shape_phrase
from tensorgen.emit.interface import OPTIONAL, Body, Function, Parameter, arranged
from tensorgen.emit.text import docstring, equation, filled, paragraph
from tensorgen.ir.dims import tuple_text

STEPS = {"equation": 50, "fixed_point": 200, "minimises": 100}
"""How many steps are taken by default."""

HELPERS = {"equation": "_newton", "fixed_point": "_iterated", "minimises": "_descended"}
"""The helper of each way to give an unknown."""

EACH = {**HELPERS, "equation": "_newton_each", "fixed_point": "_newton_each"}
"""The helper where each row is an unknown of its own."""


@dataclass(frozen=True, slots=True)
class Solver:
    """What finds an unknown: `measure` is the function that is made zero, or least.

    `unknown` is an argument of `measure`, the first. It `starts` at a function of its
    own, or at zeros. Of one for `each`, every row is a solution of its own.
    """

    way: str
    unknown: Parameter
    measure: Function
    equation: str
    doc: str | None
    starts: bool = False
    each: bool = False

    @property
    def helper(self) -> str:
        """The function that takes the steps."""
        return (EACH if self.each else HELPERS)[self.way]

    @property
    def name(self) -> str:
        """The name in Python."""
        return f"{self.unknown.name}_solve"

    @property
    def given(self) -> Function:
        """A function of the arguments that knows the sizes of the unknown."""
        sizes = dict.fromkeys(s for dim in self.unknown.dims for s in dim.symbols)
        others = tuple(p for p in self.measure.parameters if p != self.unknown)
        body = Body((), (), tuple(sizes), needs_dtype=True)
        return replace(self.measure, parameters=others, body=body, kind=VALUE)


@dataclass(frozen=True, slots=True)
class SolverView:
    """A solver as its template sees it: pieces of text."""

    name: str
    parameters: str
    docstring: str
    lines: list[str]
    unknown: str
    shape: str
    expected: str
    arguments: str
    measure: str
    helper: str
    way: str
    steps: int
    start: str


def view(solver: Solver, backend: Backend) -> SolverView:
    """Return what the template of a solver needs."""
    function = solver.given
    plain, keyword = arranged(function.parameters)
    parts = [*(p.declared for p in plain), "*", *(p.declared for p in keyword)]
    passed = [p.name for p in plain] + [f"{p.name}={p.name}" for p in keyword]
    shape = tuple_text(solver.unknown.dims)
    return SolverView(
        name=solver.name,
        parameters=", ".join(parts).replace(OPTIONAL, backend.optional),
        docstring=_docstring(solver, function),
        lines=function_preamble.lines(function, checks=False),
        unknown=solver.unknown.name,
        shape=shape,
        expected=", ".join(f"{d} = {{{d}}}" for d in function.body.dims),
        arguments=", ".join(passed),
        measure=solver.measure.function,
        helper=solver.helper,
        way=solver.way,
        steps=STEPS[solver.way],
        start=f"{solver.unknown.name}_start({', '.join(passed)})" * solver.starts,
    )


def _docstring(solver: Solver, function: Function) -> str:
    name = solver.unknown.name
    summary = {
        "equation": f"Solve for `{name}`, by Newton's method.",
        "fixed_point": f"Find the fixed point `{name}`, by iteration, then Newton's.",
        "minimises": f"Find the `{name}` that minimises, by shifted Newton's steps.",
    }[solver.way]
    if solver.each:
        summary = summary[:-1] + "; each row is one of its own."
    size = shape_phrase(solver.unknown.dims)
    default = f"{name}_start" if solver.starts else "zeros"
    names = [f"{p.name} {tuple_text(p.dims)}" for p in function.parameters]
    rows = [
        *filled("Arguments: ", names),
        f"    start : {size}, where to start; {default} by default",
        "    tol : bound on the last step, relative to the solution",
        "    max_steps : the maximum number of steps",
        f"Returns: {size}",
        "Raises: TypeError, ValueError; NotConverged: the iteration does not converge.",
    ]
    return docstring(
        [summary],
        paragraph(solver.doc) if solver.doc else [],
        equation(solver.equation),
        rows,
    )


def helpers(solvers: Iterable[Solver]) -> dict[str, bool]:
    """Say which of the helpers that find unknowns a module needs."""
    used = {solver.helper for solver in solvers}
    used |= {"_newton"} if "_iterated" in used else set()
    return {f"has{name}": name in used for name in (*HELPERS.values(), *EACH.values())}
