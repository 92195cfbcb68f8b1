"""Places in arrays, axis by axis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from tensorgen.ir.dims import Dim


@dataclass(frozen=True, slots=True)
class Limit:
    """A position, made to be at least 0 if it is `clipped`, and at most `most`."""

    position: Dim
    clipped: bool = False
    most: Dim | None = None


@dataclass(frozen=True, slots=True)
class Slice:
    """Positions from a first one up to, not including, another.

    A variable may hold all of them, as a `slice` of the name `held`.
    """

    start: Limit | None = None
    stop: Limit | None = None
    step: int = 1
    held: str | None = None


@dataclass(frozen=True, slots=True)
class At:
    """One position, whose axis vanishes."""

    limit: Limit


@dataclass(frozen=True, slots=True)
class Entries:
    """The positions that the next operand holds; those of several broadcast."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A new axis (`None`), or all axes not spoken of (`...`)."""

    text: Literal["None", "..."]


Part = Slice | At | Entries | Mark
WHOLE = Slice()


def expanded(
    parts: Sequence[Part], texts: Sequence[str], order: int, old: Sequence[bool]
) -> list[str]:
    """Return what stands in brackets for slices and positions, with new axes.

    The array that they make is of an `order`, and the `old` ones are its axes.
    """
    axes: list[list[str]] = [[]]
    for part, text in zip(parts, texts, strict=True):
        axes[-1].append(text)
        if isinstance(part, Slice):
            axes.append([])
    *axes, last = axes
    while len(axes) < order:
        axes.append([*last, ":"])
        last = []
    axes[-1] += last
    waiting = iter(axes)
    return [text for kept in old for text in (next(waiting) if kept else ["None"])]
