"""When memory is started and last asked for: the order of statements, and releases."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import heappop, heappush
from operator import gt, le

from tensorgen.arrays.code import Code
from tensorgen.arrays.memory import Held
from tensorgen.arrays.needs import Needs
from tensorgen.arrays.reading import LINE
from tensorgen.arrays.statements import (
    Loop,
    Release,
    Return,
    Statement,
    Store,
    bindings,
    bound_names,
    changed,
    everything,
    operands,
    reads,
)
from tensorgen.ir.dims import Dim
from tensorgen.passes.order.networks import set_of
from tensorgen.prices.limits import SETS_ORDERED
from tensorgen.prices.thresholds import PART_OF_A_PEAK

Valued = Callable[[Dim], int]


@dataclass(frozen=True, slots=True)
class Step:
    """A statement, by the memory that it needs and the names of memory it touches.

    During it `inside` numbers are held beside what has names; it starts `made` ones
    under the names that it `binds`. What it `changes` it only adds to, if it `adds`.
    """

    line: Statement
    inside: int
    made: int
    binds: frozenset[str]
    reads: frozenset[str]
    touches: frozenset[str]
    changes: frozenset[str]
    adds: bool

    @property
    def memory(self) -> tuple[str, ...]:
        """The memory that the step starts or touches."""
        return (*self.touches, *self.binds)

    def precedes(self, other: Step) -> bool:
        """Whether a later step has to stay behind this one."""
        if self.binds & other.reads:
            return True
        if self.adds and other.adds and self.changes == other.changes:
            return False
        return bool(self.changes & other.touches or other.changes & self.touches)


class Lifetimes:
    """The steps of code for given sizes, and the memory they hold in some order."""

    def __init__(self, code: Code, value: Valued) -> None:
        """Look up who shares whose memory."""
        self.owner: dict[str, str] = {}
        self.sizes: dict[str, int] = {}
        lines = [*code.statements, Return(code.returns)]
        self.steps = [self._step(line, value) for line in lines]

    def _step(self, line: Statement, value: Valued) -> Step:
        """Look up a statement; what is bound inside of another one is held for good."""
        held = Held()
        held.run([line], value)
        for name, shown in held.owner.items():
            self.owner[name] = self.owner.get(shown, shown)
        if bindings(line):
            self.sizes.update(held.sizes)
        # Sizes are numbers that have names, too: those of blocks are computed.
        names = frozenset(reads(operands(line))) | Needs([line]).symbols.keys()
        return Step(
            line,
            held.most,
            held.now,
            frozenset(held.owner),
            names,
            self._owners(names),
            self._owners(changed(line)),
            isinstance(line, Store) and self._adds(line),
        )

    def _owners(self, names: Iterable[str]) -> frozenset[str]:
        """The names of the memory that names stand for."""
        return frozenset(self.owner.get(name, name) for name in names)

    def _adds(self, line: Store) -> bool:
        """Whether it adds what does not depend on what it is added to."""
        own = self._owners(reads([line.target]))
        used = self._owners(reads([*line.places, line.value]))
        return own.isdisjoint(used) and line.how in ("+=", "-=")

    def profile(self, until: Mapping[str, int]) -> list[int]:
        """The numbers held during each step.

        Memory is released behind the steps `until`; what is not there is kept.
        """
        gone: dict[int, int] = {}
        for name, place in until.items():
            gone[place] = gone.get(place, 0) + self.sizes[name]
        held, found = 0, []
        for place, step in enumerate(self.steps):
            found.append(held + step.inside)
            held += step.made - gone.get(place, 0)
        return found

    def below(self) -> list[set[int]]:
        """The steps that have to be done before each."""
        found: list[set[int]] = []
        for k, step in enumerate(self.steps):
            first = [j for j in range(k) if self.steps[j].precedes(step)]
            found.append(set(first).union(*(found[j] for j in first)))
        return found

    def last(self) -> dict[str, int]:
        """The last step that touches each memory that the code itself has started."""
        return {
            name: place
            for place, step in enumerate(self.steps)
            for name in step.memory
            if name in self.sizes
        }


def ordered(code: Code, value: Valued) -> Code:
    """Return code whose steps that handle large arrays stand where they need least.

    All others stay before what they stood before. The search is for the least peak at
    some sizes, over sets of steps that are done; the code stays as it is if they are
    too many.
    """
    life = Lifetimes(code, value)
    found = _Orders(life).best()
    if found is None:
        return code
    lines = tuple(life.steps[k].line for k in _completed(life, found))
    return Code(lines[:-1], code.returns, code.refusals)


class _Orders:
    """The orders of the steps of code that handle large memory."""

    def __init__(self, life: Lifetimes) -> None:
        """Find these steps, and which of them has to wait for which."""
        least = max(life.profile(life.last())) / PART_OF_A_PEAK
        self.sizes = {name: n for name, n in life.sizes.items() if n > least}
        steps = life.steps
        self.steps = {
            k: step
            for k, step in enumerate(steps)
            if step.inside > least or not self.sizes.keys().isdisjoint(step.memory)
        }
        self.steps[len(steps) - 1] = steps[-1]
        # What a step needs beside what is held.
        self.most = {k: max(step.inside, step.made) for k, step in self.steps.items()}
        below = life.below()
        self.below = {k: set_of(below[k] & self.steps.keys()) for k in self.steps}
        self.above = {
            k: [j for j, first in self.below.items() if first >> k & 1]
            for k in self.steps
        }
        users = {
            name: set_of(k for k, step in self.steps.items() if name in step.memory)
            for name in self.sizes
        }
        self.memory = {
            k: [(users[x], self.sizes[x]) for x in {*step.memory} & users.keys()]
            for k, step in self.steps.items()
        }

    def gained(self, done: int, k: int) -> int:
        """What is held after a step that was not before, less what is no longer."""
        after = done | 1 << k
        return sum(
            size * (_is_held(users, after) - _is_held(users, done))
            for users, size in self.memory[k]
        )

    def best(self) -> tuple[int, ...] | None:
        """The first of the orders with the least peak; None if there are too many."""
        waiting: list[tuple[int, tuple[int, ...]]] = [(0, ())]
        seen, begun = set[int](), set[int]()
        while waiting and len(seen) < SETS_ORDERED:
            peak, order = heappop(waiting)
            if (first := set_of(order)) in begun:
                continue
            begun.add(first)
            order, held = self.freed(order, peak)
            if len(order) == len(self.steps):
                return order
            if (done := set_of(order)) in seen:
                continue
            seen.add(done)
            for k in self.ready(done):
                heappush(waiting, (max(peak, held + self.most[k]), (*order, k)))
        return None

    def ready(self, done: int) -> list[int]:
        """The steps that may be done next."""
        return [
            k
            for k, below in self.below.items()
            if not done >> k & 1 and not below & ~done
        ]

    def freed(self, order: tuple[int, ...], peak: int) -> tuple[tuple[int, ...], int]:
        """An order, and all that can be done at its peak so that no more is held.

        What is held then comes second.
        """
        done = held = 0
        for k in order:
            held += self.gained(done, k)
            done |= 1 << k
        while more := self._free(done, held, peak):
            for k in more:
                held += self.gained(done, k)
                done |= 1 << k
            order += more
        return order, held

    def _free(self, done: int, held: int, peak: int) -> tuple[int, ...]:
        """A step, or what it makes and a step that uses it up, if that is free."""
        for k in self.ready(done):
            if held + self.most[k] > peak:
                continue
            gained, after = self.gained(done, k), done | 1 << k
            if gained <= 0:
                return (k,)
            for j in self.above[k]:
                fits = held + gained + self.most[j] <= peak
                if self.below[j] & ~after or not fits:
                    continue
                if gained + self.gained(after, j) <= 0:
                    return (k, j)
        return ()


def _is_held(users: int, done: int) -> bool:
    """Whether memory is held behind the steps `done`: begun, and still asked for."""
    return users & done != 0 and users & ~done != 0


def _completed(life: Lifetimes, order: Sequence[int]) -> list[int]:
    """An order of some steps with all others, before what they stood before."""
    below = life.below()
    found: dict[int, None] = {}
    for k in order:
        for j in range(k):
            if j not in order and below[j] <= found.keys():
                found[j] = None
        found.update(dict.fromkeys(sorted(below[k])))
        found[k] = None
    return list(found)


def released(code: Code, values: Sequence[Valued]) -> Code:
    """Return code that gives up what is dead, where that lowers its peak.

    It does so where it cannot wait: in as few lines as there may be.
    """
    lives = [Lifetimes(code, value) for value in values]
    life, last = lives[0], lives[0].last()
    most = [top + top // PART_OF_A_PEAK for top in _peaks(lives, last)]
    until: dict[str, int] = {}
    for k in range(1, len(life.steps)):
        if any(map(gt, (own.profile(until)[k] for own in lives), most)):
            dead = (name for name, place in last.items() if place < k)
            until.update({name: k - 1 for name in dead if name not in until})
    for name in sorted(until, key=life.sizes.__getitem__):
        without = {x: place for x, place in until.items() if x != name}
        if all(map(le, _peaks(lives, without), most)):
            until = without
    lines: list[Statement] = []
    given = {x for x, own in life.owner.items() if own in until}
    inner = {x for line in code.statements for x in _bound_inside(line)}
    for place, line in enumerate(code.statements):
        lines.append(_ended(line, given))
        names = [x for x, own in life.owner.items() if until.get(own) == place]
        lines += map(Release, _rows([x for x in names if x not in inner]))
    return Code(tuple(lines), code.returns, code.refusals)


def _bound_inside(line: Statement) -> set[str]:
    """What a loop binds, if it turns at all."""
    inside = everything(line.body) if isinstance(line, Loop) else ()
    return {*bound_names(inside)}


def _ended(line: Statement, given: Collection[str]) -> Statement:
    """A loop whose steps give up what they bind: behind it, there may be none of it."""
    if not isinstance(line, Loop):
        return line
    names = [x for one in line.body for x, _ in bindings(one) if x in given]
    body = [_ended(one, given) for one in line.body]
    return replace(line, body=(*body, *map(Release, _rows(names))))


def _peaks(lives: Sequence[Lifetimes], until: Mapping[str, int]) -> list[int]:
    return [max(life.profile(until)) for life in lives]


def _rows(names: Sequence[str]) -> list[tuple[str, ...]]:
    """Names by the lines that they fill."""
    rows: list[tuple[str, ...]] = []
    for name in names:
        if rows and len(", ".join(["del " + rows[-1][0], *rows[-1][1:], name])) <= LINE:
            rows[-1] += (name,)
        else:
            rows.append((name,))
    return rows
