"""What results need of code, in each of the forms that they have."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from tensorgen.arrays.code import Code
from tensorgen.arrays.operations import Variable
from tensorgen.arrays.statements import (
    Let,
    Release,
    Statement,
    Unpack,
    bindings,
    bound_names,
    everything,
)
from tensorgen.arrays.units import (
    Units,
    mentioned,
    named,
    renamed,
    symbols,
    variables_of,
)
from tensorgen.prices.thresholds import LINES_OF_A_FUNCTION

Places = Mapping[str, Sequence[Sequence[int]]]
"""The places of arrays among what is returned, of each result in each of its forms."""


@dataclass(frozen=True)
class Forms:
    """The units that each result needs in each of its forms.

    What is `freed` is given up behind its last use, wherever that is then. Shared
    levels that are shorter than a function are `joined` with the one before; what other
    results need is set `apart`. Names that are `fixed` stay as they are.
    """

    cut: Units
    whole: Code
    places: Places
    freed: frozenset[str] = frozenset()
    fixed: frozenset[str] = frozenset()
    joined: bool = False
    apart: bool = False

    @cached_property
    def needs(self) -> dict[str, list[set[int]]]:
        """The units that each form of each result needs."""
        returned = self.whole.returns
        return {
            name: [
                self.cut.closure(named([returned[k] for k in own]), self.cut.free)
                for own in each
            ]
            for name, each in self.places.items()
        }

    @cached_property
    def every(self) -> dict[str, set[int]]:
        """The units that any form of a result needs."""
        return {name: set[int]().union(*own) for name, own in self.needs.items()}

    @cached_property
    def levels(self) -> list[set[int]]:
        """What several results need, by the first of them, or by all of them."""
        every = [*self.every.values()]
        levels = self.cut.sets(every) if self.apart else self.cut.levels(every)
        for k in range(len(levels) - 1, 0, -1):
            count = len(self.cut.statements(levels[k]))
            if self.joined and levels[k - 1] and count < LINES_OF_A_FUNCTION:
                levels[k - 1 : k + 1] = [levels[k - 1] | levels[k], set()]
        return levels

    def called(self, used: Sequence[Sequence[str]]) -> list[set[int]]:
        """The levels that are not empty; what everybody needs of two is one."""
        levels = self.levels
        wanted = [set[int]().union(*(self.every[x] for x in names)) for names in used]
        if all(level & own for own in wanted for level in levels[:2]):
            levels = [set[int]().union(*levels[:2]), *levels[2:]]
        return [level for level in levels if level]

    def parts(self, names: Sequence[str], count: int, whole: bool = True) -> list[Code]:
        """The code for some results in so many forms, `whole` levels at a time."""
        found = []
        for k in range(count):
            needs, places = (
                [each[x][min(k, len(each[x]) - 1)] for x in names]
                for each in (self.needs, self.places)
            )
            own = set[int]().union(*needs)
            shared = [level for level in self.levels if not level.isdisjoint(own)]
            levels = shared if whole else [level & own for level in shared]
            lines = [line for level in levels for line in self._inside(level)]
            returns = tuple(self.whole.returns[k] for each in places for k in each)
            rest = self.cut.statements(own.difference(*shared))
            lines += self.without_freed(rest, named(returns))
            found.append(Code(tuple(lines), returns, self.whole.refusals))
        return found

    def _inside(self, level: set[int]) -> Iterator[Statement]:
        """The statements of a level, which gives up what nobody else reads."""
        lines = self.cut.statements(level)
        outputs = {*self.cut.outputs(level, self.whole)}
        yield from self.without_freed(lines, outputs)
        bound = bound_names(lines)
        inner = (x for x in bound if x not in outputs | self.freed)
        if left := tuple(dict.fromkeys(inner)):
            yield Release(left)

    def without_freed(
        self, lines: Sequence[Statement], outputs: Collection[str]
    ) -> tuple[Statement, ...]:
        """Statements that give up what is freed and is not among their outputs."""
        last: dict[str, int] = {}
        for k, line in enumerate(lines):
            last |= dict.fromkeys((x for x, _ in bindings(line)), k)
            last |= dict.fromkeys((x for x in mentioned(line) if x in last), k)
        found: list[Statement] = []
        for k, line in enumerate(lines):
            ends = (x for x in last if last[x] == k and x in self.freed)
            names = tuple(x for x in ends if x not in outputs)
            # The last statement of all ends where the function does.
            found += [line, *[Release(names)] * bool(names and k + 1 < len(lines))]
        return tuple(found)

    def rests(self, name: str, shared: set[int]) -> list[Code]:
        """What is left of each form of a result; first what all of them need."""
        left = [own - shared for own in self.needs[name]]
        common = left[0].intersection(*left)
        first = self.cut.statements(common)
        codes = []
        for own, places in zip(left, self.places[name], strict=True):
            lines = (*first, *self.cut.statements(own - common))
            returns = tuple(self.whole.returns[k] for k in places)
            lines = self.without_freed(lines, named(returns))
            codes.append(Code(lines, returns))
        return codes

    def renamed(self, code: Code) -> Code:
        """The same without numbers that set names apart from those of others."""
        given = (x for x in code.statements if isinstance(x, Let | Unpack))
        lets = bound_names(given)
        taken = {*bound_names(everything(code.statements))}
        # A part of an object has its name for itself as well.
        read = {
            op.name for one in variables_of(code) if isinstance(op := one.op, Variable)
        }
        taken |= {name.rpartition(".")[2] for name in read} | symbols(code)
        change: dict[str, str] = {}
        for name in lets:
            short, _, number = name.rpartition("_")
            is_numbered = number.isdecimal() and short in self.cut.owner
            if is_numbered and name not in self.fixed and short not in taken:
                change[name] = short
                taken.add(short)
        return renamed(code, change)
