"""What is made of variables alone is had once, also where several products read it.

    d_a = d[a]
    np.add.at(grad, b, u * d_a + v * d_a)

A product reads what it multiplies wherever that stands, and knows of no other; to read
a number from anywhere takes as long as several products. So it is with running sums,
and with copies that lie along their rows (`straighten.py`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace

from tensorgen.arrays.arrays import Array, below, bound, replacing
from tensorgen.arrays.code import Code
from tensorgen.arrays.memory import changing, memory
from tensorgen.arrays.operations import Accumulate, Index, Permute, Variable
from tensorgen.arrays.statements import Let, Statement, operands, rebuilt


def gathered_once(code: Code, again: Callable[[str], str]) -> Code:
    """Return code that has names for what takes long of an array and stands repeatedly:
    what index arrays read of it, and its running sums."""
    return had_once(code, again, _takes_long)


def _takes_long(one: Array) -> bool:
    return isinstance(one.op, Accumulate) or is_gathered(one)


def is_gathered(one: Array) -> bool:
    """Whether index arrays say which entries of an array these are."""
    return isinstance(one.op, Index) and not one.op.is_basic


def had_once(
    code: Code, again: Callable[[str], str], asked: Callable[[Array], bool]
) -> Code:
    """Return code that has names for what is `asked` for of variables repeatedly.

    `again` gives names. What statements change is read each time, be it the array or
    what is read, and so is what a loop binds, which no other statement reads.
    """
    lines: list[Statement] = []
    moving = changing(code.statements)
    uses = Counter[Array]()
    for line in code.statements:
        if not _starts(line, moving, asked):
            uses.update(_uses(operands(line), moving, asked))
    uses.update(_uses(code.returns, moving, asked))
    known: dict[Array, Array] = {}

    def named(arrays: tuple[Array, ...]) -> None:
        for one in _read(arrays, moving, asked):
            if uses[one] > 1 and one not in known:
                known[one] = _named(lines, one, again)

    for line in code.statements:
        if _starts(line, moving, asked):
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


def _starts(line: Statement, moving: set[str], asked: Callable[[Array], bool]) -> bool:
    """Whether a statement reads entries that others are then added to."""
    return (
        isinstance(line, Let)
        and line.name in moving
        and memory(line.value) in _read((line.value,), moving, asked)
    )


def _named(lines: list[Statement], one: Array, again: Callable[[str], str]) -> Array:
    names = [x.op.name for x in map(_whole, one.args) if isinstance(x.op, Variable)]
    turned = "t" * any(isinstance(x.op, Permute) for x in one.args)
    own = again("_".join(dict.fromkeys(names)) + turned)
    lines.append(Let(own, one))
    return bound(own, one)


def _read(
    arrays: tuple[Array, ...], moving: set[str], asked: Callable[[Array], bool]
) -> list[Array]:
    """What is asked for of variables where variables say, if none of them changes."""
    found = filter(asked, below(arrays))
    return [one for one in found if _are_steady(one.args, moving)]


def _uses(
    arrays: tuple[Array, ...], moving: set[str], asked: Callable[[Array], bool]
) -> list[Array]:
    """The same as often as they are operands, or stand by themselves."""
    args = [arg for one in below(arrays) for arg in one.args]
    found = {*_read(arrays, moving, asked)}
    return [one for one in (*arrays, *args) if one in found]


def _are_steady(arrays: tuple[Array, ...], moving: set[str]) -> bool:
    ops = [_whole(one).op for one in arrays]
    return all(isinstance(op, Variable) and op.name not in moving for op in ops)


def _whole(one: Array) -> Array:
    """The array whose axes are turned, or which is read in slices."""
    if isinstance(one.op, Permute) or (isinstance(one.op, Index) and one.op.is_basic):
        return one.args[0]
    return one
