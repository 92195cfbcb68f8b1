"""Code that holds less: sums in place, what is large late and only while it is asked.

Memory is what `memory.peak` says. A change is made where it lowers the peak of the
whole function by a quarter at the usual size, so that functions without large arrays
that nobody asks for any more stay as plain as they are. Where all sizes are hinted at,
and caches hold less than it takes then, it is looked at for these alone.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cache
from operator import ge, le

from tensorgen.arrays.arrays import Array, below
from tensorgen.arrays.code import Code
from tensorgen.arrays.in_place import in_place
from tensorgen.arrays.lifetimes import Valued, ordered, released
from tensorgen.arrays.memory import longest, peak, places, where
from tensorgen.arrays.object_operations import Rows
from tensorgen.arrays.operations import Variable
from tensorgen.arrays.overwrite import overwritten
from tensorgen.arrays.rematerialise import made_again, used_up
from tensorgen.arrays.statements import Let, Loop, Statement, everything, operands
from tensorgen.arrays.units import dims_of
from tensorgen.arrays.work import entries
from tensorgen.ir.dims import count
from tensorgen.prices.limits import STATEMENTS_ORDERED
from tensorgen.prices.thresholds import (
    CACHED,
    ELIDED,
    FEW,
    MANY,
    ORDINARY,
    ORDINARY_IF_LARGE,
    PART_OF_A_PEAK,
    SHARE_OF_A_PEAK,
    USUAL,
)


def frugal(
    code: Code,
    pick: Callable[[int], str],
    again: Callable[[str], str],
    kept: Collection[str] = (),
    sizes: Mapping[str, int] | None = None,
) -> Code:
    """Return code with the same results, and with less memory where it takes much.

    `pick` gives a name to a result, `again` another one for what a name stands for.
    Names among `kept` stay. `sizes` are those that are hinted at.
    """
    if len(code.statements) > STATEMENTS_ORDERED:
        return code
    values, least = _samples(code), ORDINARY
    known = _known(code, sizes or {})
    if known is not None:
        code = _overwritten(code, known)
    if known is not None and peak(code, known) >= CACHED:
        values, least = [known], ORDINARY_IF_LARGE
    peaks, largest = list[int](), list[int]()
    for value in values:  # most functions are ordinary at the first sizes
        peaks.append(peak(code, value))
        largest.append(_largest(code, value))
        if peaks[-1] < least * largest[-1]:
            return code

    def is_large(one: Array) -> bool:
        sizes = [PART_OF_A_PEAK * value(count(one.dims)) for value in values]
        return all(map(ge, sizes, largest))

    result = cache(pick)

    def added_up(one: Code) -> Code:
        return in_place(one, is_large, result, kept)

    def made_late(one: Code) -> Code:
        anew = made_again(one, is_large, again, kept)
        return used_up(added_up(anew), is_large, kept)

    best = code
    for way in (None, added_up, made_late):
        found = released(ordered(way(code), values[0]) if way else code, values)
        needed = [peak(found, value) for value in values]
        if _pays(peaks, needed):
            best, peaks = found, needed
    return best


def freed(code: Code) -> Code:
    """Return code that gives up what is dead, where that lowers its peak."""
    return released(code, _samples(code))


def _overwritten(code: Code, value: Valued) -> Code:
    """Functions of arrays in place, where these have many pages at known sizes."""
    found = overwritten(code, lambda one: value(count(one.dims)) >= ELIDED)
    return found if peak(found, value) <= peak(code, value) else code


def _largest(code: Code, value: Valued) -> int:
    """The size of the largest array, or of all that is given and returned."""
    roots = [one for line in code.statements for one in operands(line)]
    bound = {x.name for x in everything(code.statements) if isinstance(x, Let)}
    parts = [*below([*roots, *code.returns])]
    given = {
        one.op.name: value(count(one.dims))
        for one in parts
        if isinstance(one.op, Variable) and one.op.name not in bound
    }
    outside = [*given.values(), *(value(count(one.dims)) for one in code.returns)]
    made = [value(entries(one)) for one in below(code.returns)]
    return max([sum(outside), *made, *_made(code.statements, value)])


def _made(lines: Sequence[Statement], value: Valued) -> Iterator[int]:
    """The sizes of all that statements make, in loops of one step."""
    for line in lines:
        match line:
            case Let(name=name, value=Array(op=Rows() as rows)):
                value = where({name: places(rows, value)}, value)
            case Loop(body=body):
                yield from _made(body, longest(line, value))
            case _:
                yield from (value(entries(one)) for one in below(operands(line)))


def _pays(old: list[int], new: list[int]) -> bool:
    """Whether less is held at every size, and a quarter less at the usual one."""
    return new[0] < SHARE_OF_A_PEAK * old[0] and all(map(le, new, old))


def _known(code: Code, sizes: Mapping[str, int]) -> Valued | None:
    """What all sizes are, where these are known; those of blocks follow from others."""
    own = {**sizes}
    for line in everything(code.statements):
        match line:
            case Let(name=name, value=Array(op=Rows() as rows)):
                if not own.keys() >= {*rows.width.sources}:
                    return None
                own[name] = places(rows, _valued(own)).value({})
            case Loop(name=name, width=width, blocks=blocks):
                if blocks is not None:
                    own |= dict.fromkeys(line.step.symbols, USUAL)
                own |= {name: 0, str(width): USUAL}  # told when the loop is looked at
    symbols = {x for dim in dims_of(code) for x in dim.sources}
    return _valued(own) if symbols <= own.keys() else None


def _samples(code: Code) -> list[Valued]:
    """Ways to give each dim a size."""
    symbols = dict.fromkeys(symbol for dim in dims_of(code) for symbol in dim.sources)
    usual = dict.fromkeys(symbols, USUAL)
    changed = [{**usual, symbol: size} for symbol in symbols for size in (FEW, MANY)]
    return [_valued(sizes) for sizes in (usual, *changed)]


def _valued(sizes: dict[str, int]) -> Valued:
    return cache(lambda dim: max(dim.value(sizes), 0))
