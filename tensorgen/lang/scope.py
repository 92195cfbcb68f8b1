"""What the names of a spec stand for, and what using them entails."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from tensorgen.errors import Span
from tensorgen.ir.dims import Dim
from tensorgen.ir.nodes import Call
from tensorgen.lang.syntax import Expression
from tensorgen.operators.external_calls import External
from tensorgen.operators.functions.array import Array, SizeCheck


@dataclass(slots=True)
class Record:
    """What a text uses: names, inputs, unknowns, dims and conditions on sizes.

    Dicts without values or with places, not sets: their order reaches the output.
    """

    names: dict[str, None] = field(default_factory=dict)
    inputs: dict[str, None] = field(default_factory=dict)
    unknowns: dict[str, None] = field(default_factory=dict)
    sizes: dict[str, Span] = field(default_factory=dict)
    checks: dict[SizeCheck, None] = field(default_factory=dict)

    def merge(self, other: Record) -> None:
        """Take over what another text uses."""
        self.names.update(other.names)
        self.inputs.update(other.inputs)
        self.unknowns.update(other.unknowns)
        self.checks.update(other.checks)
        for name, span in other.sizes.items():
            self.sizes.setdefault(name, span)


@dataclass(frozen=True, slots=True)
class Macro:
    """A definition with parameters: its text is elaborated at each call."""

    name: str
    parameters: tuple[str, ...]
    body: Expression | None
    shipped: bool = False

    def __str__(self) -> str:
        return f"{self.name}({', '.join(self.parameters)})"


@dataclass(frozen=True, slots=True)
class Implicit:
    """An unknown that is a function: a call over its parameters, by their shapes.

    `each` is the call over so many rows of all of them, None where there can be none.
    """

    name: str
    parameters: tuple[tuple[str, tuple[Dim, ...]], ...]
    call: Call
    each: Callable[[Dim], Call | None]

    def __str__(self) -> str:
        return f"{self.name}({', '.join(x for x, _ in self.parameters)})"


@dataclass(frozen=True, slots=True)
class Thing:
    """What one name stands for; a `value` of None has a fault that is reported.

    A function of several `results` has no value itself.
    """

    what: str
    value: Array | None = None
    record: Record = field(default_factory=Record)
    dim: Dim | None = None
    macro: Macro | None = None
    implicit: Implicit | None = None
    external: External | None = None
    results: Mapping[str, Thing] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Names:
    """Local names before those of the file.

    What `again` has of a local name defines it where those above it are others; `all`
    are the local names, those that are defined further below too, and `texts` all that
    may read them. Those that are `returned` are results.
    """

    file: Mapping[str, Thing]
    local: dict[str, Thing] = field(default_factory=dict)
    again: dict[str, Callable[[Names], Thing]] = field(default_factory=dict)
    all: dict[str, None] = field(default_factory=dict)
    texts: tuple[Expression, ...] = ()
    returned: frozenset[str] = frozenset()

    def get(self, name: str) -> Thing | None:
        """What a name stands for, if anything."""
        return self.local.get(name) or self.file.get(name)

    def knowing(self, known: Mapping[str, Thing]) -> Names:
        """Return names among which some more are local."""
        return Names(
            self.file, {**self.local, **known}, texts=self.texts, returned=self.returned
        )

    def varied(self, name: str, value: Array) -> Names:
        """Return the names where a local one has another value, and what follows."""
        found = Names(self.file, dict(self.local), self.again)
        found.local[name] = replace(self.local[name], value=value)
        below = [*self.local][[*self.local].index(name) + 1 :]
        for other in below:
            if other in self.again and name in self.local[other].record.names:
                found.local[other] = self.again[other](found)
        return found

    def __iter__(self) -> Iterator[str]:
        yield from self.local
        yield from self.file
