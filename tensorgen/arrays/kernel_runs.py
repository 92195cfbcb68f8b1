"""Runs of statements that kernels are made of, and what the code around them does.

A run binds names to values, and stores in arrays in between, in any order that the
statements themselves have. It reads nothing that it has changed, but for rows that are
others than those that were stored; so a value may be made anywhere before it is read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence

from tensorgen.arrays.arrays import Array, array, below
from tensorgen.arrays.bundle import alone
from tensorgen.arrays.entrywise import launches
from tensorgen.arrays.fill_directly import memory_of
from tensorgen.arrays.memory import changing, is_fresh
from tensorgen.arrays.operations import Bundle, Elementwise, Index, Variable
from tensorgen.arrays.placed import handed_on, is_elsewhere, is_free, takes_memory
from tensorgen.arrays.statements import (
    Let,
    Loop,
    Return,
    Statement,
    Store,
    Unpack,
    bindings,
    changed,
    everything,
    operands,
    reads,
)


class Whole:
    """What all of some code reads and changes."""

    def __init__(
        self, lines: Sequence[Statement], results: Sequence[str], kept: Collection[str]
    ) -> None:
        self.moving = changing(lines)
        self.results = results
        self.read = Counter(x for line in _flat(lines) for x in reads(operands(line)))
        self.read.update(kept)
        self.changes = Counter(x for line in _flat(lines) for x in changed(line))
        ends = (x for line in lines if isinstance(line, Return) for x in line.values)
        self.returned = {*kept, *handed_on(ends)}


def _flat(lines: Iterable[Statement]) -> Iterator[Statement]:
    return (line for line in everything(lines) if not isinstance(line, Loop))


class Run:
    """Statements one after the other that bind names to values, or store some.

    `statements` has all of them, `values` those that have names, and `effects` what
    makes or changes arrays that some statement changes.
    """

    def __init__(self, whole: Whole) -> None:
        self.whole = whole
        self.statements: list[Statement] = []
        self.effects: list[Let | Store] = []
        self.values: dict[str, Array] = {}
        self.named: dict[Array, str] = {}
        self.memo: dict[Array, Array] = {}
        self.changed: set[str] = set()

    def takes(self, line: Statement) -> bool:
        """Whether it takes a statement in: a new value, or what changes an array."""
        if isinstance(line, Store) or (
            isinstance(line, Let) and line.name in self.whole.moving
        ):
            return self._takes_effect(line)
        if not isinstance(line, Let | Unpack):
            return False
        pairs = bindings(line)
        names = {name for name, _ in pairs}
        if names & self.whole.moving or names & self.values.keys():
            return False
        if isinstance(line, Unpack):
            pairs = tuple((name, alone(value)) for name, value in pairs)
            if not isinstance(line.value.op, Bundle) or len(line.value.args) > 1:
                return False
            if not all(isinstance(x.op, Elementwise) for _, x in pairs):
                return False
        found = [(name, self.resolved(value)) for name, value in pairs]
        if isinstance(line, Unpack) and not all(launches(x) for _, x in found):
            return False
        fresh = {x for _, x in found}
        if len(fresh) < len(found) or fresh & self.named.keys():
            return False
        self.statements.append(line)
        for name, value in found:
            self.values[name] = value
            self.named[value] = name
        return True

    def _takes_effect(self, line: Let | Store) -> bool:
        """Whether it takes in what makes an array that is changed, or changes it."""
        if isinstance(line, Let):
            if not is_fresh(line.value) or line.name in self.changed:
                return False
            self.changed.add(line.name)
        else:
            if line.how not in ("=", "+=", "-=") or not takes_memory(line):
                return False
            if not is_free(line, below([*self.values.values()])):
                return False
            self.changed |= {*changed(line)}
        self.statements.append(line)
        self.effects.append(line)
        return True

    def is_stale(self, line: Statement) -> bool:
        """Whether a statement reads what this run has changed."""
        if not self.changed:
            return False
        parts = operands(line)
        if isinstance(line, Store) and takes_memory(line):
            parts = parts[1:]
        values = [*map(self.resolved, parts)]
        stale = {x for x in below(values) if self._is_changed(x)}
        if any(x in stale for x in values):
            return True
        return any(
            not self._is_other_row(one, arg)
            for one in below(values)
            for arg in stale.intersection(one.args)
        )

    def _is_changed(self, one: Array) -> bool:
        known = isinstance(one.op, Variable)
        return known and not memory_of([one]).isdisjoint(self.changed)

    def _is_other_row(self, one: Array, whole: Array) -> bool:
        """Whether a row of an array is read that no statement of this run changes."""
        if not isinstance(one.op, Index) or one.args != (whole,):
            return False
        return all(
            isinstance(line, Store) and line.target is whole and is_elsewhere(one, line)
            for line in self.effects
            if self._touches(line, whole)
        )

    def _touches(self, line: Let | Store, whole: Array) -> bool:
        names = {line.name} if isinstance(line, Let) else memory_of([line.target])
        return not names.isdisjoint(memory_of([whole]))

    def resolved(self, one: Array) -> Array:
        """A value made of what was there before this run."""
        if one not in self.memo:
            op = one.op
            if isinstance(op, Variable) and op.name in self.values:
                return self.values[op.name]
            args = tuple(map(self.resolved, one.args))
            self.memo[one] = one if args == one.args else array(op, *args)
        return self.memo[one]
