"""Arrays: operations of other arrays, interned, and typed when they are made."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import assert_never
from weakref import WeakValueDictionary

from tensorgen.arrays.objects import (
    AsPlaces,
    Object,
    Places,
    Ravel,
    Reshape,
    ZerosLike,
)
from tensorgen.arrays.operations import (
    Accumulate,
    Add,
    AsArray,
    AsFloat,
    Broadcast,
    Call,
    Clip,
    Compare,
    Conjunction,
    Constant,
    Contraction,
    Copy,
    Diag,
    Diagonal,
    Einsum,
    Elementwise,
    Expand,
    Eye,
    Fill,
    FloatPower,
    Index,
    InnerProduct,
    Kind,
    Leaf,
    Making,
    MatMul,
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
from tensorgen.ir.dims import ONE, Dim
from tensorgen.operators.calls import OPERATORS
from tensorgen.operators.elementwise import ELEMENTWISE


@dataclass(frozen=True, eq=False, slots=True, weakref_slot=True)
class Array:
    """An operation of operands; `==` is identity, for `array` interns.

    `weak` marks Python numbers, which never widen a dtype. `memo` is for what is found
    out about the array once.
    """

    op: Operation
    args: tuple[Array, ...]
    dims: tuple[Dim, ...]
    kind: Kind
    weak: bool
    memo: dict[object, object] = field(default_factory=dict, repr=False)

    @property
    def order(self) -> int:
        """The number of axes."""
        return len(self.dims)


_KNOWN: WeakValueDictionary[tuple[Operation, tuple[Array, ...]], Array] = (
    WeakValueDictionary()
)


def array(op: Operation, *args: Array) -> Array:
    """Return the array that an operation makes of operands: one object for equals."""
    key = (op, args)
    found = _KNOWN.get(key)
    if found is None:
        made = Array(op, args, _dims(op, args), _kind(op, args), _weak(op, args))
        found = _KNOWN[key] = made
    return found


def variable(
    name: str,
    dims: tuple[Dim, ...],
    kind: Kind = "float",
    base: str | None = None,
    boxed: bool = False,
) -> Array:
    """Return the array that a name stands for."""
    return array(Variable(name, dims, kind, base, boxed))


def below(roots: Sequence[Array]) -> Iterator[Array]:
    """Yield every array that some are made of, themselves included, once."""
    seen = dict.fromkeys(roots)
    waiting = list(reversed(seen))
    while waiting:
        one = waiting.pop()
        yield one
        fresh = [arg for arg in dict.fromkeys(one.args) if arg not in seen]
        seen.update(dict.fromkeys(fresh))
        waiting += reversed(fresh)


def _dims(op: Operation, args: tuple[Array, ...]) -> tuple[Dim, ...]:
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
            found[k] = dim if found[k] == 1 else found[k]
    return tuple(found)


def _new(op: Leaf | Making, args: tuple[Array, ...]) -> tuple[Dim, ...]:
    match op:
        case Variable(dims=dims) | Fill(shape=dims):
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
        case Call(dims=dims):
            return dims
        case _:
            assert_never(op)


def _kind(op: Operation, args: tuple[Array, ...]) -> Kind:
    """What the entries are."""
    match op:
        case Variable():
            return op.kind
        case Truth() | Conjunction() | Compare() | Triangle():
            return "bool"
        case Clip() | Places() | AsPlaces():
            return "int"
        case Fill(kind=kind):
            return kind
        case Range():
            return "float" if op.real else "int"
        case Multiply() | Add():
            strong = {arg.kind for arg in args if not arg.weak}
            return "int" if strong == {"int"} else "float"
        case Elementwise():
            if ELEMENTWISE[op.function].boolean:
                return "bool"
            chosen = op.function == "where" and all(arg.weak for arg in args[1:])
            return "int" if chosen else "float"
        case Call(operator=name):
            return "bool" if OPERATORS[name].boolean else "float"
        case (
            Permute()
            | Expand()
            | Diagonal()
            | Index()
            | Windows()
            | Broadcast()
            | Pad()
            | Reshape()
            | Ravel()
            | ZerosLike()
        ):
            return args[0].kind
        case _:
            return "float"


def _weak(op: Operation, args: tuple[Array, ...]) -> bool:
    """Whether it is a Python number."""
    match op:
        case Number() | Truth() | Constant() | Size() | Python():
            return True
        case Multiply() | Add() | Power() | Conjunction() | Compare():
            return all(arg.weak for arg in args)
        case Elementwise(function=name):
            return (ELEMENTWISE[name].boolean or name == "pow") and all(
                arg.weak for arg in args
            )
        case _:
            return False


def is_boxed(one: Array) -> bool:
    """Whether a scalar is an array without axes, as `np.where` makes it."""
    match one.op:
        case Variable(boxed=boxed):
            return boxed
        case Elementwise(function=name):
            return name == "where"
        case AsFloat():
            return is_boxed(one.args[0])
        case _:
            return False


def base(one: Array) -> str | None:
    """The variable whose memory an array shares; "" if no variable holds it."""
    match one.op:
        case Variable(base=name):
            return name
        case Permute() | Expand() | Windows() | Reshape() | Ravel(copied=False):
            return base(one.args[0])
        case Index():
            return base(one.args[0]) if one.op.is_basic else None
        case Diagonal():
            return ""  # NumPy lets nobody write to it
        case Broadcast():
            return base(one.args[0]) or ""
        case Call(operator=name):
            return base(one.args[0]) if OPERATORS[name].view else None
        case _:
            return None


def is_sliding(one: Array) -> bool:
    """Whether a view has more entries than it has memory, and is not to be copied."""
    match one.op:
        case Windows():
            return True
        case Permute() | Expand():
            return is_sliding(one.args[0])
        case Index():
            return one.op.is_basic and is_sliding(one.args[0])
        case _:
            return False
