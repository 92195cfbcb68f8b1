"""Leading axes that nothing tells apart are one: rows of a matrix.

A stack of matrices times a matrix is a product for each matrix of the stack, each on
one core, and each with what it takes to begin. As rows of one matrix they are one
product, and what sums over them is a product of matrices too:

    a = np.tanh(X @ W)                    X_rows = np.reshape(X, (b * t, n))
    return np.tensordot(                  a = np.tanh(X_rows @ W)
        X, a, axes=((0, 1), (0, 1)))      return X_rows.T @ a

It is done where arguments alone have to be reshaped, and fewer of them than there are
products that gain. Where the sizes that are hinted at say that it pays, as with many
small matrices, other arrays are reshaped too, and get their axes back.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace

from tensorgen.arrays import operations as ops
from tensorgen.arrays.arrays import Array, array, below, bound, replacing
from tensorgen.arrays.code import Code
from tensorgen.arrays.cuts import ROWWISE
from tensorgen.arrays.object_operations import Reshape
from tensorgen.arrays.places import Mark
from tensorgen.arrays.speed import Speed
from tensorgen.arrays.statements import (
    Let,
    Statement,
    bindings,
    bound_names,
    changed,
    everything,
    operands,
    reads,
    rebuilt,
)
from tensorgen.ir.dims import ONE, Dim, count
from tensorgen.prices.price_table import CALL, STACKED, STACKED_ENTRY
from tensorgen.prices.thresholds import GAIN_OF_ORDER

Dims = tuple[Dim, ...]
REST = Mark("...")


class Unfit(Exception):
    """An array cannot be made of rows."""


class Apart(Exception):
    """A variable of rows is asked for with its axes apart."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name


def joined(code: Code, speed: Speed, again: Callable[[str], str]) -> Code:
    """Return code with rows for stacks that are multiplied, where that reads as well.

    Or where it pays at the sizes of `speed`. `again` gives names.
    """
    for lead in dict.fromkeys(map(_lead, below(_roots(code)))):
        if lead and ONE not in lead:
            asking = _asking(code, lead)
            found = _plainer(code, lead, asking) or _quicker(code, lead, asking, speed)
            code = _named(*found, again) if found else code
    return code


Found = tuple[Code, dict[Array, str]]
"""Code of rows, and the arguments that it reshapes."""


def _quicker(
    code: Code, lead: Dims, asking: Collection[str], speed: Speed
) -> Found | None:
    """The code with the axes `lead` as one wherever that can be, if it pays."""
    if not speed.knows(*(dim for one in below(_roots(code)) for dim in one.dims)):
        return None
    rows = Rows(lead, asking, back=True)
    found = rows.code(code)
    if _time(code, speed) <= GAIN_OF_ORDER * _time(found, speed):
        return None
    made, sources = _made(code), rows.sources(found)
    return found, {one: name for one, name in sources.items() if name not in made}


def _time(code: Code, speed: Speed) -> float:
    made = [one for one in below(_roots(code)) if one.args]
    each = speed.price(CALL)
    return sum(each + speed.work(one) + _beginnings(one, speed) for one in made)


def _beginnings(one: Array, speed: Speed) -> float:
    """What the products of a stack take beside their arithmetic."""
    if not isinstance(one.op, ops.MatMul) or max(arg.order for arg in one.args) < 3:
        return 0.0
    read = sum(speed.entries(arg.dims[-2:]) for arg in one.args)
    stack = max((arg.dims[:-2] for arg in one.args), key=speed.entries)
    each = speed.price(STACKED) + speed.price(STACKED_ENTRY) * read
    return speed.entries(stack) * each


def _plainer(code: Code, lead: Dims, asking: Sequence[str]) -> Found | None:
    """The code with the axes `lead` as one; None where it would not read as well."""
    while True:
        rows = Rows(lead, asking)
        try:
            found = rows.code(code)
        except Apart as error:
            asking = [name for name in asking if name != error.name]
        else:
            break
    gained = _products(code, lead) - _products(found, lead)
    sources = rows.sources(found)
    if _made(code).intersection(sources.values()) or len(sources) >= gained:
        return None
    return found, sources


