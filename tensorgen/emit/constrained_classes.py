"""Constrained problems: what solvers ask for, on one flat vector."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tensorgen.calculus.kinds import HESSIAN, JACOBIAN, VALUE
from tensorgen.emit.backends import Backend
from tensorgen.emit.bound_problems import (
    BoundFunction,
    ConstrainedProblem,
    Limited,
    Limits,
    Moved,
    Part,
)
from tensorgen.emit.data import Data, data_of, free_name
from tensorgen.emit.documentation import shape_phrase
from tensorgen.emit.function_preamble import plan
from tensorgen.emit.interface import Parameter, every, given, sizes_among
from tensorgen.emit.point_classes import (
    Method,
    Scope,
    annotation,
    keyed,
    members,
    split_rows,
)
from tensorgen.emit.problem_classes import solving
from tensorgen.emit.text import docstring, paragraph, quoted_names
from tensorgen.ir.dims import tuple_text


@dataclass(frozen=True, slots=True)
class Side:
    """A property that gives one side of the bounds, as its template sees it."""

    name: str
    docstring: str
    lines: list[str]


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """What says how an optimum moves, as its template sees it: all but `name` as code.

    The function that it calls is `given` data and variables, the `multipliers` and
    `directions`.
    """

    name: str
    docstring: str
    call: str
    given: str
    multipliers: str
    directions: str
    limits: str
    parameters: str


@dataclass(frozen=True, slots=True)
class Constrained:
    """A problem class as its template sees it: pieces of text, without indentation.

    `values` and `jacobians` are what its points call the constraints and their
    Jacobians, of which some are `constant`. `scipy` takes arrays of its library. With
    `has_places`, data say where entries are. A point finds what `solving` says, `warm`
    from the last one.
    """

    name: str
    point: str
    function: str
    docstring: str
    data: Data
    held: str
    wrt: tuple[str, ...]
    wrt_signature: str
    shapes: str
    constraint_shapes: str
    sides: list[Side]
    values: list[str]
    jacobians: list[str]
    constant: tuple[str, ...]
    hessian: str
    members: list[Method]
    given: str
    solving: list[str]
    warm: str
    scipy: bool
    has_places: bool
    sensitivity: Sensitivity | None = None
    widens: bool = False
    checks: tuple[str, ...] = ()


WORDS = {
    "lb": "The lower bounds of the variables, as one flat vector.",
    "ub": "The upper bounds of the variables, as one flat vector.",
    "cl": "The lower bounds of the constraints, as one flat vector.",
    "cu": "The upper bounds of the constraints, as one flat vector.",
}


def constrained(problem: ConstrainedProblem, backend: Backend) -> Constrained:
    """Describe the class of a constrained problem."""
    bound = problem.bound
    solved = [p for p in bound.inputs if p.solved]
    data = [p for p in bound.inputs if p.name not in bound.wrt and not p.solved]
    own = given(data)
    known, needed = plan(every(data)).sources, _needed(problem, own)
    data += [Parameter(s, (), role="size") for s in needed if s not in known]
    view = data_of(bound, data, [s for s in needed if s in known], backend, double=True)
    places = dict.fromkeys((*view.stated, *view.names, *bound.held), "self._data")
    floating = [p.name for p in own if p.index is None]
    scope = Scope(data, floating, bound.taken, places, backend)
    floats = [
        f"{p.name}={p.name}" + ".astype(float, copy=False)" * (p.index is None)
        for p in own
    ]
    hessian = next(part for part in bound.methods if part.kind.ways is HESSIAN.ways)
    warm = free_name("before", bound) if solved else ""
    return Constrained(
        name=problem.name,
        point=f"_{problem.name.removesuffix('Problem')}Point",
        function=problem.name,
        docstring=_docstring(problem, bool(data)),
        data=view,
        held=", ".join([*floats, *([keyed(view.held)] if view.held else [])]),
        wrt=bound.wrt,
        wrt_signature=", ".join(f"{name}: ArrayLike" for name in bound.wrt),
        shapes=_shapes(problem.variables),
        constraint_shapes=_shapes(problem.constraints),
        sides=[_side(limits, scope) for limits in problem.limits],
        values=[p.name for p in bound.methods[1:] if p.kind.ways is VALUE.ways],
        jacobians=[p.name for p in bound.methods if p.kind.ways is JACOBIAN.ways],
        constant=problem.constant,
        hessian=annotation(bound, hessian),
        members=members(_knowing(bound, data), backend),
        given=keyed([*bound.wrt, *(p.name for p in solved)]),
        solving=solving(bound, data, solved, warm),
        warm=warm,
        scipy=backend.name == "numpy",
        has_places=view.has_indices or any(p.sparse for p in own),
        sensitivity=_sensitivity(problem.name, problem.moved),
    )


def _sensitivity(problem: str, moved: Moved | None) -> Sensitivity | None:
    if moved is None:
        return None
    function = moved.function
    directions = [f"d{name}" for name in function.wrt]
    other = {*directions, *moved.multipliers}
    given = [p.name for p in function.arguments if p.name not in other]
    names = ", ".join(f"`{name}`" for name in moved.parameters)
    return Sensitivity(
        f"{problem.removesuffix('Problem')}Sensitivity",
        docstring([f"How an optimum of `{problem}` moves with {names}."], _MOVING),
        function.name,
        quoted_names(given),
        quoted_names(moved.multipliers),
        quoted_names(directions),
        ", ".join(f'("{side}", {k})' for side, k in moved.limits),
        quoted_names(moved.parameters),
    )


_MOVING = paragraph(
    "Constraints and bounds that hold with equality keep to it. One factorization of "
    "the KKT matrix serves all products with the derivative. `slope` is the largest "
    "of the Lagrangian that is left along variables within their bounds: 0 at optima."
)


def _needed(problem: ConstrainedProblem, data: Sequence[Parameter]) -> list[str]:
    """The sizes that a problem is made of, and others that only methods use."""
    bound = problem.bound
    known = plan(every(bound.inputs)).sources
    met = [*(x.dims for x in problem.variables), *(x.dims for x in problem.constraints)]
    symbols = [s for dims in met for d in dims for s in d.symbols]
    symbols += [s for p in data if p.index is not None for s in p.index.symbols]
    symbols += [s for check in bound.checks for s in check.symbols]
    bodies = [*bound.bodies, *(side.body for side in problem.limits)]
    symbols += [s for body in bodies for s in body.dims if s not in known]
    if problem.moved is not None:
        symbols += [p.name for p in sizes_among(problem.moved.function.parameters)]
    return list(dict.fromkeys(symbols))


def _knowing(bound: BoundFunction, data: Sequence[Parameter]) -> BoundFunction:
    """A problem whose points know what neither data nor variables give: sizes."""
    known = plan(every(bound.inputs)).sources
    more = [p for p in sizes_among(data) if p.name not in known]
    return replace(bound, inputs=(*bound.inputs, *more))


def _shapes(limited: tuple[Limited, ...]) -> str:
    return ", ".join(tuple_text(x.dims) for x in limited)


def _side(limits: Limits, scope: Scope) -> Side:
    part = Part(VALUE, limits.body, limits.reads)
    rows = [*scope.reading(part), *split_rows(limits.body.lines)]
    of = "_shapes" if limits.name in ("lb", "ub") else "_constraint_shapes"
    values = ", ".join(limits.values)
    rows.append(f"return _spread([{values}], self.{of})")
    return Side(limits.name, docstring([WORDS[limits.name]]), rows)


def _docstring(problem: ConstrainedProblem, has_data: bool) -> str:
    def rows(limited: tuple[Limited, ...]) -> list[str]:
        return [
            f"    {x.name} : {shape_phrase(x.dims)}" + (f", {x.text}" if x.text else "")
            for x in limited
        ]

    parts = [[f"{problem.sense} between bounds, in the form that solvers expect."]]
    if problem.doc:
        parts.append(paragraph(problem.doc))
    first = "The vector contains, raveled in C order and concatenated:"
    parts.append([first, "", *rows(problem.variables)])
    if problem.constraints:
        first = "The constraints and their multipliers likewise:"
        parts.append([first, "", *rows(problem.constraints)])
    kept = "What was computed at the last vector is cached until another one comes."
    once = "The data are converted once, to double precision. " * has_data
    more = "The methods are the callbacks of cyipopt. "
    parts.append(paragraph(more + once + kept))
    return docstring(*parts)
