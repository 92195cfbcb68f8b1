"""The statements of the array IR, and what they read and change."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, assert_never

from tensorgen.arrays.arrays import Array, below
from tensorgen.arrays.operations import Index, Variable

Change = Literal["=", "+=", "-="]


@dataclass(frozen=True, slots=True)
class Let:
    """`name = value`."""

    name: str
    value: Array


@dataclass(frozen=True, slots=True)
class Store:
    """`target[at] = value`, `+=` or `-=`; no place stands there twice."""

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


Statement = Let | Store | Scatter | ScatterWindows


def operands(statement: Statement) -> tuple[Array, ...]:
    """The arrays that a statement computes with, in the order of its text."""
    match statement:
        case Let():
            return (statement.value,)
        case Store() | Scatter():
            return (statement.target, *statement.places, statement.value)
        case ScatterWindows():
            return (statement.view, statement.value)
        case _:
            assert_never(statement)


def rebuilt(statement: Statement, change: Callable[[Array], Array]) -> Statement:
    """The statement over changed arrays."""
    match statement:
        case Let():
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
        case _:
            assert_never(statement)


def changed(statement: Statement) -> str | None:
    """The variable whose entries a statement changes."""
    match statement:
        case Let():
            return None
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
