"""Small arrays whose entries are numbers, as a list of these.

    y = np.zeros(2); y[0] = a; y[1] = b

is `y = np.array([a, b])`, where the numbers are short. It is how a reader writes the
gradient by a vector of parameters, or a rotation by its angles. What is added to each
entry of an array is added as a list of numbers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import product
from math import prod

from tensorgen.arrays.arrays import Array, array, variable
from tensorgen.arrays.code import Code
from tensorgen.arrays.fill_directly import is_zero, leaves, memory_of
from tensorgen.arrays.operations import Index, Leaf, Listed, Variable
from tensorgen.arrays.places import WHOLE, At, Limit
from tensorgen.arrays.reading import ROW, length
from tensorgen.arrays.statements import (
    Change,
    Let,
    Release,
    Statement,
    Store,
    bindings,
    operands,
    reads,
)

MOST_LISTED = 9
"""Numbers in a list, which a reader takes in: those of a rotation."""
LONGEST_LISTED = 74
"""Characters of one that has a line of its own, as deep as it stands there."""


def listed(code: Code, kept: Collection[str] = ()) -> Code:
    """Return code that makes small arrays of their entries at once.

    What is returned alone needs no name, but for names that are `kept`.
    """
    lines, place = [*code.statements], 0
    while place < len(lines):
        shape = _shape(lines[place])
        found = _with_list(lines, place, shape) if shape else None
        lines, place = found or lines, place + (found is None)
    if len(code.returns) == 1 and lines and isinstance(last := lines[-1], Let):
        (value,) = code.returns
        alone = isinstance(value.op, Variable) and value.op.name == last.name
        if alone and isinstance(last.value.op, Listed) and last.name not in kept:
            return replace(code, statements=tuple(lines[:-1]), returns=(last.value,))
    return replace(code, statements=tuple(lines))


def _shape(line: Statement) -> list[int]:
    """The sides of a small vector or matrix that a statement begins, if it does."""
    if not isinstance(line, Let) or line.value.kind != "float":
        return []  # entries of index arrays stay integers
    dims = line.value.dims
    shape = [int(dim.constant) for dim in dims if dim.constant is not None]
    fits = 1 <= len(shape) == len(dims) <= 2 and 1 < prod(shape) <= MOST_LISTED
    return shape if fits else []


def _with_list(
    lines: Sequence[Statement], first: int, shape: Sequence[int]
) -> list[Statement] | None:
    """The statements in which an array that one begins is a list; None if it cannot."""
    begun = lines[first]
    assert isinstance(begun, Let)
    how: Change = "=" if is_zero(begun.value) else "+="
    entries: dict[tuple[int, ...], Array] = {}
    others: list[Statement] = []
    for line in lines[first + 1 :]:
        if len(entries) == prod(shape):
            break
        if begun.name in reads(operands(line)):
            place = _place(line, begun.name, how)
            if place is None or place in entries or not isinstance(line, Store):
                return None
            entries[place] = line.value
        else:
            others.append(line)
    values = [entries.get(at) for at in product(*map(range, shape))]
    args = [one for one in values if one is not None]
    if len(args) < len(values) or not _is_brief(args, shape[1:]):
        return None
    needed = memory_of(args)
    # They are computed later now, when nothing that they read may have changed.
    before, freed = list[Statement](), list[str]()
    for line in others:
        if isinstance(line, Release):
            freed += [x for x in line.names if x in needed]
            names = tuple(x for x in line.names if x not in needed)
            before += [Release(names)] * bool(names)
        elif leaves(line, needed) and not {x for x, _ in bindings(line)} & {begun.name}:
            before.append(line)
        else:
            return None
    typed = any(one.weak or one.kind != "float" for one in args)
    value = array(Listed(begun.value.dims, typed), *args)
    made: Statement = replace(begun, value=value)
    if how == "+=":
        whole = variable(begun.name, begun.value.dims, base=begun.name)
        at = Index((WHOLE,) * whole.order, whole.dims)
        before, made = [begun, *before], Store(whole, at, (), how, value)
    after = [Release(tuple(freed))] * bool(freed)
    end = first + 1 + len(entries) + len(others)
    return [*lines[:first], *before, made, *after, *lines[end:]]


def _place(line: Statement, name: str, how: Change) -> tuple[int, ...] | None:
    """The place in an array where a statement stores a number, and reads nothing."""
    if not isinstance(line, Store) or line.how != how or line.places:
        return None
    target = line.target.op
    if not isinstance(target, Variable) or target.name != name or line.value.order:
        return None
    if name in reads([line.value]):
        return None
    found = []
    for part in line.at.parts:
        match part:
            case At(Limit(position, clipped=False)) if position.constant is not None:
                found.append(int(position.constant))
            case _:
                return None
    return tuple(found) if len(found) == line.target.order else None


def _is_brief(args: Sequence[Array], columns: Sequence[int]) -> bool:
    """Whether numbers are short, rows of them in a line, and none is computed twice."""
    twice = [one for one, count in Counter(args).items() if count > 1]
    if not all(isinstance(one.op, Leaf | Index) for one in twice):
        return False
    if not columns:
        return max(map(length, args)) <= LONGEST_LISTED
    (width,) = columns
    lines = [args[k : k + width] for k in range(0, len(args), width)]
    return all(sum(map(length, line)) + 2 * width <= ROW for line in lines)
