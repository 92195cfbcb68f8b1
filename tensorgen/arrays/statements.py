"""The statements of the array IR, and what they read and change."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, assert_never

from tensorgen.arrays.arrays import Array, array, below, once
from tensorgen.arrays.object_operations import (
    Called,
    Launch,
    Member,
    Pack,
    Results,
    Rows,
)
from tensorgen.arrays.operations import Bundle, Index, Variable
from tensorgen.ir.dims import ONE, Dim

Change = Literal["=", "+=", "-=", "*=", "out=", "is"]


@dataclass(frozen=True, slots=True)
class Let:
    """`name = value`."""

    name: str
    value: Array


@dataclass(frozen=True, slots=True)
class Store:
    """`target[at] = value`, `+=`, `-=` or `*=`; no place stands there twice.

    With `out=` the last operation of `value` writes there itself, and makes no array;
    with `is` the target, a variable, becomes another array.
    """

    target: Array
    at: Index
    places: tuple[Array, ...]
    how: Change
    value: Array


@dataclass(frozen=True, slots=True)
class Scatter:
    """Adds entries where places may stand more than once.

    With `by_entry` the first axes of `target` are those that are indexed, and `value`
    has the others last. `guarded` ones do nothing to arrays without entries. What
    `counts` adds a number at each place that a vector says, all of them at once.
    """

    target: Array
    at: Index
    places: tuple[Array, ...]
    value: Array
    by_entry: bool
    guarded: bool = False
    counts: bool = False


@dataclass(frozen=True, slots=True)
class Unpack:
    """`names = value`, for what holds several; of some of them nothing is asked."""

    names: tuple[str | None, ...]
    value: Array


@dataclass(frozen=True, slots=True)
class Blocks:
    """Blocks of a size as slices of a `name`: so many `rows` in each."""

    name: str
    rows: Rows


@dataclass(frozen=True, slots=True)
class Loop:
    """What is done at each position from `low` up to, not including, `high`.

    Sizes and places in the body may mention `name`, the position, and `width`, the
    places up to the next one: as many as `step`, fewer at the end. Where positions
    number `runs`, it is the width of one: of so many places, parts of such a length.
    What a step leaves to others it stores in arrays from before the loop. Names that
    are bound in the body are bound nowhere else. Positions come last to first if it
    runs `backwards`. The step is what `blocks` say, if any.
    """

    name: str
    low: Dim
    high: Dim
    body: tuple[Statement, ...]
    step: Dim = ONE
    width: str | None = None
    backwards: bool = False
    runs: tuple[Dim, Dim] | None = None
    blocks: Blocks | None = None

    @property
    def is_of_blocks(self) -> bool:
        """Whether a step goes as far as some number says, whatever the sizes are."""
        if self.blocks is not None:
            return True
        return self.width is not None and self.runs is None and self.step != ONE

    @property
    def widest(self) -> Dim:
        """What `width` is, but for the last one."""
        return self.step if self.runs is None else self.runs[1]

    @property
    def left(self) -> Dim:
        """The places from the position on."""
        if self.runs is None:
            return self.high - Dim.symbol(self.name)
        places, length = self.runs
        return places - length * Dim.symbol(self.name)

    @property
    def reach(self) -> Dim:
        """What all widths come to."""
        return self.high - self.low if self.runs is None else self.runs[0]


@dataclass(frozen=True, slots=True)
class Return:
    """Ends a function with these values."""

    values: tuple[Array, ...]


@dataclass(frozen=True, slots=True)
class Release:
    """Gives up names, and with them the memory that no other name shares."""

    names: tuple[str, ...]


Statement = Let | Store | Scatter | Unpack | Loop | Return | Release


def everything(statements: Iterable[Statement]) -> Iterator[Statement]:
    """Yield statements and those inside of them."""
    for statement in statements:
        yield statement
        if isinstance(statement, Loop):
            yield from everything(statement.body)


def operands(statement: Statement) -> tuple[Array, ...]:
    """The arrays that a statement computes with, in the order of its text."""
    match statement:
        case Let() | Unpack():
            return (statement.value,)
        case Store() | Scatter():
            return (statement.target, *statement.places, statement.value)
        case Loop():
            return tuple(one for line in statement.body for one in operands(line))
        case Return():
            return statement.values
        case Release():
            return ()
        case _:
            assert_never(statement)


def rebuilt(statement: Statement, change: Callable[[Array], Array]) -> Statement:
    """The statement over changed arrays."""
    match statement:
        case Let() | Unpack():
            return replace(statement, value=change(statement.value))
        case Store() | Scatter():
            return replace(
                statement,
                target=change(statement.target),
                places=tuple(map(change, statement.places)),
                value=change(statement.value),
            )
        case Loop():
            body = tuple(rebuilt(line, change) for line in statement.body)
            return replace(statement, body=body)
        case Return():
            return Return(tuple(map(change, statement.values)))
        case Release():
            return statement
        case _:
            assert_never(statement)


def changed(statement: Statement) -> frozenset[str]:
    """The variables whose entries a statement changes, themselves or through views."""
    lines = everything([statement])
    roots = (_root(view) for line in lines for view in _targets(line))
    return frozenset(name for name in roots if name)


def _targets(statement: Statement) -> tuple[Array, ...]:
    """What a statement changes, apart from those inside of it."""
    match statement:
        case Let() | Unpack() | Loop() | Return() | Release():
            return ()
        case Store() | Scatter():
            return (statement.target,)
        case _:
            assert_never(statement)


def bound_names(statements: Iterable[Statement]) -> list[str]:
    """The names that some statements bind; not those inside of them."""
    return [name for line in statements for name, _ in bindings(line)]


def bindings(statement: Statement) -> tuple[tuple[str, Array], ...]:
    """The names that a statement binds, and to what; not those inside of it."""
    match statement:
        case Let(name=name, value=value):
            return ((name, value),)
        case Unpack(names=names, value=value):
            parts = [_member(k, value) for k in range(len(names))]
            pairs = zip(names, parts, strict=True)
            return tuple((name, part) for name, part in pairs if name)
        case Store() | Scatter() | Loop() | Return() | Release():
            return ()
        case _:
            assert_never(statement)


def _member(place: int, whole: Array) -> Array:
    """One of several that an array stands for."""
    match whole.op:
        case Pack():
            return whole.args[place]
        case Results(shapes=shapes) | Called(shapes=shapes):
            return array(Member(place, shapes[place]), whole)
        case Bundle() | Launch():
            return array(Member(place, whole.dims), whole)
        case _:  # a row
            return array(Member(place, whole.dims[1:]), whole)


def _root(view: Array) -> str | None:
    while view.args:
        view = view.args[0]
    return view.op.name if isinstance(view.op, Variable) else None


def reads(arrays: Sequence[Array]) -> Iterable[str]:
    """The variables that expressions mention, each once."""
    return dict.fromkeys(name for one in arrays for name in once(one, _read))


def _read(one: Array) -> tuple[str, ...]:
    ops = (part.op for part in below([one]))
    return tuple(dict.fromkeys(op.name for op in ops if isinstance(op, Variable)))
