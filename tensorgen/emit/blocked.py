"""What a class over blocks of rows is made of: pieces, and who tells sizes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tensorgen.calculus.kinds import GRADIENT, VALUE
from tensorgen.emit.interface import Parameter

VALUE_AND_GRADIENT = f"{VALUE.name}_and_{GRADIENT.name}"
BY_PASSES = "_HessianByPasses"
"""The class of a Hessian parts of which stay with their rows: it is multiplied by."""
BY_ROWS = "_HessianByRows"
"""That of one whose rows nothing couples but what they share: they are eliminated."""


@dataclass(frozen=True, slots=True)
class Pieces:
    """The functions that compute one: of each round a start, if any, and a partial.

    Of the results, which have names as `fields`, those `along` rows have an axis there.
    What stays with rows is given by a function `rows` in the last round, or in one of
    its own if it `waits` for the totals of that.
    """

    rounds: tuple[tuple[str | None, str], ...]
    finish: str | None
    rows: str | None = None
    waits: bool = False
    fields: tuple[str, ...] = ()
    along: Mapping[str, tuple[str, int]] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """Them as a pair of Python: the rounds and the finish."""
        rounds = [(start, part) for start, part in self.rounds]
        if self.rows is not None and (self.waits or not rounds):
            rounds.append((None, f"_WithRows(None, {self.rows})"))
        elif self.rows is not None:
            start, part = rounds[-1]
            rounds[-1] = start, f"_WithRows({part}, {self.rows})"
        pairs = ", ".join(f"({start}, {part})" for start, part in rounds)
        return f"([{pairs}], {self.finish})"


Told = Mapping[str, tuple[str, int | None]]
"""Sizes, by the array and the axis that tells each; none is given by itself."""


@dataclass(frozen=True, slots=True)
class BlockedFunction:
    """A function of the module whose rows come in blocks, of a vector of `variables`.

    `methods` are in pieces, by the names of kinds. Of the data some are `blocked`, and
    others `known` to all blocks. `lengths` are the sizes that each block is asked for,
    and `counts` the arguments that are such sizes of all rows; `sides` are other sizes,
    `own_sides` those that are a block's own; `first` is what the number of a block's
    first row is called. Of the inputs in the vector, and directions in these, `shards`
    have an axis of rows of a size. A Hessian is of the type `hessian`. What random
    blocks give is `biased` for a reason, if for any.
    """

    function: str
    variables: tuple[Parameter, ...]
    methods: Mapping[str, Pieces]
    blocked: tuple[Parameter, ...]
    known: tuple[Parameter, ...]
    lengths: Told
    counts: Mapping[str, str]
    first: str = ""
    hessian: str = ""
    biased: str = ""
    sides: Told = field(default_factory=dict)
    own_sides: Told = field(default_factory=dict)
    shards: Mapping[str, tuple[str, int]] = field(default_factory=dict)
