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
    At,
    Broadcast,
    Call,
    Clip,
    Compare,
    Conjunction,
    Constant,
    Copy,
    Diag,
    Diagonal,
    Einsum,
    Elementwise,
    Entries,
    Expand,
    Eye,
    Fill,
    FloatPower,
    Index,
    InnerProduct,
    Kind,
    Mark,
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
    Windows,
)
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
    order: int
    kind: Kind
    weak: bool
    memo: dict[object, object] = field(default_factory=dict, repr=False)


_KNOWN: WeakValueDictionary[tuple[Operation, tuple[Array, ...]], Array] = (
    WeakValueDictionary()
)


def array(op: Operation, *args: Array) -> Array:
    """Return the array that an operation makes of operands: one object for equals."""
    key = (op, args)
    found = _KNOWN.get(key)
    if found is None:
        made = Array(op, args, _order(op, args), _kind(op, args), _weak(op, args))
        found = _KNOWN[key] = made
    return found


def variable(
    name: str,
    order: int,
    kind: Kind = "float",
    base: str | None = None,
    boxed: bool = False,
) -> Array:
    """Return the array that a name stands for."""
    return array(Variable(name, order, kind, base, boxed))


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


def _order(op: Operation, args: tuple[Array, ...]) -> int:
    """The number of axes."""
    if isinstance(op, Object):
        return len(op.dims)
    match op:
        case Variable() | Call():
            return op.order
        case Number() | Truth() | Constant() | Size() | Python() | FloatPower():
            return 0
        case InnerProduct() | Trace() | AsArray() | Unbox():
            return 0
        case Range():
            return 1
        case Outer() | Eye() | Triangle() | Diag():
            return 2
        case Multiply() | Add() | Power() | Conjunction() | Compare() | Elementwise():
            return max((arg.order for arg in args), default=0)
        case AsFloat() | Accumulate() | Permute() | Trim() | Pad() | Clip() | Copy():
            return args[0].order
        case MatMul() | Solve():
            left, right = (arg.order for arg in args)
            if isinstance(op, MatMul) and left == 1:
                return right - 1
            return left - 1 if right == 1 else max(left, right)
        case TensorDot():
            return args[0].order + args[1].order - 2 * len(op.left)
        case Einsum():
            return len(op.kept)
        case Reduce():
            return args[0].order - len(op.axes)
        case Expand():
            return len(op.old)
        case Diagonal():
            return args[0].order - 1
        case Index():
            return _indexed(op, args)
        case Windows():
            return args[0].order + len(op.shape)
        case Broadcast() | Fill():
            return len(op.shape)
        case _:
            assert_never(op)


def _indexed(op: Index, args: tuple[Array, ...]) -> int:
    """The number of axes that places leave."""
    count, places = args[0].order, max((arg.order for arg in args[1:]), default=0)
    for part in op.parts:
        if isinstance(part, At | Entries):
            count -= 1
        elif isinstance(part, Mark) and part.text == "None":
            count += 1
    return count + places


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


def transposes(one: Array) -> int:
    """What the transposes in an expression cost a reader, more so those of terms."""
    found = one.memo.get(transposes)
    if not isinstance(found, int):
        found = sum(map(transposes, one.args))
        if isinstance(one.op, Permute):
            plain = isinstance(one.args[0].op, Variable | Index | Expand)
            reverse = one.op.axes == tuple(reversed(range(one.order)))
            found += 1 if plain and reverse else 2
        one.memo[transposes] = found
    return found
