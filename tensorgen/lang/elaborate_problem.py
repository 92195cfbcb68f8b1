"""The problem of a file as nodes: objective, constraints, and the bounds of all."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from tensorgen.errors import Faults, Text
from tensorgen.ir.dims import Dim, tuple_text
from tensorgen.ir.nodes import Node
from tensorgen.lang.batches import A_PROBLEM, check_one_sample
from tensorgen.lang.elaborated_problem import Between, ElaboratedProblem
from tensorgen.lang.index_forms import Index
from tensorgen.lang.moved_optimum import moved_optimum
from tensorgen.lang.scope import Names, Record, Thing
from tensorgen.lang.sizes import check_filled
from tensorgen.lang.statement import Session, Statement
from tensorgen.lang.syntax import parse
from tensorgen.operators.conditions.guards import guard
from tensorgen.operators.functions.array import Array
from tensorgen.spec.model import InputSpec, Limited, ProblemSpec, Spec


def elaborate_problem(
    session: Session,
    spec: Spec,
    things: Mapping[str, Thing],
    inputs: dict[str, Node],
    solved: Sequence[InputSpec],
) -> ElaboratedProblem | None:
    """Return the problem of a spec, if there is one; notes faults."""
    problem = spec.problem
    if problem is None:
        return None
    record = Record(inputs={x.name: None for x in problem.variables})
    named = (problem.objective.value, *(c.name for c in problem.constraints))
    used = [things[name] for name in named]
    texts = (problem.objective, *(c.name_text for c in problem.constraints))
    for thing, text in zip(used, texts, strict=True):
        record.merge(thing.record)
        if thing.results:
            first = next(iter(thing.results))
            message = f"'{text}' has several results, and a problem takes one"
            hint = f"write a function of its own, whose 'expr' is {text}.{first}"
            session.faults.add(message, text.span(), hint=hint)
    objective, *values = [thing.value for thing in used]
    _check_goal(session, problem, objective)
    bounded = _Bounded(session, problem, spec.inputs, things, record)
    variables = [bounded.between(x, inputs[x.name]) for x in problem.variables]
    constraints = [
        bounded.between(c, value.node)
        for c, value in zip(problem.constraints, values, strict=True)
        if value is not None
    ]
    _check_parameters(session.faults, problem, record)
    read = [x for x in spec.inputs if x.name in record.inputs]
    check_one_sample(session.faults, A_PROBLEM, problem.objective, read)
    if session.faults or objective is None:
        return None
    graph, unknowns = session.graph, [x.node for x in variables]

    def guarded(node: Node) -> Node:
        return guard(graph, node, unknowns).get(node, node)

    goal = guarded(objective.node)
    found = ElaboratedProblem(
        problem,
        graph.scale(goal, -1) if problem.maximize else goal,
        tuple(variables),
        tuple(replace(c, node=guarded(c.node)) for c in constraints),
        (
            *(x for i in read for x in i.parts),
            *(x for x in solved if x.name in record.unknowns),
        ),
        {f.name: f for f in spec.functions},
        tuple(record.checks),
    )
    if not problem.parameters:
        return found
    given = [x for x in spec.inputs if x.name in record.inputs]
    taken = {*things, *inputs, *(s for s, _ in spec.hints)}
    return replace(found, moved=moved_optimum(graph, found, given, record, taken))


def _check_parameters(faults: Faults, problem: ProblemSpec, record: Record) -> None:
    """Report what the optimum cannot move with."""
    for text in problem.parameters:
        if text.value not in record.inputs:
            message = f"the problem does not depend on '{text}'"
            hint = "name inputs of the objective, of constraints or of bounds"
            faults.add(message, text.span(), hint=hint)


def _check_goal(session: Session, problem: ProblemSpec, goal: Array | None) -> None:
    """Report an objective that is no scalar."""
    if goal is not None and goal.order:
        shape = tuple_text(goal.shape)
        message = f"'{problem.objective}' is no scalar: its shape is {shape}"
        hint = "reduce it, as by 'sum', or make it a constraint"
        session.faults.add(message, problem.objective.span(), hint=hint)


class _Bounded:
    """Reads the bounds of one problem, which follow from its data alone."""

    def __init__(
        self,
        session: Session,
        problem: ProblemSpec,
        inputs: Iterable[InputSpec],
        things: Mapping[str, Thing],
        record: Record,
    ) -> None:
        self.session = session
        self.parts = [part for given in inputs for part in given.parts]
        self.names = Names(things)
        self.variables = {x.name for x in problem.variables}
        self.record = record

    def between(self, limited: Limited, node: Node) -> Between:
        """Return a variable or constraint with its bounds as nodes."""
        lower = self._bound(limited, limited.lower, node.dims)
        upper = lower
        if limited.upper is not limited.lower:
            upper = self._bound(limited, limited.upper, node.dims)
        return Between(limited, node, lower, upper)

    def _bound(
        self, limited: Limited, text: Text | None, dims: tuple[Dim, ...]
    ) -> Node | None:
        faults = self.session.faults
        expression = None if text is None else parse(text, faults)
        if text is None or expression is None:
            return None
        statement = Statement(self.session, expression, self.names)
        no_indices: list[Index] = []
        value: Array | None = statement.elaborate(no_indices)
        if value is None:
            return None
        self.record.merge(statement.record)
        names = [x for x in statement.record.inputs if x in self.variables]
        if names:
            message = (
                f"a bound of '{limited.name}' depends on the variable '{names[0]}'"
            )
            hint = "bounds follow from data; what varies belongs into a constraint"
            faults.add(message, text.span(), hint=hint)
        for name in statement.record.unknowns:
            message = f"a bound of '{limited.name}' depends on the unknown '{name}'"
            hint = "bounds follow from data; what is solved for belongs into a "
            faults.add(message, text.span(), hint=f"{hint}constraint")
        if value.order and value.node.dims != dims:
            shape, own = tuple_text(value.shape), tuple_text(dims)
            message = f"a bound of '{limited.name}' has shape {shape}"
            hint = f"'{limited.name}' has shape {own}; a bound has that, or is a scalar"
            faults.add(message, text.span(), hint=hint)
        name = f"a bound of '{limited.name}'"
        check_filled(faults, name, text, value.node, self.parts)
        return value.node
