"""Arrays: operations of other arrays, interned, and typed when they are made."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar, assert_never
from weakref import WeakValueDictionary

from tensorgen.arrays import operations as ops
from tensorgen.arrays.object_operations import Reshape
from tensorgen.arrays.types import dims_of, kind_of, weak
from tensorgen.ir.dims import Dim
from tensorgen.operators.calls import OPERATORS

T = TypeVar("T")


@dataclass(frozen=True, eq=False, slots=True, weakref_slot=True)
class Array:
    """An operation of operands; `==` is identity, for `array` interns.

    `weak` marks Python numbers, which never widen a dtype. `memo` is for what is found
    out about the array once.
    """

    op: ops.Operation
    args: tuple[Array, ...]
    dims: tuple[Dim, ...]
    kind: ops.Kind
    weak: bool
    memo: dict[object, Any] = field(default_factory=dict, repr=False)

    @property
    def order(self) -> int:
        """The number of axes."""
        return len(self.dims)


_KNOWN: WeakValueDictionary[tuple[ops.Operation, tuple[Array, ...]], Array] = (
    WeakValueDictionary()
)


def array(op: ops.Operation, *args: Array) -> Array:
    """Return the array that an operation makes of operands: one object for equals."""
    key = (op, args)
    found = _KNOWN.get(key)
    if found is None:
        made = Array(op, args, dims_of(op, args), kind_of(op, args), weak(op, args))
        found = _KNOWN[key] = made
    return found


def variable(
    name: str,
    dims: tuple[Dim, ...],
    kind: ops.Kind = "float",
    base: str | None = None,
    boxed: bool = False,
) -> Array:
    """Return the array that a name stands for."""
    return array(ops.Variable(name, dims, kind, base, boxed))


def signed_sum(terms: Sequence[tuple[int, Array]]) -> Array:
    """Return a sum of arrays with signs; what subtracts all of its own terms is opened.

    So `a + (-b - c)` is `a - b - c`, and what is subtracted comes last.
    """
    opened: list[tuple[int, Array]] = []
    for sign, one in terms:
        if isinstance(one.op, ops.Add) and max(one.op.signs) < 0:
            opened += [(-sign, part) for part in one.args]
        else:
            opened.append((sign, one))
    signs, parts = zip(*sorted(opened, key=lambda term: term[0] < 0), strict=True)
    return array(ops.Add(signs), *parts)


def once(one: Array, find: Callable[[Array], T]) -> T:
    """What `find` tells of an array, found out the first time."""
    memo = one.memo
    if find not in memo:
        memo[find] = find(one)
    found: T = memo[find]
    return found


def below(roots: Sequence[Array]) -> Iterator[Array]:
    """Yield every array that some are made of, themselves included, once."""
    seen = dict.fromkeys(roots)
    waiting = list(reversed(seen))
    while waiting:
        one = waiting.pop()
        yield one
        if not one.args:
            continue
        fresh = [arg for arg in dict.fromkeys(one.args) if arg not in seen]
        seen.update(dict.fromkeys(fresh))
        waiting += reversed(fresh)


def replacing(known: dict[Array, Array]) -> Callable[[Array], Array]:
    """The function that has some arrays in place of others; it learns what it met."""
    return rewriting(lambda _, found: found, known)


def rewriting(
    visit: Callable[[Array, Array], Array], known: dict[Array, Array] | None = None
) -> Callable[[Array], Array]:
    """The function that has what `visit` makes of each array, and of it anew.

    That is over new operands, which come first; what is `known` is not visited.
    """
    made: dict[Array, Array] = {} if known is None else known

    def change(one: Array) -> Array:
        if one not in made:
            args = tuple(map(change, one.args))
            made[one] = visit(one, one if args == one.args else array(one.op, *args))
        return made[one]

    return change


def is_boxed(one: Array) -> bool:
    """Whether a scalar is an array without axes, as `np.where` makes it."""
    match one.op:
        case ops.Variable(boxed=boxed):
            return boxed
        case ops.Elementwise(function=name):
            return name == "where"
        case ops.AsFloat():
            return is_boxed(one.args[0])
        case _:
            return False


def base(one: Array) -> str | None:
    """The variable whose memory an array shares; "" if no variable holds it."""
    op = one.op
    if isinstance(op, ops.View):
        return _seen(op, one.args[0])
    match op:
        case ops.Variable(base=name):
            return name
        case Reshape():
            return base(one.args[0])
        case ops.Call(operator=name):
            return base(one.args[0]) if OPERATORS[name].view else None
        case _:  # what is computed has memory of its own
            return None


def _seen(op: ops.View, whole: Array) -> str | None:
    match op:
        case ops.Permute() | ops.Expand():
            return base(whole)
        case ops.Index():
            return base(whole) if op.is_basic else None
        case ops.Diagonal():
            return ""  # NumPy lets nobody write to it
        case ops.Broadcast() | ops.Windows():  # nor to what repeats entries
            return base(whole) or ""
        case _:
            assert_never(op)


def bound(name: str, value: Array) -> Array:
    """The variable that a statement makes of a value."""
    shared = base(value)
    own = name if shared is None else shared
    return variable(name, value.dims, value.kind, own, is_boxed(value))


def is_sliding(one: Array) -> bool:
    """Whether a view has more entries than it has memory, and is not to be copied."""
    op = one.op
    if not isinstance(op, ops.View):
        return False
    match op:
        case ops.Windows():
            return True
        case ops.Permute() | ops.Expand():
            return is_sliding(one.args[0])
        case ops.Index():
            return op.is_basic and is_sliding(one.args[0])
        case ops.Diagonal() | ops.Broadcast():
            return False
        case _:
            assert_never(op)
