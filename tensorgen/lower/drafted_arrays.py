"""What naming asks of drafted arrays, which have no names yet."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction

from tensorgen.arrays.arrays import Array, array
from tensorgen.arrays.operations import Copy, Index, Leaf, Multiply, Permute, View


def is_at_hand(one: Array) -> bool:
    """Whether nothing is computed where an array stands."""
    gathers = isinstance(one.op, Index) and not one.op.is_basic
    return isinstance(one.op, Leaf | View) and not gathers


def unscaled(one: Array) -> Array | None:
    """A product without its number, or another sign."""
    op = one.op
    if not isinstance(op, Multiply) or len(one.args) < 2 or op.coefficient == 1:
        return None
    return array(replace(op, coefficient=Fraction(1)), *one.args)


def users_first(
    roots: Sequence[Array], of: Callable[[Array], Sequence[Array]]
) -> list[Array]:
    """All that arrays are made of, each after whatever is made of it."""
    order: dict[Array, None] = {}
    waiting = [(one, False) for one in reversed(roots)]
    while waiting:
        one, done = waiting.pop()
        if one in order:
            continue
        if done:
            order[one] = None
        else:
            waiting.append((one, True))
            waiting += [(arg, False) for arg in reversed(of(one))]
    return [*reversed(order)]


def inside(value: Array) -> Iterator[Array]:
    """Yield what a value is made of, from the left."""
    for one in value.args:
        yield from inside(one)
        yield one


def is_short(value: Array) -> bool:
    """Whether a value needs no name to be read: a copy, or a matrix turned."""
    match value.op:
        case Copy(scalar=False):
            return True
        case Permute(axes=axes):
            return axes == tuple(reversed(range(len(axes))))
        case _:
            return False
