"""Arrays a block at a time: what of an operation is made from a block of its operands.

An array is cut along one axis. What is made entry by entry, or row by row, is cut where
its operands are; a contraction of that axis is the sum of what blocks contribute.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace

from tensorgen.arrays import operations as ops
from tensorgen.arrays.arrays import Array, array, variable
from tensorgen.arrays.places import WHOLE, Entries, Limit, Part, Slice
from tensorgen.arrays.statements import Scatter, reads
from tensorgen.ir.dims import ONE, Dim
from tensorgen.operators.calls import OPERATORS
from tensorgen.operators.matrices import distances

ROWWISE = frozenset(name for name, row in OPERATORS.items() if row.rowwise)
"""Functions of arrays that are made row by row if they go along other axes."""

Axes = tuple[int | None, ...]
"""Where each operand is cut; None for one that is read as a whole."""


class Whole(Exception):
    """An array cannot be made in blocks: what it reads as a whole is cut."""

    def __init__(self, names: Collection[str] = ()) -> None:
        super().__init__()
        self.names = tuple(names)


class Cuts:
    """Arrays along a size `dim`, a block of `width` of it at a time from `start`."""

    def __init__(self, dim: Dim, start: str, width: str, held: str) -> None:
        """Start with nothing cut; the positions of a block are a slice, `held`."""
        self.dim, self.start, self.over, self.held = dim, start, width, held
        self.width = Dim.symbol(width)
        self.at: dict[str, int] = {}  # where variables are cut
        self.late: dict[str, None] = {}  # what no block can read
        self.steady: dict[Array, None] = {}  # what is computed before all blocks
        self._known: dict[tuple[Array, int], Array] = {}

    def cut(self, one: Array, axis: int) -> Array:
        """The block of an array along an axis; raises Whole."""
        key = one, axis
        if key not in self._known:
            self._known[key] = self._cut(one, axis)
        return self._known[key]

    def block(self, name: str, one: Array, axis: int) -> Array:
        """The variable that holds a block of an array."""
        return variable(name, self._sizes(one.dims, axis), one.kind, name)

    def part(self, axis: int, dims: tuple[Dim, ...]) -> ops.Index:
        """The places of a block in an array of some sizes."""
        first = Dim.symbol(self.start)
        block = Slice(Limit(first), Limit(first + self.width), held=self.held)
        parts = tuple(block if k == axis else WHOLE for k in range(len(dims)))
        return ops.Index(parts, self._sizes(dims, axis))

    def _sizes(self, dims: tuple[Dim, ...], axis: int) -> tuple[Dim, ...]:
        return tuple(self.width if k == axis else dim for k, dim in enumerate(dims))

    def _cut(self, one: Array, axis: int) -> Array:
        op = one.op
        match op:
            case ops.Variable(name=name):
                if name in self.late:
                    raise Whole([name])
                if self.at.get(name, axis) != axis:
                    raise Whole
                if name not in self.at:
                    return array(self.part(axis, one.dims), one)
                return self.block(name, one, axis)
            case ops.Range(low=low, high=_, real=real):
                first = low + Dim.symbol(self.start)
                return array(ops.Range(first, first + self.width, real))
            case ops.Index():
                return self._read(one, op, axis)
            case ops.Broadcast(shape=shape):
                own = axis - one.order + one.args[0].order
                fixed = own < 0 or one.args[0].dims[own] != self.dim
                inner = self.whole(one.args[0]) if fixed else self.cut(one.args[0], own)
                return array(ops.Broadcast(self._sizes(shape, axis)), inner)
        axes = operands_along(one, axis)
        if axes is None:
            shared = isinstance(op, ops.Call) and OPERATORS[op.operator].helped
            raise Whole([x for x in reads([one]) if shared and x in self.at])
        if isinstance(op, ops.Call):
            op = replace(op, dims=self._sizes(op.dims, axis))
        if isinstance(op, ops.SumByKey):
            op = replace(op, shape=self._sizes(op.shape, axis))
        return array(op, *self.operands(one, axes))

    def _read(self, one: Array, op: ops.Index, axis: int) -> Array:
        """Entries of a block of what they are read from, or in a block of places."""
        found = replace(op, dims=self._sizes(op.dims, axis))
        whole, *places = one.args
        vectors = all(place.order == 1 for place in places)
        if len(op.parts) != one.order or len(places) > 1 or not vectors:
            raise Whole
        if isinstance(op.parts[axis], Entries):
            return array(found, self.whole(whole), self.cut(places[0], 0))
        if op.parts[axis] != WHOLE or not all(map(_keeps_axis, op.parts)):
            raise Whole
        return array(found, self.cut(whole, axis), *map(self.whole, places))

    def operands(self, one: Array, axes: Axes) -> list[Array]:
        """The operands of an operation, cut where it says so."""
        return [
            self.whole(arg) if axis is None else self.cut(arg, axis)
            for arg, axis in zip(one.args, axes, strict=True)
        ]

    def whole(self, one: Array) -> Array:
        """An array that blocks read as a whole; raises Whole."""
        names = [x for x in reads([one]) if x in self.at or x in self.late]
        if names:
            raise Whole(names)
        if not is_shown(one):
            self.steady[one] = None
        return one

    def summed(self, one: Array) -> Array:
        """What a block contributes to a contraction; raises Whole."""
        asked: dict[str, None] = {}
        for axes in contracted_along(one, self.dim):
            try:
                return array(one.op, *self.operands(one, axes))
            except Whole as found:
                asked.update(dict.fromkeys(found.names))
        raise Whole(asked)

    def scattered(self, line: Scatter) -> Scatter:
        """What a block adds where its part of the index arrays says; raises Whole."""
        places, value = line.places, line.value
        rest = line.target.dims[len(places) :]
        indexed = all(isinstance(part, Entries) for part in line.at.parts)
        if not indexed or any(place.dims != (self.dim,) for place in places):
            raise Whole
        # A value with fewer axes, or a single row, is the same for all places.
        own = value.order > len(rest) and value.dims[0] == self.dim
        return replace(
            line,
            at=replace(line.at, dims=(self.width, *rest)),
            places=tuple(self.cut(place, 0) for place in places),
            value=self.cut(value, 0) if own else self.whole(value),
            counts=False,  # which goes through all of the target
        )


def _keeps_axis(part: Part) -> bool:
    return isinstance(part, Slice | Entries)


def is_shown(one: Array) -> bool:
    """Whether an array is there already, or a number."""
    if isinstance(one.op, ops.Leaf) or one.weak:
        return True
    if isinstance(one.op, ops.View):
        return all(map(is_shown, one.args))
    return one.order == 0 and all(x.order == 0 and is_shown(x) for x in one.args)


def operands_along(one: Array, axis: int) -> Axes | None:
    """Where operands are cut to make a block along an axis; None if that is unknown."""
    op, args = one.op, one.args
    match op:
        case ops.Python() | ops.FloatPower():
            return None
        case ops.Copy() | ops.AsFloat():
            return (axis,)
        case ops.Permute(axes=axes):
            return (axes[axis],)
        case ops.Expand(old=old):
            return (sum(old[:axis]),) if old[axis] else None
        case ops.Outer():
            return (0, None) if axis == 0 else (None, 0)
        case ops.MatMul():
            return _of_product(args[0], args[1], axis, one.order)
        case ops.Einsum(labels=labels, kept=kept):
            return _of_label(labels, kept[axis])
        case ops.TensorDot(left=left, right=right):
            rows = [k for k in range(args[0].order) if k not in left]
            columns = [k for k in range(args[1].order) if k not in right]
            own = axis < len(rows)
            return (rows[axis], None) if own else (None, columns[axis - len(rows)])
        case ops.SumByKey():
            keys = len(args) - 1
            rest = axis - one.order + args[0].order
            return None if axis < keys else (rest, *[None] * keys)
        case ops.Reduce(axes=gone):
            return ([k for k in range(args[0].order) if k not in gone][axis],)
        case ops.Call(operator=name) if name in distances.NAMES:
            return tuple(0 if k == axis else None for k in range(len(args)))
        case ops.Call(operator=name, axes=tuple() as over) if name in ROWWISE:
            if one.order == args[0].order:  # nothing is reduced
                return None if axis in over else (axis,)
            kept_axes = [k for k in range(args[0].order) if k not in over]
            return (kept_axes[axis],) if len(kept_axes) == one.order else None
    return _entrywise(one, axis) if isinstance(op, ops.Entrywise) else None


def _entrywise(one: Array, axis: int) -> Axes:
    """Operands broadcast from the last axis on."""
    places = [axis - one.order + arg.order for arg in one.args]
    pairs = zip(one.args, places, strict=True)
    return tuple(
        None if k < 0 or (arg.dims[k] == ONE and one.dims[axis] != ONE) else k
        for arg, k in pairs
    )


def _of_product(a: Array, b: Array, axis: int, order: int) -> Axes | None:
    """Rows of the left operand give rows, columns of the right one columns."""
    if a.order > 2 or b.order > 2:
        return None
    if a.order == 2 and axis == 0:
        return (0, None)
    return (None, 1) if b.order == 2 and axis == order - 1 else None


def _of_label(labels: tuple[tuple[int, ...], ...], label: int) -> Axes | None:
    if any(own.count(label) > 1 for own in labels):
        return None
    return tuple(own.index(label) if label in own else None for own in labels)


def contracted_along(one: Array, dim: Dim) -> Iterator[Axes]:
    """Yield where operands are cut for blocks to add up to a contraction of `dim`."""
    op, args = one.op, one.args
    found: list[Axes | None] = []
    match op:
        case ops.MatMul() if args[0].order <= 2 and args[1].order <= 2:
            found = [(args[0].order - 1, max(args[1].order - 2, 0))]
        case ops.InnerProduct():
            found = [(k, k) for k in range(args[0].order)]
        case ops.Reduce(axes=gone):
            found = [(k,) for k in gone]
        case ops.SumByKey() if all(key.order == 1 for key in args[1:]):
            found = [(0,) * len(args)]
        case ops.Einsum(labels=labels, kept=kept):
            every = dict.fromkeys(x for own in labels for x in own)
            found = [_of_label(labels, x) for x in every if x not in kept]
        case ops.TensorDot(left=left, right=right):
            found = [*zip(left, right, strict=True)]
    for axes in found:
        if axes is None:
            continue
        pairs = [(arg, k) for arg, k in zip(args, axes, strict=True) if k is not None]
        if pairs and all(arg.dims[k] == dim for arg, k in pairs):
            yield axes