def _named(code: Code, sources: dict[Array, str], again: Callable[[str], str]) -> Code:
    """The code, where arguments that are reshaped for several have names as rows."""
    parts = [*below(_roots(code))]
    uses = Counter([*_roots(code), *(arg for one in parts for arg in one.args)])
    lines: list[Statement] = []
    known: dict[Array, Array] = {}
    for rows, name in sources.items():
        if uses[rows] > 1:
            own = again(f"{name}_rows")
            lines.append(Let(own, rows))
            known[rows] = bound(own, rows)
    change = replacing(known)
    lines += [rebuilt(line, change) for line in code.statements]
    return Code(tuple(lines), tuple(map(change, code.returns)), code.refusals)


# What has to do with a product


def _roots(code: Code) -> list[Array]:
    return [*(x for line in code.statements for x in operands(line)), *code.returns]


def _made(code: Code) -> set[str]:
    """The names that statements bind."""
    lines = everything(code.statements)
    return {*bound_names(lines)}


def _lead(one: Array) -> Dims:
    """The leading axes that number the rows of a product, where they are several."""
    op, args = one.op, one.args
    if isinstance(op, ops.MatMul) and args[0].order > 2 >= args[1].order:
        return args[0].dims[:-1]
    if isinstance(op, ops.TensorDot) and len(op.left) > 1:
        firsts = tuple(range(len(op.left)))
        return args[0].dims[: len(firsts)] if op.left == op.right == firsts else ()
    return ()


def _products(code: Code, lead: Dims) -> int:
    """How many products have these rows as a stack."""
    return sum(_lead(one) == lead for one in below(_roots(code)))


def _asking(code: Code, lead: Dims) -> list[str]:
    """The variables of rows that products are made of, and those that they lead to."""
    groups: list[tuple[bool, list[str]]] = []
    lines = [(operands(line), bindings(line)) for line in code.statements]
    for values, own in [*lines, (code.returns, ())]:
        parts = [*below(values)]
        names = [x.op.name for x in parts if isinstance(x.op, ops.Variable)]
        multiplied = any(_lead(x) == lead for x in parts)
        groups.append((multiplied, [*names, *(name for name, _ in own)]))
    asking: dict[str, None] = {}
    before = -1
    while before < len(asking):
        before = len(asking)
        for multiplied, names in groups:
            if multiplied or any(x in asking for x in names):
                asking.update(dict.fromkeys(names))
    kept = {name for line in code.statements for name in changed(line)}
    return [name for name in asking if name not in kept]


# What of an operation is made of rows


