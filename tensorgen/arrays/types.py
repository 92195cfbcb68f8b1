"""The types of arrays: sizes, what entries are, and whether they are Python numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, assert_never

from tensorgen.arrays import object_operations as objects
from tensorgen.arrays import operations as ops
from tensorgen.ir.dims import ONE, ZERO, Dim
from tensorgen.operators.calls import OPERATORS
from tensorgen.operators.elementwise import ELEMENTWISE


class Typed(Protocol):
    """An array, as far as the type of what is made of it goes."""

    @property
    def dims(self) -> tuple[Dim, ...]:
        """The size of each axis."""
        ...

    @property
    def kind(self) -> ops.Kind:
        """What the entries are."""
        ...

    @property
    def weak(self) -> bool:
        """Whether it is a Python number."""
        ...


def dims_of(op: ops.Operation, args: Sequence[Typed]) -> tuple[Dim, ...]:
    """The size of each axis, 1 where it is there to broadcast."""
    if isinstance(op, objects.Object):
        return op.dims
    if isinstance(op, ops.Leaf | ops.Making):
        return _new(op, args)
    if isinstance(op, ops.View):
        return _seen(op, args[0].dims)
    shapes = [arg.dims for arg in args]
    if isinstance(op, ops.Contraction):
        return _contracted(op, shapes)
    return () if isinstance(op, ops.Python | ops.FloatPower) else broadcast(shapes)


def broadcast(shapes: Sequence[tuple[Dim, ...]]) -> tuple[Dim, ...]:
    """The sizes of the axes of arrays that broadcast against each other."""
    longest = max(map(len, shapes), default=0)
    found = [ONE] * longest
    for dims in shapes:
        for k, dim in enumerate(dims, longest - len(dims)):
            found[k] = dim if found[k] is ONE else found[k]
    return tuple(found)


def _new(op: ops.Leaf | ops.Making, args: Sequence[Typed]) -> tuple[Dim, ...]:
    match op:
        case ops.Variable(dims=dims) | ops.Fill(shape=dims) | ops.Listed(shape=dims):
            return dims
        case (
            ops.Number()
            | ops.Truth()
            | ops.Constant()
            | ops.Size()
            | ops.AsArray()
            | ops.Unbox()
        ):
            return ()
        case ops.Range(low=low, high=high):
            return (high - low,)
        case ops.Eye(size=size):
            return (size, size)
        case ops.Triangle(rows=rows, columns=columns):
            return (rows, columns)
        case ops.Diag():
            return args[0].dims * 2
        case ops.Pad(widths=widths):
            pairs = zip(args[0].dims, widths, strict=True)
            return tuple(dim + first + last for dim, (first, last) in pairs)
        case ops.Concatenate(axis=axis):
            first = args[0].dims
            length = sum((arg.dims[axis] for arg in args), ZERO)
            return (*first[:axis], length, *first[axis + 1 :])
        case ops.Trim() | ops.Clip() | ops.Copy():
            return args[0].dims
        case _:
            assert_never(op)


def _seen(op: ops.View, dims: tuple[Dim, ...]) -> tuple[Dim, ...]:
    match op:
        case ops.Permute(axes=axes):
            return tuple(dims[a] for a in axes)
        case ops.Expand(old=old):
            own = iter(dims)
            return tuple(next(own) if kept else ONE for kept in old)
        case ops.Diagonal(first=a, second=b):
            rest = [dim for k, dim in enumerate(dims) if k not in (a, b)]
            return (*rest, dims[a])
        case ops.Index(dims=found) | ops.Broadcast(shape=found):
            return found
        case ops.Windows(shape=shape, axes=axes):
            lengths = dict(zip(axes, shape, strict=True))
            numbers = (
                dim - lengths[k] + 1 if k in lengths else dim
                for k, dim in enumerate(dims)
            )
            return (*numbers, *shape)
        case _:
            assert_never(op)


def _contracted(
    op: ops.Contraction, shapes: Sequence[tuple[Dim, ...]]
) -> tuple[Dim, ...]:
    match op:
        case ops.MatMul() | ops.Solve():
            left, right = shapes
            if isinstance(op, ops.Solve):  # A (..., n, n) and b
                left = left if len(right) > 1 else left[-2:]
            if len(left) == 1 or len(right) == 1:
                return (*left[:-1], *right[:-2], *right[-1:] * (len(right) > 1))
            lead = broadcast([left[:-2], right[:-2]])
            return (*lead, left[-2], right[-1])
        case ops.Outer():
            return shapes[0] + shapes[1]
        case ops.InnerProduct() | ops.Trace():
            return ()
        case ops.TensorDot(left=gone, right=away):
            first = [dim for k, dim in enumerate(shapes[0]) if k not in gone]
            return (*first, *(d for k, d in enumerate(shapes[1]) if k not in away))
        case ops.Einsum(labels=labels, kept=kept):
            pairs = zip(labels, shapes, strict=True)
            sizes = {x: d for xs, ds in pairs for x, d in zip(xs, ds, strict=True)}
            return tuple(sizes[x] for x in kept)
        case ops.Reduce(axes=axes):
            return tuple(dim for k, dim in enumerate(shapes[0]) if k not in axes)
        case ops.Accumulate():
            return shapes[0]
        case ops.MovingSum(length=length, axis=axis, before=before, after=after):
            own = shapes[0]
            number = before + own[axis] + after - length + 1
            return (*own[:axis], number, *own[axis + 1 :])
        case ops.Correlate(before=before, after=after):
            (size,), (length,) = shapes
            return (before + size + after - length + 1,)
        case ops.SumByKey(shape=dims) | ops.Call(dims=dims):
            return dims
        case _:
            assert_never(op)


def kind_of(op: ops.Operation, args: Sequence[Typed]) -> ops.Kind:
    """What the entries are."""
    if isinstance(op, ops.View):
        return args[0].kind
    if isinstance(op, ops.Contraction):
        row = OPERATORS[op.operator] if isinstance(op, ops.Call) else None
        if row is not None and row.places:
            return "int"
        return "bool" if row is not None and row.boolean else "float"
    if isinstance(op, ops.Entrywise):
        return _combined(op, args)
    match op:
        case ops.Variable() | ops.Fill() | ops.Eye():
            return op.kind
        case ops.Truth() | ops.Triangle():
            return "bool"
        case ops.Clip() | objects.Places() | objects.AsPlaces():
            return "int"
        case ops.Range(real=real):
            return "float" if real else "int"
        case (
            ops.Trim()
            | ops.Pad()
            | ops.Unbox()
            | ops.Copy()
            | objects.Reshape()
            | objects.ZerosLike()
        ):
            return args[0].kind
        case (
            ops.Number()
            | ops.Constant()
            | ops.Size()
            | ops.Diag()
            | ops.AsArray()
            | ops.Concatenate()
            | ops.Listed()
        ):
            return "float"
        case objects.Whole():
            return "int"
        case (
            objects.Attribute() | objects.Answer() | objects.Nothing() | objects.Made()
        ):
            return "float"
        case objects.Pack() | objects.Numbered() | objects.Solution() | objects.Times():
            return "float"
        case objects.Selected() | objects.GramEntries() | objects.GramPlaces():
            return "float"
        case objects.Known() | objects.Later() | objects.Join() | objects.Extent():
            return "float"
        case objects.Count() | objects.Rows() | objects.Results() | objects.Launch():
            return "float"
        case objects.Called() | objects.Member():
            return "float"
        case _:
            assert_never(op)


def _combined(op: ops.Entrywise, args: Sequence[Typed]) -> ops.Kind:
    match op:
        case ops.Conjunction() | ops.Compare():
            return "bool"
        case ops.Multiply() | ops.Add():
            strong = {arg.kind for arg in args if not arg.weak}
            return "int" if strong == {"int"} else "float"
        case ops.Elementwise(function=name):
            if ELEMENTWISE[name].boolean:
                return "bool"
            chosen = {arg.kind for arg in args[1:] if not arg.weak}
            return "int" if name == "where" and chosen <= {"int"} else "float"
        case (
            ops.Bundle() | ops.Power() | ops.AsFloat() | ops.Python() | ops.FloatPower()
        ):
            return "float"
        case _:
            assert_never(op)


def weak(op: ops.Operation, args: Sequence[Typed]) -> bool:
    """Whether it is a Python number."""
    match op:
        case ops.Number() | ops.Truth() | ops.Constant() | ops.Size() | ops.Python():
            return True
        case (
            ops.Multiply() | ops.Add() | ops.Power() | ops.Conjunction() | ops.Compare()
        ):
            return all(arg.weak for arg in args)
        case ops.Elementwise(function=name):
            plain = ELEMENTWISE[name].boolean or name == "pow"
            return plain and all(arg.weak for arg in args)
        case _:  # NumPy's functions make arrays, or scalars of its own
            return False
