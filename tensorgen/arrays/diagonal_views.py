"""Code that changes diagonals through views, where a library may write to these.

`H[i, i] += v` with all places `i` is a gather, a sum and a scatter; `diagonal(H) += v`
is one operation where memory is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from tensorgen.arrays.arrays import Array, array
from tensorgen.arrays.code import Code
from tensorgen.arrays.operations import Diagonal, Index, Range, Variable
from tensorgen.arrays.places import WHOLE, Entries
from tensorgen.arrays.statements import (
    Let,
    Loop,
    Release,
    Statement,
    Store,
    bindings,
    everything,
    operands,
    reads,
)
from tensorgen.ir.dims import ZERO, Dim


def through_diagonals(code: Code, kept: Collection[str] = ()) -> Code:
    """Return code in which whole diagonals are changed through views of them.

    Places that nobody else reads are not made any more; names that are `kept` are read
    by who has the code.
    """
    every = [pair for line in everything(code.statements) for pair in bindings(line)]
    bound = Counter(name for name, _ in every)
    lengths = {
        name: value.op.high
        for name, value in every
        if bound[name] == 1 and isinstance(value.op, Range) and value.op.low == ZERO
    }
    if not lengths:
        return code
    lines = _changed(code.statements, lengths)
    before, after = (_read(x, code.returns) for x in (code.statements, lines))
    return replace(code, statements=_without(lines, before - after - {*kept}))


def _changed(
    lines: Sequence[Statement], lengths: Mapping[str, Dim]
) -> tuple[Statement, ...]:
    found: list[Statement] = []
    for line in lines:
        if isinstance(line, Loop):
            line = replace(line, body=_changed(line.body, lengths))
        elif isinstance(line, Store) and _is_diagonal(line, lengths):
            order = line.target.order
            view = array(Diagonal(order - 2, order - 1), line.target)
            line = replace(
                line,
                target=view,
                at=Index((WHOLE,) * (order - 1), view.dims),
                places=(),
            )
        found.append(line)
    return tuple(found)


def _is_diagonal(store: Store, lengths: Mapping[str, Dim]) -> bool:
    """Whether a statement changes the diagonals along the last two axes, whole."""
    *others, first, last = (WHOLE, WHOLE, *store.at.parts)
    if not isinstance(first, Entries) or not isinstance(last, Entries):
        return False
    if any(part != WHOLE for part in others) or len({*store.places}) != 1:
        return False
    (place,) = {*store.places}
    length = lengths.get(place.op.name) if isinstance(place.op, Variable) else None
    sides = store.target.dims[-2:]
    return len(store.at.parts) == store.target.order and {*sides} == {length}


def _read(lines: Sequence[Statement], returns: Sequence[Array]) -> set[str]:
    """The names that are read by statements, or returned."""
    own = (line for line in everything(lines) if not isinstance(line, Loop))
    roots = [one for line in own for one in operands(line)]
    return {*reads([*roots, *returns])}


def _without(lines: Sequence[Statement], gone: set[str]) -> tuple[Statement, ...]:
    found: list[Statement] = []
    for line in lines:
        if isinstance(line, Let) and line.name in gone:
            continue
        if isinstance(line, Release):
            names = tuple(x for x in line.names if x not in gone)
            found += [Release(names)] if names else []
            continue
        if isinstance(line, Loop):
            line = replace(line, body=_without(line.body, gone))
        found.append(line)
    return tuple(found)
