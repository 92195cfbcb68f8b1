"""What stands in several statements is computed once.

The graph shares nodes; what nodes come to, and what lowering itself adds to statements,
`np.where(mask, x, 0)` around an operand and the triangle that is the mask, it shares
only here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tensorgen.arrays.arrays import Array, bound, replacing
from tensorgen.arrays.operations import (
    Accumulate,
    Call,
    Einsum,
    Elementwise,
    InnerProduct,
    Leaf,
    MatMul,
    Outer,
    Reduce,
    Solve,
    TensorDot,
    Triangle,
    Trim,
    View,
)
from tensorgen.arrays.reading import length
from tensorgen.arrays.statements import (
    Let,
    Statement,
    changed,
    operands,
    reads,
    rebuilt,
)
from tensorgen.lower.names import Names, read_name
from tensorgen.operators.calls import OPERATORS


def share_calls(
    statements: Sequence[Statement], returns: Sequence[Array], names: Names
) -> tuple[list[Statement], list[Array]]:
    """Return statements and expressions in which no call is made twice.

    Ends: each round leaves fewer.
    """
    lines, found = list(statements), list(returns)
    while (repeat := _repeated(lines, found)) is not None:
        value, first = repeat.value, repeat.places[0]
        if repeat.own is None:
            line: Statement = Let(names.pick([_word(value) or ""]), value)
        else:
            line = lines.pop(repeat.own)
        assert isinstance(line, Let)
        first = min(first, len(lines))
        lines.insert(first, line)
        own = bound(line.name, value)
        # What is a whole array keeps memory of its own.
        change = replacing({value: own})
        for k in range(first + 1, len(lines)):
            if not _is_just(lines[k], value):
                lines[k] = rebuilt(lines[k], change)
        found = [one if one is value else change(one) for one in found]
    return lines, found


@dataclass(frozen=True)
class Repeat:
    """A value, the statement that binds a name to just this, and where it stands."""

    value: Array
    own: int | None
    places: list[int]


def _word(one: Array) -> str | None:
    """What a call or what it has been applied to is called; None for all others."""
    match one.op:
        case Elementwise(function="where"):
            return "masked"
        case Trim(lower=lower):
            return "lower" if lower else "upper"
        case Triangle():
            return "mask"
        case MatMul() | TensorDot() | Einsum() | Outer() | InnerProduct():
            return read_name(one) or "product"
        case Reduce() | Accumulate():
            return "sums" if one.order else "total"
        case Solve():
            return "solution"
        case Call(operator=operator) if not OPERATORS[operator].view:
            return OPERATORS[operator].word or operator
        case _:
            return None


def _repeated(lines: Sequence[Statement], returns: Sequence[Array]) -> Repeat | None:
    """The longest value that may be made once for several statements."""
    own: dict[Array, int] = {}
    for place, bind in enumerate(lines):
        if isinstance(bind, Let) and not isinstance(bind.value.op, Leaf | View):
            own.setdefault(bind.value, place)
    uses: dict[Array, list[int]] = {}
    for place, roots in enumerate([*map(operands, lines), *((x,) for x in returns)]):
        for value in _inside(roots):
            if value not in own and not _word(value):
                continue
            places = uses.setdefault(value, [])
            # A whole array is changed or returned by its own name.
            line = lines[place] if place < len(lines) else None
            mine = value is roots[0] if line is None else _is_just(line, value)
            if not mine or (line is not None and not places):
                places.append(place)
    found = [
        Repeat(value, own.get(value), places)
        for value, places in uses.items()
        if _is_shared(lines, value, own.get(value), places)
    ]
    return max(found, key=lambda r: (length(r.value), -r.places[0]), default=None)


def _inside(roots: Sequence[Array]) -> Iterator[Array]:
    """Yield the arrays below some, as often as their text has them."""
    for one in roots:
        yield one
        yield from _inside(one.args)


def _is_just(line: Statement, value: Array) -> bool:
    """Whether a statement binds a name to just this value."""
    return isinstance(line, Let) and line.value is value


def _is_shared(
    lines: Sequence[Statement], value: Array, own: int | None, places: Sequence[int]
) -> bool:
    """Whether a value stands in several places and is the same in all of them."""
    if len(places) < 2 and own in (None, *places):
        return False
    names = set(reads([value]))
    ends = [*places, *(() if own is None else (own,))]
    if any(changed(line) in names for line in lines[min(ends) : max(ends)]):
        return False
    bind = None if own is None else lines[own]
    return not isinstance(bind, Let) or all(changed(x) != bind.name for x in lines)
