"""Entries that are put together only to be copied: they are stored where they go.

    total = zeros(2); total[0] = a; total[1] = b; x[t + 1] = total

is `x[t + 1, 0] = a; x[t + 1, 1] = b`, which makes no array a step; and an entry of a
row, `x[t][1]`, is `x[t, 1]`, and one of `full(n, a)` is a.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from tensorgen.arrays.arrays import Array, array, below, rewriting
from tensorgen.arrays.code import Code
from tensorgen.arrays.memory import changing
from tensorgen.arrays.operations import Copy, Fill, Index, Number, Variable
from tensorgen.arrays.places import WHOLE, At, Limit, Part, Slice
from tensorgen.arrays.statements import (
    Let,
    Loop,
    Scatter,
    Statement,
    Store,
    changed,
    operands,
    reads,
    rebuilt,
)


def filled_directly(code: Code) -> Code:
    """Return code that stores entries where they go, and reads them in one step."""
    alike = _alike(code.statements)
    change = _reader(alike)
    rows = tuple(rebuilt(line, change) for line in code.statements)
    returns = tuple(map(change, code.returns))
    read = {*reads([x for line in rows for x in operands(line)]), *reads(returns)}
    kept = [
        line
        for line in rows
        if not (isinstance(line, Let) and line.name in alike.keys() - read)
    ]
    return replace(code, statements=_filled(kept, set(reads(returns))), returns=returns)


def _alike(lines: Sequence[Statement]) -> dict[str, Array]:
    """The arrays of one number, which nothing changes, with that number."""
    moving = changing(lines)
    found = {}
    for line in lines:
        if isinstance(line, Let) and line.name not in moving:
            op = line.value.op
            if isinstance(op, Fill) and op.value is None and op.kind == "float":
                (number,) = line.value.args
                if _is_at_hand(number) and memory_of([number]).isdisjoint(moving):
                    found[line.name] = number
    return found


def _is_at_hand(number: Array) -> bool:
    """Whether it is a name, or an entry of one."""
    while isinstance(number.op, Index) and len(number.args) == 1:
        (number,) = number.args
    return isinstance(number.op, Variable)


def composed(outer: Index, inner: Index, order: int) -> Index | None:
    """Places within what is read from places of an array of some axes, as one index.

    None where entries that arrays say, or parts of parts, would have to be found.
    """
    first, second = (
        _spelt(*pair) for pair in ((inner, order), (outer, len(inner.dims)))
    )
    if first is None or second is None:
        return None
    waiting = iter(second)
    parts: list[Part] = []
    for part in first:
        if isinstance(part, At):
            parts.append(part)
            continue
        own = next(waiting)
        if part != WHOLE and own != WHOLE:
            return None
        parts.append(own if part == WHOLE else part)
    return Index(tuple(parts), outer.dims)


def _spelt(index: Index, order: int) -> tuple[Part, ...] | None:
    """The parts of an index, one for each axis, if they are numbers and slices."""
    if not all(isinstance(part, At | Slice) for part in index.parts):
        return None
    return (*index.parts, *[WHOLE] * (order - len(index.parts)))


def _reader(alike: Mapping[str, Array]) -> Callable[[Array], Array]:
    """The change that reads entries of rows at once, and numbers that are `alike`."""

    @rewriting
    def change(one: Array, new: Array) -> Array:
        if isinstance(one.op, Index) and len(new.args) == 1:
            (row,) = new.args
            if isinstance(row.op, Index) and len(row.args) == 1:
                (whole,) = row.args
                index = composed(one.op, row.op, whole.order)
                return array(index, whole) if index else new
            if isinstance(row.op, Variable) and not one.order:
                return alike.get(row.op.name, new)
        return new

    return change


def _filled(lines: Sequence[Statement], kept: set[str]) -> tuple[Statement, ...]:
    """Statements of one block, of which names in `kept` are read elsewhere."""
    uses = Counter(name for line in lines for name in {*reads(operands(line))})
    found: list[Statement] = []
    for line in lines:
        if isinstance(line, Loop):
            # A name of a block is read within it alone, or else in several lines.
            inner = {*reads(operands(line))}
            apart = {name for name in inner if uses[name] == 1}
            line = replace(line, body=_filled(line.body, kept | (set(uses) - apart)))
        found.append(line)
        if isinstance(line, Store):
            _spread(found, line, kept, uses)
    return tuple(found)


def _spread(
    found: list[Statement], last: Store, kept: set[str], uses: Counter[str]
) -> None:
    """Store the entries of an array where the last statement copies them to."""
    made, whole = last.value, last.target
    if not (isinstance(made.op, Variable) and isinstance(whole.op, Variable)):
        return
    name = made.op.name
    if last.how != "=" or last.places or name in kept or made.kind != whole.kind:
        return
    if last.at.dims != made.dims:
        return  # it is broadcast
    start = next((k for k, one in enumerate(found) if _is_begun(one, name)), None)
    if start is None:
        return
    begun, between = found[start], found[start + 1 : -1]
    entries = [one for one in between if isinstance(one, Store) and one.target is made]
    others = [one for one in between if one not in entries]
    places = [composed(one.at, last.at, whole.order) for one in entries]
    if not isinstance(begun, Let):
        return
    # All of it is computed later: nothing that it reads may have changed by then.
    needed = memory_of([begun.value, *(one.value for one in entries)])
    if (
        uses[name] != len(entries) + 1
        or not all(leaves(one, needed) for one in others)
        or any(one.places or one.how in ("out=", "is") for one in entries)
        or not all(_is_apart(one.value, whole, last.at) for one in entries)
        or None in places
    ):
        return
    filled: list[Statement] = [
        replace(one, target=whole, at=at)
        for one, at in zip(entries, places, strict=True)
        if at is not None
    ]
    before = found[:start] + [one for one in between if one not in entries]
    if not _is_full(entries, made) and not (
        is_zero(begun.value) and _is_new(before, whole)
    ):
        value = begun.value
        if isinstance(value.op, Copy):
            (value,) = value.args
        elif is_zero(value):
            value = array(Number(Fraction(0)))
        if not _is_apart(value, whole, last.at):
            return
        filled.insert(0, replace(last, value=value))
    found[:] = before + filled


def _is_begun(line: Statement, name: str) -> bool:
    """Whether a statement makes an array of zeros, or a copy, of a name."""
    if not isinstance(line, Let) or line.name != name:
        return False
    return isinstance(line.value.op, Copy) or is_zero(line.value)


def leaves(line: Statement, names: Collection[str]) -> bool:
    """Whether a statement binds a name, or changes nothing of the memory of some."""
    if isinstance(line, Store | Scatter):
        return memory_of([line.target]).isdisjoint(names)
    return isinstance(line, Let)


def memory_of(arrays: Sequence[Array]) -> set[str]:
    """The variables that arrays read, and those whose memory these share."""
    found = [one.op for one in below(arrays) if isinstance(one.op, Variable)]
    return {name for op in found for name in (op.name, op.base) if name}


def is_zero(value: Array) -> bool:
    """Whether an array is made of zeros."""
    return isinstance(value.op, Fill) and value.op.value == 0


def _is_new(lines: Sequence[Statement], whole: Array) -> bool:
    """Whether an array was made of zeros, and nothing has been stored in it."""
    assert isinstance(whole.op, Variable)
    name = whole.op.name
    for k, line in enumerate(lines):
        if isinstance(line, Let) and line.name == name:
            rest = lines[k + 1 :]
            return is_zero(line.value) and not any(name in changed(x) for x in rest)
    return False


def _is_full(entries: Sequence[Store], made: Array) -> bool:
    if made.order != 1 or made.dims[0].constant is None:
        return False
    stored = set[int | None]()
    for one in entries:
        match one:
            case Store(at=Index(parts=(At(Limit(k, clipped=False)),)), how="="):
                stored.add(k.constant)
    return stored == set(range(int(made.dims[0].constant)))


def _is_apart(value: Array, whole: Array, at: Index) -> bool:
    """Whether a value reads nothing of an array there, but at other places perhaps."""
    assert isinstance(whole.op, Variable)
    read = [one for one in below([value]) if whole in one.args]
    others = [
        x for x in below([value]) if isinstance(x.op, Variable) and x is not whole
    ]
    if not all(memory_of([x]).isdisjoint(memory_of([whole])) for x in others):
        return False  # a view of it
    return value is not whole and all(differs(one.op, at) for one in read)


def differs(op: object, at: Index) -> bool:
    """Whether what is read stands elsewhere than what is stored."""
    if not (isinstance(op, Index) and op.parts and at.parts):
        return False
    one, other = op.parts[0], at.parts[0]
    if not (isinstance(one, At) and isinstance(other, At)):
        return False
    between = (one.limit.position - other.limit.position).constant
    return bool(between)
