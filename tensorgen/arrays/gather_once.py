"""Entries that index arrays say are read once, also where several products read them.

    d_a = d[a]
    np.add.at(grad, b, u * d_a + v * d_a)

A product reads what it multiplies wherever that stands, and knows of no other; to read
a number from anywhere takes as long as several products.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace

from tensorgen.arrays.arrays import Array, below, bound, replacing
from tensorgen.arrays.code import Code
from tensorgen.arrays.memory import changing, memory
from tensorgen.arrays.operations import Index, Variable
from tensorgen.arrays.statements import (
    Let,
    Statement,
    operands,
    rebuilt,
)


def gathered_once(code: Code, again: Callable[[str], str]) -> Code:
    """Return code that has names for what index arrays read of an array repeatedly.

    `again` gives names. What statements change is read each time, be it the array or
    what is read, and so is what a loop binds, which no other statement reads.
    """
    lines: list[Statement] = []
    moving = changing(code.statements)
    uses = Counter[Array]()
    for line in code.statements:
        if not _starts(line, moving):
            uses.update(_uses(operands(line), moving))
    uses.update(_uses(code.returns, moving))
    known: dict[Array, Array] = {}

    def named(arrays: tuple[Array, ...]) -> None:
        for one in _read(arrays, moving):
            if uses[one] > 1 and one not in known:
                known[one] = _named(lines, one, again)

    for line in code.statements:
        if _starts(line, moving):
            lines.append(line)
            continue
        if isinstance(line, Let) and uses[line.value] > 1:
            known.setdefault(line.value, bound(line.name, line.value))
            lines.append(line)
            continue
        named(operands(line))
        lines.append(rebuilt(line, replacing(dict(known))))
    named(code.returns)
    return replace(
        code,
        statements=tuple(lines),
        returns=tuple(map(replacing(dict(known)), code.returns)),
    )


def _starts(line: Statement, moving: set[str]) -> bool:
    """Whether a statement reads entries that others are then added to."""
    return (
        isinstance(line, Let)
        and line.name in moving
        and memory(line.value) in _read((line.value,), moving)
    )


def _named(lines: list[Statement], one: Array, again: Callable[[str], str]) -> Array:
    names = [x.op.name for x in one.args if isinstance(x.op, Variable)]
    own = again("_".join(dict.fromkeys(names)))
    lines.append(Let(own, one))
    return bound(own, one)


def _read(arrays: tuple[Array, ...], moving: set[str]) -> list[Array]:
    """What is read of variables where variables say, if none of them changes."""
    found = [
        one
        for one in below(arrays)
        if isinstance(one.op, Index) and not one.op.is_basic
    ]
    return [one for one in found if _are_steady(one.args, moving)]


def _uses(arrays: tuple[Array, ...], moving: set[str]) -> list[Array]:
    """The same as often as they are operands, or stand by themselves."""
    args = [arg for one in below(arrays) for arg in one.args]
    found = {*_read(arrays, moving)}
    return [one for one in (*arrays, *args) if one in found]


def _are_steady(arrays: tuple[Array, ...], moving: set[str]) -> bool:
    ops = [one.op for one in arrays]
    return all(isinstance(op, Variable) and op.name not in moving for op in ops)
