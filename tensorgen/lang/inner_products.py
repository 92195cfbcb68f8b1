"""Inner products, of variables and of values: matrices that are checked to fit.

That of a variable is `wrt: {x: {metric: W}}`, that of a function's values `metric: G`.
"""

from __future__ import annotations

from collections.abc import Mapping

from tensorgen.calculus.metrics import axes_of
from tensorgen.ir.dims import tuple_text
from tensorgen.ir.nodes import Node
from tensorgen.lang.scope import Names, Record
from tensorgen.lang.statement import Session, Statement
from tensorgen.lang.syntax import Expression
from tensorgen.operators.matrices.inverses import is_symmetric_by_parts


def elaborate_metrics(
    session: Session,
    metrics: tuple[tuple[str, Expression], ...],
    names: Names,
    spaces: Mapping[str, Node],
    record: Record,
) -> dict[str, Node] | None:
    """Return the matrices by names of arrays in `spaces`; None where one is wrong."""
    found: dict[str, Node] = {}
    for name, text in metrics:
        statement = Statement(session, text, names)
        value = statement.elaborate([])
        if value is None:
            continue
        record.merge(statement.record)
        if _is_metric(session, name, text, value.node, spaces.get(name)):
            found[name] = value.node
    return found if len(found) == len(metrics) else None


def _is_metric(
    session: Session, name: str, text: Expression, matrix: Node, array: Node | None
) -> bool:
    """Whether a matrix has the right shape and is known to be symmetric; reports it.

    There is no `array` where a function has a fault itself.
    """
    if array is None:
        return True
    dims = array.dims
    if not dims:
        message = f"'{name}' is a scalar, whose inner product is a number"
        session.faults.add(message, text.text.span(), hint="multiply by that instead")
        return False
    if axes_of(matrix, dims) is None:
        own, given = tuple_text(dims), tuple_text(matrix.dims)
        side, whole = dims[0], " * ".join(str(dim) for dim in dims)
        wanted = f"({side}, {side})"
        if len(dims) > 1:
            wanted += f" for its first axis, ({whole}, {whole}) for all of its entries"
        message = f"the metric of '{name}' has shape {given}"
        hint = f"'{name}' has shape {own}: a metric has {wanted}"
        session.faults.add(message, text.text.span(), hint=hint)
        return False
    if not is_symmetric_by_parts(session.graph, matrix):
        message = f"the metric of '{name}' is not known to be symmetric"
        hint = f"promise it, 'metric: spd({text.text})', or of the inputs that it is of"
        session.faults.add(message, text.text.span(), hint=hint)
        return False
    return True
