"""The statements of the array IR, and what they read and change."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, assert_never

from tensorgen.arrays.arrays import Array, below
from tensorgen.arrays.operations import Index, Variable

Change = Literal["=", "+=", "-=", "*="]


@dataclass(frozen=True, slots=True)
class Let:
    """`name = value`."""

    name: str
    value: Array


@dataclass(frozen=True, slots=True)
class Store:
    """`target[at] = value`, `+=`, `-=` or `*=`; no place stands there twice."""

    target: Array
    at: Index
    places: tuple[Array, ...]
    how: Change
    value: Array


@dataclass(frozen=True, slots=True)
class Scatter:
    """Adds entries where places may stand more than once.

    With `by_entry` the first axes of `target` are those that are indexed, and `value`
    has the others last. `guarded` ones do nothing to arrays without entries.
    """

    target: Array
    at: Index
    places: tuple[Array, ...]
    value: Array
    by_entry: bool
    guarded: bool = False


@dataclass(frozen=True, slots=True)
class ScatterWindows:
    """Adds entries to overlapping windows, a view of an array.

    Of each pair of axes one numbers windows, the other the places in them.
    """

    view: Array
    value: Array
    pairs: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Unpack:
    """`names = value`, for what holds several; of some of them nothing is asked."""

    names: tuple[str | None, ...]
    value: Array


@dataclass(frozen=True, slots=True)
class Append:
    """Makes a list longer by a value."""

    target: Array
    value: Array


@dataclass(frozen=True, slots=True)
class When:
    """What is done where a condition holds."""

    condition: Array
    body: tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class Return:
    """Ends a function with these values."""

    values: tuple[Array, ...]


@dataclass(frozen=True, slots=True)
class Release:
    """Gives up names, and with them the memory that no other name shares."""

    names: tuple[str, ...]


Statement = (
    Let | Store | Scatter | ScatterWindows | Unpack | Append | When | Return | Release
)


def everything(statements: Iterable[Statement]) -> Iterator[Statement]:
    """Yield statements and those inside of them."""
    for statement in statements:
        yield statement
        if isinstance(statement, When):
            yield from everything(statement.body)


def operands(statement: Statement) -> tuple[Array, ...]:
    """The arrays that a statement computes with, in the order of its text."""
    match statement:
        case Let() | Unpack():
            return (statement.value,)
        case Store() | Scatter():
            return (statement.target, *statement.places, statement.value)
        case ScatterWindows():
            return (statement.view, statement.value)
        case Append():
            return (statement.target, statement.value)
        case When():
            inner = (one for line in statement.body for one in operands(line))
            return (statement.condition, *inner)
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
        case ScatterWindows():
            return replace(
                statement, view=change(statement.view), value=change(statement.value)
            )
        case Append():
            target, value = change(statement.target), change(statement.value)
            return replace(statement, target=target, value=value)
        case When():
            body = tuple(rebuilt(line, change) for line in statement.body)
            return When(change(statement.condition), body)
        case Return():
            return Return(tuple(map(change, statement.values)))
        case Release():
            return statement
        case _:
            assert_never(statement)


def changed(statement: Statement) -> str | None:
    """The variable whose entries a statement changes, itself or through a view.

    What stands inside of others is to be asked for itself.
    """
    match statement:
        case Let() | Unpack() | When() | Return() | Release():
            return None
        case Append():
            return _root(statement.target)
        case Store() | Scatter():
            return _root(statement.target)
        case ScatterWindows():
            return _root(statement.view)
        case _:
            assert_never(statement)


def _root(view: Array) -> str | None:
    while view.args:
        view = view.args[0]
    return view.op.name if isinstance(view.op, Variable) else None


def reads(arrays: Sequence[Array]) -> Iterator[str]:
    """Yield the variables that expressions mention."""
    for one in below(arrays):
        if isinstance(one.op, Variable):
            yield one.op.name
