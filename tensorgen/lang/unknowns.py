"""Unknowns as nodes: what solves an equation, and the functions that find it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tensorgen.calculus.kinds import GRADIENT, HESSIAN, VALUE
from tensorgen.errors import Text
from tensorgen.ir.dims import tuple_text
from tensorgen.ir.nodes import Input, Node
from tensorgen.lang.functions import ElaboratedFunction
from tensorgen.lang.names import Names, Record, Thing
from tensorgen.lang.sizes import Known, check_filled, open_sizes
from tensorgen.lang.statement import Session, Statement
from tensorgen.lang.syntax import Expression
from tensorgen.operators.functions.array import Array
from tensorgen.operators.unknowns import unknown
from tensorgen.spec.model import Emit, FunctionSpec, InputSpec, Spec, UnknownSpec, Wrt
from tensorgen.spec.names import in_spec


@dataclass(frozen=True, slots=True)
class ElaboratedUnknown:
    """An unknown, and functions of it and of what its equation reads.

    `step` is Newton's; `measure` is what is made zero, or the least.
    """

    spec: UnknownSpec
    step: ElaboratedFunction
    measure: ElaboratedFunction

    @property
    def functions(self) -> tuple[ElaboratedFunction, ...]:
        """Those that are emitted beside the one that solves."""
        return (self.measure, self.step)


def elaborate_unknown(
    session: Session,
    own: UnknownSpec,
    body: Expression | None,
    things: Mapping[str, Thing],
    spec: Spec,
    inputs: dict[str, Node],
    solved: list[InputSpec],
) -> tuple[Thing, ElaboratedUnknown | None]:
    """Elaborate one unknown, those that it needs being known and `solved`."""
    failed = Thing("an unknown", None)
    name = inputs[own.name]
    assert isinstance(name, Input)
    if body is None:
        return failed, None
    known = {**things, own.name: Thing("an unknown", Array(name))}
    statement = Statement(session, body, Names(known))
    value = statement.elaborate([])
    record = statement.record
    if value is None or not _fits(session, own, value, name):
        return failed, None
    graph, residual = session.graph, value.node
    if own.way == "fixed_point":
        residual = graph.add(residual, graph.scale(name, -1))
    elif own.way == "minimises":
        residual = session.differentiate.gradient(value.node, name)
    call = unknown(graph, name, residual, own.way == "minimises")
    given = _arguments(spec, record, solved)
    if call is None or not _follows(session, own, residual, record, given):
        if call is None:
            message = f"the equation of '{own.name}' depends on no input"
            hint = "an unknown is a function of inputs; else it is a number to be given"
            session.faults.add(message, own.body.span(), hint=hint)
        return failed, None
    check_filled(session.faults, f"'{own.name}'", own.body, residual, given)
    graph.name(call, own.name)
    step = session.differentiate.newton_step(call)
    found = _functions(session, own, value.node, residual, step, record, given)
    used = replace(record, unknowns={**record.unknowns, own.name: None})
    return Thing("an unknown", Array(call), used), found


def _fits(session: Session, own: UnknownSpec, value: Array, name: Input) -> bool:
    """Whether an equation has the shape of its unknown; what is minimised, none."""
    wanted = () if own.way == "minimises" else name.dims
    if value.shape == wanted:
        return True
    shape = tuple_text(value.shape)
    message = f"the equation of '{own.name}' has shape {shape}"
    hint = f"as many equations as unknowns: '{own.name}' has shape {tuple_text(wanted)}"
    if own.way == "minimises":
        message = f"'{own.name}' minimises what has shape {shape}"
        hint = "only a scalar can be the least"
    session.faults.add(message, own.body.span(), hint=hint)
    return False


def _arguments(
    spec: Spec, record: Record, solved: list[InputSpec]
) -> tuple[InputSpec, ...]:
    own = (i for i in spec.inputs if i.name in record.inputs)
    others = (x for x in solved if x.name in record.unknowns)
    return (*(part for i in own for part in i.parts), *others)


def _follows(
    session: Session,
    own: UnknownSpec,
    residual: Node,
    record: Record,
    given: tuple[InputSpec, ...],
) -> bool:
    """Whether all sizes follow from what the equation of an unknown reads."""
    known = Known(dim for x in given for dim in x.shape)
    missing = [s for dim in own.given.shape for s in known.missing(dim)]
    missing += open_sizes(residual, record, (own.given, *given))
    for symbol in dict.fromkeys(missing):
        message = f"the dim '{in_spec(symbol)}' follows from no input of the equation"
        hint = f"an input of shape [{in_spec(symbol)}] in it says how large it is"
        session.faults.add(message, own.given.name_text.span(), hint=hint)
    return not missing


def _functions(
    session: Session,
    own: UnknownSpec,
    value: Node,
    residual: Node,
    step: Node,
    record: Record,
    given: tuple[InputSpec, ...],
) -> ElaboratedUnknown:
    """The functions that are emitted beside the one that solves."""
    arguments = (replace(own.given, unknown=False), *given)
    checks, mentions = tuple(record.checks), frozenset(record.names)
    name, minimises = own.name, own.way == "minimises"
    text = own.body.value
    if own.way == "fixed_point":
        text = f"{text} - {name}"
    measure = f"{name}_{'objective' if minimises else 'residual'}"
    doc = {
        "equation": f"It is zero where `{name}` is the solution.",
        "fixed_point": f"It is zero where `{name}` is the fixed point.",
        "minimises": f"It is the least where `{name}` is the solution.",
    }[own.way]
    first = _emitting(measure, own.given, text, doc, by=[name] * minimises)
    slope = f"hess({measure}, {name})" if minimises else f"jac({measure}, {name})"
    right = f"grad({measure}, {name})" if minimises else measure
    doc = f"Newton's step from `{name}` towards the solution."
    second = _emitting(f"{name}_step", own.given, f"-solve({slope}, {right})", doc)

    def function(made: FunctionSpec, node: Node) -> ElaboratedFunction:
        return ElaboratedFunction(made, node, arguments, (), checks, mentions)

    return ElaboratedUnknown(
        own,
        function(second, step),
        function(first, value if minimises else residual),
    )


def _emitting(
    name: str, of: InputSpec, text: str, doc: str, by: Sequence[str] = ()
) -> FunctionSpec:
    """A function as a file would have it, with derivatives `by` the unknown."""
    place = of.name_text
    kinds = (VALUE, GRADIENT, HESSIAN) if by else (VALUE,)
    emit = tuple(Emit(kind, (), place) for kind in kinds)
    wrt = tuple(Wrt(x, False, place) for x in by)
    expr = Text.plain(" ".join(text.split()))
    return FunctionSpec(name, place, None, doc, (), expr, wrt, emit)
