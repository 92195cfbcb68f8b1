"""Which dims follow from shapes, and other checks of a whole function."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from tensorgen.errors import Faults, Span
from tensorgen.ir.dims import Dim
from tensorgen.ir.nodes import Input, Node, Product, topological
from tensorgen.lang.names import Record
from tensorgen.operators.functions.array import Array, show_shape
from tensorgen.spec.model import FunctionSpec, InputSpec

# An affine dim as a row of a linear system: its symbols with their coefficients.
Row = dict[str, Fraction]


def determined(dims: Iterable[Dim]) -> set[str]:
    """Return the symbols whose values follow when the values of `dims` are known.

    Gauss-Jordan elimination: a symbol is known where a row holds it alone.
    """
    rows: list[Row] = []
    for dim in dims:
        if dim.degree > 1:
            continue
        row = {name: Fraction(c) for monomial, c in dim.terms for name in monomial}
        for known in rows:
            _eliminate(row, known)
        if not row:
            continue
        pivot = next(iter(row))
        row = {name: c / row[pivot] for name, c in row.items()}
        for known in rows:
            if pivot in known:
                _eliminate(known, row)
        rows.append(row)
    return {next(iter(row)) for row in rows if len(row) == 1}


def _eliminate(row: Row, known: Row) -> None:
    """Subtract the multiple of `known` that removes its first symbol from `row`."""
    pivot = next(iter(known))
    factor = row.get(pivot, Fraction(0)) / known[pivot]
    for name, c in known.items():
        left = row.get(name, Fraction(0)) - factor * c
        row.pop(name, None)
        if left:
            row[name] = left


def check_sizes(
    faults: Faults,
    function: FunctionSpec,
    node: Node,
    record: Record,
    arguments: tuple[InputSpec, ...],
) -> None:
    """Report dims that no argument's shape gives."""
    known = determined(dim for argument in arguments for dim in argument.shape)
    for name, span in record.sizes.items():
        if name not in known:
            _undetermined(faults, function, name, span)
    used: dict[str, None] = {}
    for part in topological([node]):
        if not isinstance(part, Input):
            dims = part.sizes if isinstance(part, Product) else part.dims
            used.update((name, None) for dim in dims for name in dim.symbols)
    for check in record.checks:
        used.update((name, None) for name in check.size.symbols)
    for name in used:
        if name not in known and name not in record.sizes:
            _undetermined(faults, function, name, function.name_text.span())


def _undetermined(
    faults: Faults, function: FunctionSpec, name: str, span: Span
) -> None:
    own = function.name
    message = f"the dim '{name}' does not follow from the arguments of '{own}'"
    hint = f"no input that '{own}' mentions has an axis that gives '{name}'"
    faults.add(message, span, hint=hint)


_OF_SCALARS = ("gradient", "hessian", "hvp")


def check_emit(faults: Faults, function: FunctionSpec, value: Array) -> None:
    """Report derivatives that only scalars have."""
    for emit in function.emit:
        if emit.kind in _OF_SCALARS and value.order:
            shape = show_shape(value.shape)
            instead = {
                "gradient": "emit jacobian",
                "hessian": "emit dense_hessian",
                "hvp": "emit jvp or vjp",
            }[emit.kind]
            message = (
                f"'{emit.kind}' is for scalars, and '{function.name}' has shape {shape}"
            )
            faults.add(message, emit.text.span(), hint=instead)
