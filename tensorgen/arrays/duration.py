"""How long code takes, calls from Python included: of small arrays they are most of it.

Loops are as long as their steps, private functions as long as what they do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tensorgen.arrays.arrays import Array
from tensorgen.arrays.as_good import made
from tensorgen.arrays.code import Code, code_of
from tensorgen.arrays.object_operations import Called, Member
from tensorgen.arrays.operations import Add, Index, Leaf, Multiply, View
from tensorgen.arrays.speed import Speed
from tensorgen.arrays.statements import Loop, Return, Scatter, Statement, Store
from tensorgen.arrays.units import dims_of
from tensorgen.prices.price_table import CALL, ENTRY, GLANCE, SCATTERED, STORED
from tensorgen.prices.thresholds import assumed


def duration(code: Code, sizes: Mapping[str, int]) -> float:
    """Return the time that code takes, at the sizes that are hinted at."""
    known = {**assumed(sizes, [x for dim in dims_of(code) for x in dim.sources])}
    return _of([*code.statements, Return(code.returns)], known)


def _of(lines: Sequence[Statement], sizes: Mapping[str, int]) -> float:
    speed = Speed(sizes)
    loops = [line for line in lines if isinstance(line, Loop)]
    once = [line for line in lines if not isinstance(line, Loop)]
    stored = [
        _stored(line, speed) for line in once if isinstance(line, Store | Scatter)
    ]
    repeated = [_repeated(loop, sizes) for loop in loops]
    return sum([*(_made(one, speed) for one in made(once)), *stored, *repeated])


def _repeated(loop: Loop, sizes: Mapping[str, int]) -> float:
    low, high, step = (x.value(sizes) for x in (loop.low, loop.high, loop.step))
    inside = {**sizes, loop.name: high - 1}
    if loop.width is not None:
        inside[loop.width] = loop.widest.value(sizes)
    return max(high - low, 0) / step * _of(loop.body, inside)


def _stored(line: Store | Scatter, speed: Speed) -> float:
    """To write entries: where they are added, these are read and added before."""
    dims, price = line.value.dims, speed.price
    adds = isinstance(line, Scatter) or line.how != "="
    each = price(SCATTERED if isinstance(line, Scatter) else ENTRY)
    each += price(STORED) * speed.is_large(dims)
    return price(CALL if adds else GLANCE) + each * speed.entries(dims)


def _made(one: Array, speed: Speed) -> float:
    """The time of an operation, operands given."""
    op = one.op
    if isinstance(op, Leaf | Member):
        return 0.0
    if isinstance(op, Called):
        return speed.price(GLANCE) + duration(code_of(op), speed.sizes)
    is_view = isinstance(op, View) and (not isinstance(op, Index) or op.is_basic)
    call = GLANCE if is_view or not one.dims else CALL
    times = max(len(one.args) - 1, 1) if isinstance(op, Add | Multiply) else 1
    return speed.price(call) * times + speed.work(one) + speed.memory(one)
