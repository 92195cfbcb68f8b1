"""Whether code may stand for other code: what it takes, and what it holds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod

from tensorgen.arrays.arrays import Array
from tensorgen.arrays.code import Code
from tensorgen.arrays.cost_line import Amount, held
from tensorgen.arrays.speed import Speed
from tensorgen.arrays.statements import (
    Loop,
    Release,
    Return,
    Statement,
    Store,
    everything,
    operands,
)
from tensorgen.arrays.units import dims_of
from tensorgen.arrays.work import arithmetic, steps
from tensorgen.ir.dims import ONE, ZERO, Dim
from tensorgen.prices.thresholds import (
    CACHED,
    SHARE_OF_A_WHOLE,
    SHARE_OF_FREED,
    SHARE_OF_MEMORY,
    are_hinted,
    assumed,
)


@dataclass(frozen=True)
class Price:
    """What code takes: time, arithmetic, and numbers that it holds.

    What loops take is told by their arithmetic alone, which is of `loops`.
    """

    time: float
    flops: int
    loops: int
    most: int
    frees: bool
    """Whether it is written for memory."""
    is_cached: bool
    """Whether caches hold what it holds, at sizes that are hinted at."""


def price_of(code: Code, sizes: Mapping[str, int]) -> Price:
    """Return what code takes, at the sizes that are hinted at."""
    return _price_of(code.statements, code.returns, tuple(sizes.items()))


# Several ways to cut functions are compared with what these are, for each backend.
@lru_cache(maxsize=256)
def _price_of(
    statements: tuple[Statement, ...],
    returns: tuple[Array, ...],
    hints: tuple[tuple[str, int], ...],
) -> Price:
    code, sizes = Code(statements, returns), dict(hints)
    dims = dims_of(code)
    speed = Speed(assumed(sizes, [x for dim in dims for x in dim.sources]))
    once, loops = list[Statement](), list[Statement]()
    for line in (*code.statements, Return(code.returns)):
        (loops if isinstance(line, Loop) else once).append(line)
    every, again = [*made(once)], arithmetic(Code(tuple(loops), ()))
    flops = sum(map(steps, every), again + _added(once))
    most = int(Amount.of(held(code, sizes), sizes))
    return Price(
        sum(map(speed.work, every)),
        int(Amount.of(flops, sizes)),
        int(Amount.of(again, sizes)),
        most,
        any(isinstance(line, Release) for line in everything(code.statements)),
        most < CACHED and are_hinted(sizes, dims),
    )


def is_as_good(one: Price, own: Price) -> bool:
    """Whether code takes no longer than a function does alone, and holds no more."""
    share = SHARE_OF_FREED if own.frees else SHARE_OF_MEMORY
    return (
        one.time <= SHARE_OF_A_WHOLE * own.time
        and one.flops <= SHARE_OF_A_WHOLE * own.flops
        and one.loops <= SHARE_OF_A_WHOLE * own.loops
        and (one.most <= share * own.most or (own.frees and one.is_cached))
    )


def _added(lines: Sequence[Statement]) -> Dim:
    sizes = (
        prod(line.value.dims, start=ONE)
        for line in lines
        if isinstance(line, Store) and line.how != "="
    )
    return sum(sizes, ZERO)


def made(lines: Sequence[Statement]) -> Iterator[Array]:
    """Yield what statements make, an array each time that it is written there.

    What several places of one array store is made once.
    """
    last: Statement | None = None
    for line in lines:
        waiting = [*operands(line)]
        match last, line:
            case Store(how="=") as first, Store(how="=") as again:
                if (first.target, first.value) == (again.target, again.value):
                    waiting.remove(again.value)
        last = line
        while waiting:
            one = waiting.pop()
            yield one
            waiting += one.args
