"""The types of arrays: sizes, what entries are, and whether they are Python numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, assert_never

from tensorgen.arrays.object_operations import (
    Answer,
    AsPlaces,
    Attribute,
    Called,
    Count,
    Extent,
    GramEntries,
    GramPlaces,
    Join,
    Known,
    Later,
    Launch,
    Made,
    Member,
    Nothing,
    Numbered,
    Object,
    Pack,
    Places,
    Reshape,
    Results,
    Rows,
    Selected,
    Solution,
    Times,
    Whole,
    ZerosLike,
)
from tensorgen.arrays.operations import (
    Accumulate,
    Add,
    AsArray,
    AsFloat,
    Broadcast,
    Bundle,
    Call,
    Clip,
    Compare,
    Concatenate,
    Conjunction,
    Constant,
    Contraction,
    Copy,
    Correlate,
    Diag,
    Diagonal,
    Einsum,
    Elementwise,
    Entrywise,
    Expand,
    Eye,
    Fill,
    FloatPower,
    Index,
    InnerProduct,
    Kind,
    Leaf,
    Listed,
    Making,
    MatMul,
    MovingSum,
    Multiply,
    Number,
    Operation,
    Outer,
    Pad,
    Permute,
    Power,
    Python,
    Range,
    Reduce,
    Size,
    Solve,
    SumByKey,
    TensorDot,
    Trace,
    Triangle,
    Trim,
    Truth,
    Unbox,
    Variable,
    View,
    Windows,
)
from tensorgen.ir.dims import ONE, ZERO, Dim
from tensorgen.operators.calls import OPERATORS
from tensorgen.operators.elementwise import ELEMENTWISE

if TYPE_CHECKING:
    from tensorgen.arrays.arrays import Array


def dims_of(op: Operation, args: Sequence[Array]) -> tuple[Dim, ...]:
    """The size of each axis, 1 where it is there to broadcast."""
    if isinstance(op, Object):
        return op.dims
    if isinstance(op, Leaf | Making):
        return _new(op, args)
    if isinstance(op, View):
        return _seen(op, args[0].dims)
    shapes = [arg.dims for arg in args]
    if isinstance(op, Contraction):
        return _contracted(op, shapes)
    return () if isinstance(op, Python | FloatPower) else broadcast(shapes)


def broadcast(shapes: Sequence[tuple[Dim, ...]]) -> tuple[Dim, ...]:
    """The sizes of the axes of arrays that broadcast against each other."""
    longest = max(map(len, shapes), default=0)
    found = [ONE] * longest
    for dims in shapes:
        for k, dim in enumerate(dims, longest - len(dims)):
            found[k] = dim if found[k] is ONE else found[k]
    return tuple(found)


def _new(op: Leaf | Making, args: Sequence[Array]) -> tuple[Dim, ...]:
    match op:
        case Variable(dims=dims) | Fill(shape=dims) | Listed(shape=dims):
            return dims
        case Number() | Truth() | Constant() | Size() | AsArray() | Unbox():
            return ()
        case Range(low=low, high=high):
            return (high - low,)
        case Eye(size=size):
            return (size, size)
        case Triangle(rows=rows, columns=columns):
            return (rows, columns)
        case Diag():
            return args[0].dims * 2
        case Pad(widths=widths):
            pairs = zip(args[0].dims, widths, strict=True)
            return tuple(dim + first + last for dim, (first, last) in pairs)
        case Concatenate(axis=axis):
            first = args[0].dims
            length = sum((arg.dims[axis] for arg in args), ZERO)
            return (*first[:axis], length, *first[axis + 1 :])
        case Trim() | Clip() | Copy():
            return args[0].dims
        case _:
            assert_never(op)


def _seen(op: View, dims: tuple[Dim, ...]) -> tuple[Dim, ...]:
    match op:
        case Permute(axes=axes):
            return tuple(dims[a] for a in axes)
        case Expand(old=old):
            own = iter(dims)
            return tuple(next(own) if kept else ONE for kept in old)
        case Diagonal(first=a, second=b):
            rest = [dim for k, dim in enumerate(dims) if k not in (a, b)]
            return (*rest, dims[a])
        case Index(dims=found) | Broadcast(shape=found):
            return found
        case Windows(shape=shape, axes=axes):
            lengths = dict(zip(axes, shape, strict=True))
            numbers = (
                dim - lengths[k] + 1 if k in lengths else dim
                for k, dim in enumerate(dims)
            )
            return (*numbers, *shape)
        case _:
            assert_never(op)


def _contracted(op: Contraction, shapes: Sequence[tuple[Dim, ...]]) -> tuple[Dim, ...]:
    match op:
        case MatMul() | Solve():
            left, right = shapes
            if isinstance(op, Solve):  # A (..., n, n) and b
                left = left if len(right) > 1 else left[-2:]
            if len(left) == 1 or len(right) == 1:
                return (*left[:-1], *right[:-2], *right[-1:] * (len(right) > 1))
            lead = broadcast([left[:-2], right[:-2]])
            return (*lead, left[-2], right[-1])
        case Outer():
            return shapes[0] + shapes[1]
        case InnerProduct() | Trace():
            return ()
        case TensorDot(left=gone, right=away):
            first = [dim for k, dim in enumerate(shapes[0]) if k not in gone]
            return (*first, *(d for k, d in enumerate(shapes[1]) if k not in away))
        case Einsum(labels=labels, kept=kept):
            pairs = zip(labels, shapes, strict=True)
            sizes = {x: d for xs, ds in pairs for x, d in zip(xs, ds, strict=True)}
            return tuple(sizes[x] for x in kept)
        case Reduce(axes=axes):
            return tuple(dim for k, dim in enumerate(shapes[0]) if k not in axes)
        case Accumulate():
            return shapes[0]
        case MovingSum(length=length, axis=axis, before=before, after=after):
            own = shapes[0]
            number = before + own[axis] + after - length + 1
            return (*own[:axis], number, *own[axis + 1 :])
        case Correlate(before=before, after=after):
            (size,), (length,) = shapes
            return (before + size + after - length + 1,)
        case SumByKey(shape=dims) | Call(dims=dims):
            return dims
        case _:
            assert_never(op)


def kind_of(op: Operation, args: Sequence[Array]) -> Kind:
    """What the entries are."""
    if isinstance(op, View):
        return args[0].kind
    if isinstance(op, Contraction):
        row = OPERATORS[op.operator] if isinstance(op, Call) else None
        if row is not None and row.places:
            return "int"
        return "bool" if row is not None and row.boolean else "float"
    if isinstance(op, Entrywise):
        return _combined(op, args)
    match op:
        case Variable() | Fill() | Eye():
            return op.kind
        case Truth() | Triangle():
            return "bool"
        case Clip() | Places() | AsPlaces():
            return "int"
        case Range(real=real):
            return "float" if real else "int"
        case Trim() | Pad() | Unbox() | Copy() | Reshape() | ZerosLike():
            return args[0].kind
        case (
            Number()
            | Constant()
            | Size()
            | Diag()
            | AsArray()
            | Concatenate()
            | Listed()
        ):
            return "float"
        case Attribute() | Answer() | Nothing() | Made() | Pack() | Numbered():
            return "float"
        case Solution() | Selected() | Times() | GramEntries() | Known():
            return "float"
        case (
            GramPlaces()
            | Later()
            | Join()
            | Extent()
            | Count()
            | Rows()
            | Results()
            | Launch()
            | Called()
            | Member()
        ):
            return "float"
        case Whole():
            return "int"
        case _:
            assert_never(op)


def _combined(op: Entrywise, args: Sequence[Array]) -> Kind:
    match op:
        case Conjunction() | Compare():
            return "bool"
        case Multiply() | Add():
            strong = {arg.kind for arg in args if not arg.weak}
            return "int" if strong == {"int"} else "float"
        case Elementwise(function=name):
            if ELEMENTWISE[name].boolean:
                return "bool"
            chosen = {arg.kind for arg in args[1:] if not arg.weak}
            return "int" if name == "where" and chosen <= {"int"} else "float"
        case Bundle() | Power() | AsFloat() | Python() | FloatPower():
            return "float"
        case _:
            assert_never(op)


def weak(op: Operation, args: Sequence[Array]) -> bool:
    """Whether it is a Python number."""
    match op:
        case Number() | Truth() | Constant() | Size() | Python():
            return True
        case Multiply() | Add() | Power() | Conjunction() | Compare():
            return all(arg.weak for arg in args)
        case Elementwise(function=name):
            plain = ELEMENTWISE[name].boolean or name == "pow"
            return plain and all(arg.weak for arg in args)
        case _:  # NumPy's functions make arrays, or scalars of its own
            return False
