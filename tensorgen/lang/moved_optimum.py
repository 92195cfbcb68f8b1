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
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tensorgen.calculus.kinds import HVP
from tensorgen.errors import Text
from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Node, inputs_of
from tensorgen.lang.elaborated import ElaboratedFunction
from tensorgen.lang.scope import Record
from tensorgen.lang.sizes import open_sizes
from tensorgen.operators.conditions.guards import guard
from tensorgen.spec.model import Emit, FunctionSpec, InputSpec, Wrt
from tensorgen.spec.names import unused

if TYPE_CHECKING:
    from tensorgen.lang.elaborate_problem import Between, ElaboratedProblem

SIDES = ("lb", "ub", "cl", "cu")


@dataclass(frozen=True, slots=True)
class Limit:
    """A bound that follows from parameters: on which side, and of which variable or
    constraint, by its number; it has a multiplier of its own."""

    side: str
    number: int
    multiplier: InputSpec
    node: Node


@dataclass(frozen=True, slots=True)
class MovedOptimum:
    """The Lagrangian, as a function whose second derivative is emitted.

    It is by the variables, the `multipliers` of constraints and of the `limits`, and the
    `parameters`, in this order.
    """

    function: ElaboratedFunction
    multipliers: tuple[InputSpec, ...]
    limits: tuple[Limit, ...]
    parameters: tuple[InputSpec, ...]


def weighted(graph: Graph, pairs: Iterable[tuple[InputSpec, Node]]) -> Node:
    """Return the sum of products of nodes with multipliers of their own.

    One of no axis is the same for all entries of its multiplier.
    """
    terms = []
    for given, node in pairs:
        axes = range(len(given.shape))
        weight = graph.input(given.name, given.shape)
        own = axes if node.order else ()
        terms.append(graph.product((), [(weight, axes), (node, own)]))
    return graph.add(*terms)


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
    spec, names = problem.spec, {*taken}
    inputs = {x.name: x for x in given}
    parameters = tuple(inputs[text.value] for text in spec.parameters)

    def multiplier(name: str, text: Text, shape: tuple[Dim, ...]) -> InputSpec:
        found = unused(name, names)
        names.update((found, f"d{found}"))
        return InputSpec(found, text, shape)

    multipliers = [
        multiplier(f"lagrange_{c.spec.name}", c.spec.name_text, c.node.dims)
        for c in problem.constraints
    ]
    moving = {x.name for x in parameters}
    limits = []
    for side, number, own, node in _sides(problem):
        if moving & {x.name for x in inputs_of([node])}:
            name = f"{side}_{own.spec.name}"
            weight = multiplier(name, own.spec.name_text, own.node.dims)
            limits.append(Limit(side, number, weight, node))
    constrained = [
        (m, c.node) for m, c in zip(multipliers, problem.constraints, strict=True)
    ]
    bounds = weighted(graph, ((x.multiplier, x.node) for x in limits))
    node = graph.add(
        problem.objective, weighted(graph, constrained), graph.scale(bounds, -1)
    )
    variables = [x.spec.name_text for x in problem.variables]
    more = (*multipliers, *(x.multiplier for x in limits))
    by = [*map(str, variables), *(x.name for x in more), *(x.name for x in parameters)]
    wrt = tuple(Wrt(name, "", spec.name_text) for name in by)
    moving_nodes = [graph.input(x.name, x.shape) for x in (*more, *parameters)]
    at = [*(x.node for x in problem.variables), *moving_nodes]
    node = guard(graph, node, at).get(node, node)
    arguments = (*problem.arguments, *more)
    plain = [y for x in arguments if not x.unknown for y in (x, *([x.of] * bool(x.of)))]
    function = FunctionSpec(
        spec.lagrangian,
        spec.name_text,
        None,
        f"The Lagrangian of `{spec.name}`, by all that its optimum moves with.",
        (),
        Text.plain(_told(problem, multipliers, limits)),
        wrt,
        (Emit(HVP, (), spec.name_text),),
    )
    sizes = open_sizes([node], record, [x for x in plain if x is not None])
    checks, mentions = problem.checks, frozenset(record.names)
    made = ElaboratedFunction(function, node, arguments, (), checks, mentions, sizes)
    return MovedOptimum(made, more, tuple(limits), parameters)


def _sides(
    problem: ElaboratedProblem,
) -> Iterable[tuple[str, int, Between, Node]]:
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
    parts = [f"-{problem.spec.objective}" if problem.spec.maximize else ""]
    parts[0] = parts[0] or str(problem.spec.objective)
    for own, c in zip(multipliers, problem.constraints, strict=True):
        parts.append(f" + sum({own.name} * {c.spec.name})")
    for limit in limits:
        every = problem.variables if limit.side in SIDES[:2] else problem.constraints
        own_spec = every[limit.number].spec
        text = own_spec.lower if limit.side in ("lb", "cl") else own_spec.upper
        parts.append(f" - sum({limit.multiplier.name} * ({text}))")
    return "".join(parts)