class Rows:
    """Arrays whose first axes, `lead`, are one axis."""

    def __init__(self, lead: Dims, asking: Collection[str], back: bool = False) -> None:
        """Let the variables `asking` be of rows, where they can.

        What is asked for as it was gets its axes back, or raises Apart.
        """
        self.lead, self.asking, self.back = lead, asking, back
        self.variables: dict[str, Array] = {}
        self.reshaped: dict[Array, str] = {}
        """Rows of variables that are not of rows, and their names."""
        self._known: dict[Array, Array] = {}

    def code(self, code: Code) -> Code:
        """The same results; raises Apart."""
        lines = tuple(map(self._line, code.statements))
        return Code(lines, tuple(map(self.whole, code.returns)), code.refusals)

    def sources(self, code: Code) -> dict[Array, str]:
        """Those that are reshaped in some code."""
        inside = {*below(_roots(code))}
        return {one: name for one, name in self.reshaped.items() if one in inside}

    def _line(self, line: Statement) -> Statement:
        if isinstance(line, Let) and line.name in self.asking:
            with suppress(Unfit):
                rows = self.rows(line.value)
                self.variables[line.name] = bound(line.name, rows)
                return Let(line.name, rows)
        return rebuilt(line, self.whole)

    def whole(self, one: Array) -> Array:
        """The array as it was, of what may be of rows now; raises Apart."""
        if isinstance(one.op, ops.Variable) and one.op.name in self.variables:
            if not self.back:
                raise Apart(one.op.name)
            return array(Reshape(one.dims), self.variables[one.op.name])
        with suppress(Unfit):
            return self._contracted(one)
        with suppress(Unfit):
            if self.back and self._is_of_rows(one):
                return array(Reshape(one.dims), self.rows(one))
        args = tuple(map(self.whole, one.args))
        return one if args == one.args else array(one.op, *args)

    def rows(self, one: Array) -> Array:
        """The array of rows; raises Unfit, and Apart."""
        if one not in self._known:
            self._known[one] = self._rows(one)
        return self._known[one]

    def _joint(self, axes: Iterable[int]) -> tuple[int, ...]:
        """Axes behind those that are joined, counted anew; raises Unfit."""
        fewer = len(self.lead) - 1
        found = tuple(axis - fewer for axis in axes)
        if any(axis < 1 for axis in found):
            raise Unfit
        return found

    def _rest(self, axes: Sequence[int]) -> tuple[int, ...]:
        """Axes of which the first are those that are joined; raises Unfit."""
        lead = len(self.lead)
        if tuple(axes[:lead]) != tuple(range(lead)):
            raise Unfit
        return (0, *self._joint(axes[lead:]))

    def _sizes(self, dims: Dims) -> Dims:
        return (count(self.lead), *dims[len(self.lead) :])

    def _rows(self, one: Array) -> Array:
        op, args, lead = one.op, one.args, len(self.lead)
        if one.dims[:lead] != self.lead:
            raise Unfit
        match op:
            case ops.Variable(name=name):
                if name in self.variables:
                    return self.variables[name]
                found = array(Reshape(self._sizes(one.dims)), one)
                self.reshaped[found] = name
                return found
            case ops.MatMul():
                return array(op, *self._multiplied(*args))
            case ops.TensorDot(left=left):
                op = replace(op, left=self._joint(left))
                return array(op, self.rows(args[0]), self.whole(args[1]))
            case ops.Permute(axes=axes):
                op = ops.Permute(self._rest(axes))
            case ops.Expand(old=old) if all(old[:lead]):
                op = ops.Expand(old[lead - 1 :])
            case ops.Reduce(axes=axes):
                op = ops.Reduce(self._joint(axes))
            case ops.Call(operator=name, axes=tuple() as axes) if name in ROWWISE:
                op = replace(op, axes=self._joint(axes), dims=self._sizes(op.dims))
            case ops.Index(parts=(first, *rest)) if first == REST and not args[1:]:
                if len(rest) > args[0].order - lead:
                    raise Unfit
                op = replace(op, dims=self._sizes(op.dims))
            case ops.Copy():
                pass
            case _ if isinstance(op, ops.Entrywise):
                return array(op, *(self._broadcast(arg, one.order) for arg in args))
            case _:
                raise Unfit
        return array(op, self.rows(args[0]))

    def _broadcast(self, arg: Array, order: int) -> Array:
        """An operand of what has so many axes: of rows, or the same for all rows."""
        if arg.order == order:
            return self.rows(arg)
        if arg.order > order - len(self.lead):
            raise Unfit
        return self.whole(arg)

    def _multiplied(self, left: Array, right: Array) -> tuple[Array, Array]:
        """Operands of a product: rows and a matrix, or stacks that rows number."""
        lead = len(self.lead)
        if left.order == lead + 1:
            if right.order > 2:
                raise Unfit
            return self.rows(left), self.whole(right)
        most = max(left.order, right.order)
        if any(2 < arg.order < most for arg in (left, right)) or most < lead + 2:
            raise Unfit
        whole, rows = self.whole, self.rows
        return (
            whole(left) if left.order < most else rows(left),
            whole(right) if right.order < most else rows(right),
        )

    def _contracted(self, one: Array) -> Array:
        """What sums over rows; raises Unfit where nothing does."""
        match one.op:
            case ops.Reduce(axes=axes) if self._is_of_rows(one):
                return array(ops.Reduce(self._rest(axes)), self.rows(one.args[0]))
            case ops.InnerProduct() if self._is_of_rows(one):
                return array(one.op, *map(self.rows, one.args))
            case ops.TensorDot(left=left, right=right):
                sides = self._rest(left), self._rest(right)
                return _dotted(*sides, *map(self.rows, one.args))
            case _:
                raise Unfit

    def _is_of_rows(self, one: Array) -> bool:
        """Whether it is made of what is of rows, or of products that gain by them."""
        named = any(name in self.variables for name in reads([one]))
        return named or any(_lead(x) == self.lead for x in below([one]))


def _dotted(left: tuple[int, ...], right: tuple[int, ...], *rows: Array) -> Array:
    """The product summed over axes, the first of each among them."""
    if len(left) > 1 or any(one.order > 2 for one in rows):
        return array(ops.TensorDot(left, right), *rows)
    x, y = rows
    return array(ops.MatMul(), x if x.order == 1 else array(ops.Permute((1, 0)), x), y)
