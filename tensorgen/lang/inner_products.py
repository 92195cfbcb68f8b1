"""The inner products of `wrt: {x: {metric: W}}`: matrices that are checked to fit."""

from __future__ import annotations

from collections.abc import Mapping

from tensorgen.calculus.metrics import axes_of
from tensorgen.ir.dims import tuple_text
from tensorgen.ir.nodes import Node
from tensorgen.lang.scope import Names, Record
from tensorgen.lang.statement import Session, Statement
from tensorgen.lang.syntax import Expression
from tensorgen.operators.matrices.inverses import is_symmetric_by_parts
from tensorgen.spec.model import Wrt


def elaborate_metrics(
    session: Session,
    metrics: tuple[tuple[Wrt, Expression], ...],
    names: Names,
    inputs: Mapping[str, Node],
    record: Record,
) -> dict[str, Node] | None:
    """Return the matrices by the names of variables; None where one is wrong."""
    found: dict[str, Node] = {}
    for wrt, text in metrics:
        statement = Statement(session, text, names)
        value = statement.elaborate([])
        if value is None:
            continue
        record.merge(statement.record)
        if _is_metric(session, wrt, value.node, inputs[wrt.name]):
            found[wrt.name] = value.node
    return found if len(found) == len(metrics) else None


def _is_metric(session: Session, wrt: Wrt, matrix: Node, variable: Node) -> bool:
    """Whether a matrix has the right shape and is known to be symmetric; reports it."""
    assert wrt.metric is not None
    if axes_of(matrix, variable.dims) is None:
        own, given = tuple_text(variable.dims), tuple_text(matrix.dims)
        side, whole = variable.dims[0], " * ".join(str(dim) for dim in variable.dims)
        wanted = f"({side}, {side})"
        if variable.order > 1:
            wanted += f" for its first axis, ({whole}, {whole}) for all of its entries"
        message = f"the metric of '{wrt.name}' has shape {given}"
        hint = f"'{wrt.name}' has shape {own}: a metric has {wanted}"
        session.faults.add(message, wrt.metric.span(), hint=hint)
        return False
    if not is_symmetric_by_parts(session.graph, matrix):
        message = f"the metric of '{wrt.name}' is not known to be symmetric"
        hint = (
            f"promise it, 'metric: spd({wrt.metric})', or of the inputs that it is of"
        )
        session.faults.add(message, wrt.metric.span(), hint=hint)
        return False
    return True
