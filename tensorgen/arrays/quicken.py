"""Functions of large arrays that the library is slow at, by helpers that are quick.

`np.logaddexp(0, t)` computes one number after the other, `np.exp` several at a time:
`_softplus(t)` is made of that. It has the same digits, and takes a third of the time
for a thousand numbers, a fifth for many.
"""

from __future__ import annotations

from dataclasses import replace

from tensorgen.arrays.arrays import Array, array, rewriting
from tensorgen.arrays.code import Code
from tensorgen.arrays.operations import Bundle, Elementwise
from tensorgen.arrays.speed import Speed
from tensorgen.arrays.statements import Loop, rebuilt
from tensorgen.prices.thresholds import QUICKENED

SLOW = ("softplus", "log_sigmoid")


def quickened(code: Code, speed: Speed) -> Code:
    """Return code without slow functions of what is large at the sizes of `speed`."""

    @rewriting
    def quick(one: Array, found: Array) -> Array:
        slow = isinstance(one.op, Elementwise) and one.op.function in SLOW
        if slow and speed.entries(one.dims) >= QUICKENED:
            assert isinstance(one.op, Elementwise)
            return array(Bundle((one.op.function,)), *found.args)
        return found

    lines = tuple(
        line if isinstance(line, Loop) else rebuilt(line, quick)
        for line in code.statements
    )
    return replace(code, statements=lines, returns=tuple(map(quick, code.returns)))
