"""Masks that stand in several statements are made once.

The graph shares nodes; what lowering itself adds to statements, `np.where(mask, x, 0)`
around an operand and the triangle that is the mask, it shares only here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tensorgen.arrays.arrays import Array, replacing, variable
from tensorgen.arrays.operations import Elementwise, Triangle, Trim
from tensorgen.arrays.reading import length
from tensorgen.arrays.statements import (
    Let,
    Statement,
    changed,
    operands,
    reads,
    rebuilt,
)
from tensorgen.lower.names import Names


def share_calls(
    statements: Sequence[Statement], returns: Sequence[Array], names: Names
) -> tuple[list[Statement], list[Array]]:
    """Return statements and expressions in which no mask is made twice.

    Ends: each round leaves fewer.
    """
    lines, found = list(statements), list(returns)
    while (repeat := _repeated(lines, found)) is not None:
        first = repeat.places[0]
        name = repeat.name
        if name is None:
            name = names.pick([_word(repeat.mask) or ""])
            lines.insert(min(first, len(lines)), Let(name, repeat.mask))
            first = min(first, len(lines) - 1)
        mask = repeat.mask
        own = variable(name, mask.dims, mask.kind, name)
        # What is a whole array keeps memory of its own.
        change = replacing({mask: own})
        for k in range(first + 1, len(lines)):
            if not _is_just(lines[k], mask):
                lines[k] = rebuilt(lines[k], change)
        found = [one if one is mask else change(one) for one in found]
    return lines, found


@dataclass(frozen=True)
class Repeat:
    """A mask, its name if a statement is just that, and the places where it stands."""

    mask: Array
    name: str | None
    places: list[int]


def _word(one: Array) -> str | None:
    """What a mask or what it has been applied to is called; None for all others."""
    match one.op:
        case Elementwise(function="where"):
            return "masked"
        case Trim(lower=lower):
            return "lower" if lower else "upper"
        case Triangle():
            return "mask"
        case _:
            return None


def _repeated(lines: Sequence[Statement], returns: Sequence[Array]) -> Repeat | None:
    """The longest mask that may be made once for several statements."""
    uses: dict[Array, list[int]] = {}
    for place, roots in enumerate([*map(operands, lines), *((x,) for x in returns)]):
        for mask in _masks(roots):
            places = uses.setdefault(mask, [])
            # A whole array is changed or returned by its own name.
            line = lines[place] if place < len(lines) else None
            mine = mask is roots[0] if line is None else _is_just(line, mask)
            if not mine or (line is not None and not places):
                places.append(place)
    found = [
        Repeat(mask, _name(lines, mask, places), places)
        for mask, places in uses.items()
        if _is_shared(lines, mask, places)
    ]
    return max(found, key=lambda r: (length(r.mask), -r.places[0]), default=None)


def _masks(roots: Sequence[Array]) -> Iterator[Array]:
    """Yield the masks below some arrays, as often as their text has them."""
    for one in roots:
        if _word(one):
            yield one
        if _has_mask(one):
            yield from _masks(one.args)


def _has_mask(one: Array) -> bool:
    found = one.memo.get(_has_mask)
    if not isinstance(found, bool):
        found = any(_word(arg) or _has_mask(arg) for arg in one.args)
        one.memo[_has_mask] = found
    return found


def _is_just(line: Statement, mask: Array) -> bool:
    """Whether a statement binds a name to just this value."""
    return isinstance(line, Let) and line.value is mask


def _name(lines: Sequence[Statement], mask: Array, places: Sequence[int]) -> str | None:
    """The name to which the first statement with a mask binds just this value."""
    line = lines[places[0]] if places[0] < len(lines) else None
    return line.name if isinstance(line, Let) and line.value is mask else None


def _is_shared(lines: Sequence[Statement], mask: Array, places: Sequence[int]) -> bool:
    """Whether a mask stands in several places and is one value in all of them."""
    if len(places) < 2:
        return False
    first, last = places[0], places[-1]
    names = set(reads([mask]))
    if any(changed(line) in names for line in lines[first:last]):
        return False
    own = _name(lines, mask, places)
    return own is None or all(changed(line) != own for line in lines)
