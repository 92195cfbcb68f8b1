"""What code needs from around it: sizes, helpers, modules, the common dtype."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import assert_never

from tensorgen.arrays import object_operations as objects
from tensorgen.arrays import operations as ops
from tensorgen.arrays.arrays import Array, below
from tensorgen.arrays.kernels import SUMS, Kernel
from tensorgen.arrays.places import At, Part, Slice
from tensorgen.arrays.printer import (
    call_template,
    lifted,
    row_template,
    told_shape,
    windows,
)
from tensorgen.arrays.statements import (
    Let,
    Loop,
    Release,
    Return,
    Scatter,
    Statement,
    Store,
    Unpack,
    everything,
    operands,
)
from tensorgen.ir.dims import Dim
from tensorgen.operators.calls import OPERATORS
from tensorgen.operators.elementwise import ELEMENTWISE
from tensorgen.operators.helpers.helper_table import HELPERS
from tensorgen.operators.helpers.logistic import together


class Needs:
    """What some statements and expressions need; each in the order of its use."""

    def __init__(
        self,
        statements: Sequence[Statement],
        returns: Sequence[Array] = (),
        alias: str = "np",
    ) -> None:
        """Look through all of them, for the array module called `alias`."""
        self.alias = alias
        self.symbols: dict[str, None] = {}
        self.helpers: dict[str, None] = {}
        self.modules: dict[str, None] = {}
        self.kernels: dict[Kernel, None] = {}
        self.dtype = False
        counted: set[str | None] = set()  # what is bound here
        for statement in everything(statements):
            self._take_places(_places(statement))
            if helper := _helper(statement):
                self.helpers[helper] = None
            if isinstance(statement, Loop):
                self._take_dims([statement.low, statement.high, statement.step])
                if statement.blocks is not None:
                    self.helpers["_blocks"] = None
                    self._take_dims([statement.blocks.rows.width])
                    counted |= {*statement.step.symbols}
                self._take_dims(statement.runs or ())
                counted |= {statement.name, statement.width}
            if isinstance(statement, Scatter) and statement.counts:
                self._take_dims(statement.target.dims[:1])
            if isinstance(statement, Let) and isinstance(
                statement.value.op, objects.Count | objects.Rows | objects.Whole
            ):
                counted.add(statement.name)
        roots = [one for line in statements for one in operands(line)]
        for one in below([*roots, *returns]):
            self._take(one)
        self.symbols = {x: None for x in self.symbols if x not in counted}

    def _take(self, one: Array) -> None:
        op = one.op
        self._take_dims(_dims(op))
        match op:
            case (
                ops.AsFloat()
                | ops.AsArray()
                | ops.Eye(kind="float")
                | ops.Fill(kind="float")
            ):
                self.dtype = True
            case ops.Listed(typed=typed):
                self.dtype = self.dtype or typed
            case ops.Range(real=real):
                self.dtype = self.dtype or real
            case objects.Count():
                self.helpers["_count"] = None
            case ops.Correlate():
                self.helpers["_correlate"] = None
            case objects.Results(function=name) if op.is_helper:
                self.helpers[name] = None
            case objects.Launch(kernel=kernel):
                self.kernels[kernel] = None
                if kernel.adds:
                    self.helpers[SUMS] = None
            case objects.Called():
                self.dtype = self.dtype or op.typed
            case ops.Bundle(functions=functions):
                several = len(one.args) > 1
                name = "_normal_between" if several else together(functions)
                self.helpers[name] = None
            case ops.MovingSum():
                self.helpers["_moving_sum"] = None
            case ops.SumByKey():
                self.helpers[op.helper] = None
            case ops.Windows() if (name := windows(self.alias)).startswith("_"):
                self.helpers[name] = None
            case ops.Solve(factored=True):
                self.helpers["_cholesky_solve"] = None
            case objects.Made(by=name) if name in HELPERS:
                self.helpers[name] = None
                names = (
                    arg.op.name for arg in one.args if isinstance(arg.op, ops.Variable)
                )
                self.dtype = self.dtype or "dtype" in names
            case ops.Index(parts=parts):
                self._take_places(parts)
            case ops.Elementwise() | ops.Call():
                self._take_row(op, one)

    def _take_row(self, op: ops.Elementwise | ops.Call, one: Array) -> None:
        row = (
            ELEMENTWISE[op.function]
            if isinstance(op, ops.Elementwise)
            else OPERATORS[op.operator]
        )
        if row.requires:
            self.modules[row.requires] = None
        found = (
            row_template(op, one.order)
            if isinstance(op, ops.Elementwise)
            else call_template(op, one)
        )
        self.helpers.update(dict.fromkeys(found.helpers))
        self.dtype = self.dtype or "dtype" in found.text
        if isinstance(op, ops.Elementwise):
            kinds = {one.args[k].kind for k in lifted(op, one, self.alias)}
            self.dtype = self.dtype or "float" in kinds

    def _take_places(self, parts: Iterable[Part]) -> None:
        for part in parts:
            limits = [part.limit] if isinstance(part, At) else []
            if isinstance(part, Slice) and part.held is None:
                limits = [x for x in (part.start, part.stop) if x is not None]
            for limit in limits:
                self._take_dims([limit.position, *filter(None, [limit.most])])

    def _take_dims(self, dims: Iterable[Dim]) -> None:
        for dim in dims:
            self.symbols.update(dict.fromkeys(dim.symbols))


def _dims(op: ops.Operation) -> Iterator[Dim]:
    match op:
        case ops.Correlate(before=before, after=after):
            yield from (before, after)
        case ops.MovingSum(length=length, before=before, after=after):
            yield from (length, before, after)
        case (
            ops.Size(dim=dim)
            | ops.Eye(size=dim)
            | ops.Clip(last=dim)
            | ops.Trim(shift=dim)
        ):
            yield dim
        case (
            ops.Windows(shape=shape)
            | ops.Broadcast(shape=shape)
            | ops.Fill(shape=shape)
        ):
            yield from shape
        case ops.SumByKey(shape=shape):
            yield from shape
        case objects.Called(sizes=sizes):
            yield from map(Dim.symbol, sizes)
        case objects.Rows(width=width):
            yield width
        case objects.Reshape(dims=shape) | objects.Places(shape=shape):
            yield from shape
        case ops.Call(reshapes=True):
            yield from told_shape(op)
        case ops.Range(low=low, high=high):
            yield from (low, high)
        case objects.Whole(size=found):
            yield from (found.of, found.by)
        case ops.Triangle(rows=rows, columns=columns, shift=shift):
            yield from (rows, columns, shift)
        case ops.Pad(widths=widths):
            for pair in widths:
                yield from pair


def _places(statement: Statement) -> tuple[Part, ...]:
    match statement:
        case Store(at=at) | Scatter(at=at):
            return at.parts
        case Let() | Unpack() | Loop():
            return ()
        case Return() | Release():
            return ()
        case _:
            assert_never(statement)


def _helper(statement: Statement) -> str | None:
    match statement:
        case Scatter(by_entry=True, counts=False):
            return "_add_at"
        case _:
            return None
