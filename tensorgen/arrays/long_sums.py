"""Sums of more terms than a line holds: added up in several statements.

Laid out, such a sum takes a line a term. Two statements take two lines and as many
operations, and hold an array less.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from tensorgen.arrays.arrays import Array, array, variable
from tensorgen.arrays.code import Code
from tensorgen.arrays.operations import Add, Index
from tensorgen.arrays.places import WHOLE
from tensorgen.arrays.reading import LINE, length
from tensorgen.arrays.statements import Let, Loop, Statement, Store


def broken_sums(code: Code) -> Code:
    """Return code without sums of arrays that take more than a line."""
    return Code(_broken(code.statements), code.returns, code.refusals)


def _broken(lines: Sequence[Statement]) -> tuple[Statement, ...]:
    return tuple(found for line in lines for found in _rows(line))


def _rows(line: Statement) -> Iterator[Statement]:
    """A statement, or those that do the same in shorter lines."""
    match line:
        case Let(name, value):
            first, rest = _cut(value, LINE - len(f"{name} = "))
            if rest is None or first.dims != value.dims or first.kind != value.kind:
                yield line
                return
            yield Let(name, first)
            whole = variable(name, value.dims, base=name)
            at = Index((WHOLE,) * whole.order, whole.dims)
            yield from _rows(_added(Store(whole, at, (), "+=", rest)))
        case Store(how="+=" | "-="):
            place = array(line.at, line.target, *line.places)
            first, rest = _cut(line.value, LINE - length(place) - len(" += "))
            yield replace(line, value=first)
            if rest is not None:
                yield from _rows(_added(replace(line, value=rest)))
        case Loop():
            yield replace(line, body=_broken(line.body))
        case _:
            yield line


def _cut(value: Array, room: int) -> tuple[Array, Array | None]:
    """The terms of a sum that there is room for, two at least, and the others."""
    if not isinstance(value.op, Add) or not value.order or length(value) <= room:
        return value, None
    count = len(value.args)
    while count > 2 and length(_terms(value, 0, count)) > room:
        count -= 1
    if count == len(value.args):
        return value, None
    return _terms(value, 0, count), _terms(value, count, len(value.args))


def _terms(value: Array, start: int, stop: int) -> Array:
    """A sum of some of the terms; a single one has its sign."""
    assert isinstance(value.op, Add)
    return array(Add(value.op.signs[start:stop]), *value.args[start:stop])


def _added(line: Store) -> Store:
    """The same with a sum that begins with a plus."""
    assert isinstance(line.value.op, Add)
    signs, args = line.value.op.signs, line.value.args
    if signs[0] < 0:
        signs = tuple(-sign for sign in signs)
        line = replace(line, how="-=" if line.how == "+=" else "+=")
    return replace(line, value=array(Add(signs), *args) if len(args) > 1 else args[0])
