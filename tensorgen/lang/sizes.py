"""Which dims follow from shapes, and other checks of a whole function."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from fractions import Fraction

from tensorgen.errors import Faults, Text
from tensorgen.ir.constraints import is_scattered
from tensorgen.ir.dims import Dim, tuple_text
from tensorgen.ir.nodes import Call, Node, Product, Size, Sum, children, topological
from tensorgen.lang.scope import Record
from tensorgen.operators.functions.array import Array
from tensorgen.spec.model import FunctionSpec, InputSpec
from tensorgen.spec.names import in_code

# An affine dim as a row of a linear system: its symbols with their coefficients.
Row = dict[str, Fraction]


class Known:
    """What follows when the values of some dims are known.

    Gauss-Jordan elimination over the affine ones: so `n + k` and `k` give n, and
    `n + k` alone gives itself though neither of its symbols.
    """

    def __init__(self, dims: Iterable[Dim]) -> None:
        self.rows: list[Row] = []
        for dim in dims:
            self.add(dim)

    def add(self, dim: Dim) -> None:
        """Take a dim to be known; what is not affine tells nothing of its symbols."""
        row = self._rest(dim) if dim.degree < 2 else {}
        if not row:
            return
        pivot = next(iter(row))
        row = {name: c / row[pivot] for name, c in row.items()}
        for known in self.rows:
            if pivot in known:
                _eliminate(known, row)
        self.rows.append(row)

    def _rest(self, dim: Dim) -> Row:
        """What the known dims leave open of the affine part of a dim."""
        row = {m[0]: Fraction(c) for m, c in dim.terms if len(m) == 1}
        for known in self.rows:
            _eliminate(row, known)
        return row

    def missing(self, dim: Dim) -> tuple[str, ...]:
        """The symbols that keep a dim from following; none if it follows."""
        crossed = {name for m, _ in dim.terms if len(m) > 1 for name in m}
        whole = bool(self._rest(dim))
        return tuple(
            name
            for name in dim.symbols
            if (whole or name in crossed) and self._rest(Dim.symbol(name))
        )


def _eliminate(row: Row, known: Row) -> None:
    """Subtract the multiple of `known` that removes its first symbol from `row`."""
    pivot = next(iter(known))
    factor = row.get(pivot, Fraction(0)) / known[pivot]
    for name, c in known.items():
        left = row.get(name, Fraction(0)) - factor * c
        row.pop(name, None)
        if left:
            row[name] = left


def open_sizes(
    nodes: Sequence[Node], record: Record, arguments: Iterable[InputSpec]
) -> tuple[str, ...]:
    """Return the dims that a function uses and no argument's shape gives.

    They are arguments themselves: first those that its text mentions.
    """
    known = Known(dim for argument in arguments for dim in argument.shape)
    used = {Dim.symbol(in_code(name)): None for name in record.sizes}
    used |= {check.size: None for check in record.checks}
    for part in topological(nodes):
        used |= dict.fromkeys(_sizes(part))
    found: list[str] = []
    for size in used:
        while missing := known.missing(size):
            found.append(missing[0])
            known.add(Dim.symbol(missing[0]))
    return tuple(found)


def _sizes(node: Node) -> tuple[Dim, ...]:
    """The dims that a node is made with, beside those of its operands."""
    match node:
        case Product():
            return node.sizes
        case Size():
            return (node.value,)
    return node.dims


def check_emit(faults: Faults, function: FunctionSpec, values: Sequence[Array]) -> None:
    """Report derivatives that only scalars have where no result is one."""
    for emit in function.emit:
        if emit.kind.scalar and all(value.order for value in values):
            name, shape = emit.kind.name, tuple_text(values[0].shape)
            message = (
                f"'{name}' is for scalars, and '{function.name}' has shape {shape}"
            )
            if function.results:
                message = f"'{name}' is for scalars, and no result of '{function.name}'"
                message += " is one"
            faults.add(message, emit.text.span(), hint=emit.kind.scalar)


def check_filled(
    faults: Faults, name: str, place: Text, node: Node, arguments: Iterable[InputSpec]
) -> None:
    """Report that what bears a name would fill in a sparse matrix.

    All does but products with it, and solving with a sum that it is in.
    """
    own = {part.shape[0] for part in arguments if part.of is not None}
    users = [x for x in topological([node]) if own and not isinstance(x, Product)]
    formed = {node, *(child for x in users for child in children(x))}
    solved = _solved(users, formed)
    formed = {node, *(child for x in users if x not in solved for child in children(x))}
    if any(is_scattered(x) and own & {*x.inner} for x in formed):
        message = f"{name} would fill in a sparse matrix"
        hint = (
            "it stands in products, A @ x, A.T @ r, A * x, sum(A * B), and solve(A, b)"
        )
        faults.add(message, place.span(), hint=hint)


def _solved(users: Sequence[Node], formed: Collection[Node]) -> set[Node]:
    """What is solved with, which is not formed, and sums that make up its matrix."""
    found, matrices = set[Node](), set[Node]()
    for x in reversed(users):  # each before its operands
        inverts = isinstance(x, Call) and x.operator == "inv" and x not in formed
        if inverts or (isinstance(x, Sum) and x in matrices):
            found.add(x)
            matrices.update(children(x))
    return found


MOST_AXES = 32
"""Of NumPy's arrays before version 2, which has 64."""


def check_axes(
    faults: Faults, function: FunctionSpec, value: Array, arguments: Iterable[InputSpec]
) -> None:
    """Report derivatives with more axes than arrays have."""
    orders = {given.name: len(given.shape) for given in arguments}
    wrt = tuple(wrt.name for wrt in function.wrt)
    for emit in function.emit:
        blocks = emit.kind.blocks(wrt, emit.inputs)
        own = value.order if emit.kind.argument != "cotangent" else 0
        axes = own + max(sum(map(orders.__getitem__, block)) for block in blocks)
        if axes > MOST_AXES:
            message = f"this derivative of '{function.name}' has {axes} axes"
            hint = f"an array has {MOST_AXES} axes at most"
            faults.add(message, emit.text.span(), hint=hint)
