"""What says how a constrained optimum moves: its Lagrangian, by parameters too.

At an optimum the gradient of the Lagrangian by variables and multipliers is zero, but
for constraints that are not active. So are the mixed derivatives by these and by
parameters all that the implicit function theorem takes beside the KKT matrix (Fiacco
1983). One function has them: the second derivative of the Lagrangian along a direction,
of parameters alone for how the optimum moves with them, of variables and multipliers
alone for the transpose. A bound that follows from parameters is a part of the
constraint then, with a multiplier of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tensorgen.calculus.kinds import HVP
from tensorgen.errors import Text
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Node, inputs_of
from tensorgen.lang.elaborated import ElaboratedFunction
from tensorgen.lang.elaborated_problem import (
    Between,
    ElaboratedProblem,
    Limit,
    MovedOptimum,
)
from tensorgen.lang.scope import Record
from tensorgen.lang.sizes import open_sizes
from tensorgen.operators.conditions.guards import guard
from tensorgen.spec.model import Emit, FunctionSpec, InputSpec, Wrt
from tensorgen.spec.names import unused

SIDES = ("lb", "ub", "cl", "cu")


def weighted(graph: Graph, pairs: Iterable[tuple[InputSpec, Node]]) -> list[Node]:
    """Return the products of nodes with multipliers of their own.

    One of no axis is the same for all entries of its multiplier.
    """
    terms = []
    for given, node in pairs:
        axes = range(len(given.shape))
        weight = graph.input(given.name, given.shape)
        own = axes if node.order else ()
        terms.append(graph.product((), [(weight, axes), (node, own)]))
    return terms


def moved_optimum(
    graph: Graph,
    problem: ElaboratedProblem,
    given: Sequence[InputSpec],
    record: Record,
    taken: Iterable[str],
) -> MovedOptimum:
    """Return the Lagrangian of a problem whose spec names parameters.

    `given` are the inputs of the file that the problem mentions, `taken` what no
    multiplier may be called.
    """
    names, inputs = {*taken}, {x.name: x for x in given}
    parameters = tuple(inputs[text.value] for text in problem.spec.parameters)
    multipliers = [
        _multiplier(f"lagrange_{c.spec.name}", c, names) for c in problem.constraints
    ]
    moving, limits = {x.name for x in parameters}, list[Limit]()
    for side, number, own, node in _sides(problem):
        if moving & {x.name for x in inputs_of([node])}:
            multiplier = _multiplier(f"{side}_{own.spec.name}", own, names)
            limits.append(Limit(side, number, multiplier, node))
    held = (c.node for c in problem.constraints)
    bounds = weighted(graph, ((x.multiplier, x.node) for x in limits))
    node = graph.add(
        problem.objective,
        *weighted(graph, zip(multipliers, held, strict=True)),
        *(graph.scale(bound, -1) for bound in bounds),
    )
    more = (*multipliers, *(x.multiplier for x in limits))
    by: list[Node] = [graph.input(x.name, x.shape) for x in (*more, *parameters)]
    by = [*(x.node for x in problem.variables), *by]
    node = guard(graph, node, by).get(node, node)
    arguments = (*problem.arguments, *more)
    plain = [x for x in (*given, *arguments) if not x.unknown]
    sizes = open_sizes([node], record, plain)
    function = _function(problem, multipliers, limits, parameters)
    rest = (), problem.checks, frozenset(record.names), sizes
    made = ElaboratedFunction(function, node, arguments, *rest)
    return MovedOptimum(made, more, tuple(limits), parameters)


def _multiplier(name: str, of: Between, taken: set[str]) -> InputSpec:
    """A multiplier, of a name that neither it nor its direction shares."""
    found = unused(name, taken | {x[1:] for x in taken if x.startswith("d")})
    taken.update((found, f"d{found}"))
    return InputSpec(found, of.spec.name_text, of.node.dims)


def _function(
    problem: ElaboratedProblem,
    multipliers: Sequence[InputSpec],
    limits: Sequence[Limit],
    parameters: Sequence[InputSpec],
) -> FunctionSpec:
    """The Lagrangian as a file would have it, by all that moves."""
    spec, place = problem.spec, problem.spec.name_text
    by = [x.spec.name for x in problem.variables]
    by += [x.name for x in (*multipliers, *(x.multiplier for x in limits), *parameters)]
    return FunctionSpec(
        spec.lagrangian,
        place,
        None,
        f"The Lagrangian of `{spec.name}`, by all that its optimum moves with.",
        (),
        Text.plain(_told(problem, multipliers, limits)),
        tuple(Wrt(name, "", place) for name in by),
        (Emit(HVP, (), place),),
    )


def _sides(problem: ElaboratedProblem) -> Iterable[tuple[str, int, Between, Node]]:
    """All bounds: the side, what they are of, and its number; equal ones are lower."""
    for first, every in ((0, problem.variables), (2, problem.constraints)):
        lower, upper = SIDES[first : first + 2]
        for number, own in enumerate(every):
            if own.lower is not None:
                yield lower, number, own, own.lower
            if own.upper is not None and own.upper is not own.lower:
                yield upper, number, own, own.upper


def _told(
    problem: ElaboratedProblem,
    multipliers: Sequence[InputSpec],
    limits: Sequence[Limit],
) -> str:
    """The Lagrangian as a text."""
    spec = problem.spec
    parts = [f"-{spec.objective}" if spec.maximize else f"{spec.objective}"]
    for own, c in zip(multipliers, problem.constraints, strict=True):
        parts.append(f" + sum({own.name} * {c.spec.name})")
    for side, number, of, _ in _sides(problem):
        text = of.spec.lower if side in ("lb", "cl") else of.spec.upper
        for limit in limits:
            if (limit.side, limit.number) == (side, number):
                parts.append(f" - sum({limit.multiplier.name} * ({text}))")
    return "".join(parts)
