"""Statements as the text of NumPy, or of a library that is spelled like it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from typing import assert_never

from tensorgen.arrays.arrays import Array
from tensorgen.arrays.needs import Needs
from tensorgen.arrays.number_text import limit, size
from tensorgen.arrays.object_operations import Launch, Pack
from tensorgen.arrays.operations import Index, Number, Variable
from tensorgen.arrays.out_text import filling
from tensorgen.arrays.places import Part, Slice
from tensorgen.arrays.printer import Printer, joined, place_text
from tensorgen.arrays.statements import (
    Blocks,
    Let,
    Loop,
    Release,
    Return,
    Scatter,
    Statement,
    Store,
    Unpack,
)
from tensorgen.arrays.templates import Text

LONGEST_ROW = 80
"""Of a line that stores at several places, in a function's body."""


def statement_texts(printer: Printer, statements: Iterable[Statement]) -> list[str]:
    """Statements in order; one value stored at places of one array is one line."""
    rows: list[list[Statement]] = []
    for one in statements:
        if rows and _goes_on(printer, rows[-1], one):
            rows[-1].append(one)
        else:
            rows.append([one])
    return [_row(printer, row) for row in rows]


def _goes_on(printer: Printer, row: Sequence[Statement], one: Statement) -> bool:
    """Whether a statement stores what the row before stores, and there is room."""
    last = row[-1]
    return (
        isinstance(one, Store)
        and isinstance(last, Store)
        and one.how == last.how == "="
        and (one.target, one.value) == (last.target, last.value)
        and len(_row(printer, [*row, one])) <= LONGEST_ROW
    )


def _row(printer: Printer, row: Sequence[Statement]) -> str:
    """Statements that store the same, or one of any kind."""
    *others, last = row
    stores = [one for one in others if isinstance(one, Store)]
    targets = [f"{_stored_at(printer, one)} = " for one in stores]
    return "".join([*targets, statement_text(printer, last)])


def _stored_at(printer: Printer, store: Store) -> str:
    places = [printer.written(x) for x in store.places]
    brackets = joined(printer.places(store.at, places))
    left = printer.text(store.target)
    named = isinstance(store.target.op, Variable) and store.how != "="
    whole = not brackets and (named or store.how == "out=")
    return left if whole else f"{left}[{brackets or '...'}]"


def statement_text(printer: Printer, statement: Statement) -> str:
    """A statement, for the array module of a printer."""
    match statement:
        case Let(name=name, value=Array(op=Number(value=0))):
            return f"{name}: Scalar = 0"  # to which numbers of the library are added
        case Let(name=name, value=value):
            return f"{name} = {printer.text(value)}"
        case Store(target=target, how="is", value=value):
            return f"{printer.text(target)} = {printer.text(value)}"
        case Store(at=at, how="out=", value=value):
            if not at.is_basic:
                raise ValueError("entries here and there are not memory to give")
            if isinstance(value.op, Launch) and value.op.placed:
                return printer.text(value)
            return filling(printer, value, _stored_at(printer, statement))
        case Store(how=how, value=value):
            return f"{_stored_at(printer, statement)} {how} {printer.text(value)}"
        case Scatter(target=target, at=at, places=places, value=value):
            entries = [printer.written(x) for x in places]
            texts = (printer.text(target), _index(at, entries), printer.text(value))
            if statement.counts:
                many = f"minlength={size(target.dims[0]).text}"
                counts = printer.call("bincount", entries[0].text, many)
                once = value.op == Number(Fraction(1))
                times = "" if once else f"{printer.text(value)} * "
                return f"{texts[0]} += {times}{counts.text}"
            if statement.by_entry:
                return f"_add_at({', '.join(texts)})"
            call = printer.call("add.at", *texts).text
            guard = f"if {printer.text(target)}.size:\n    "
            return guard + call if statement.guarded else call
        case Unpack(names=names, value=value):
            left = ", ".join(name or "_" for name in names)
            packed = isinstance(value.op, Pack)
            right = [printer.text(x) for x in (value.args if packed else (value,))]
            comma = "," * (len(names) == 1)
            return f"{left}{comma} = {', '.join(right)}{comma * packed}"
        case Loop(blocks=Blocks() as blocks):
            return _block(
                _blocks_head(statement, blocks),
                printer,
                statement.body,
                _spelled(statement, blocks),
            )
        case Loop(name=name, width=width, step=step):
            ends = [size(x).text for x in (statement.low, statement.high, step)]
            kept = ends if step != 1 else ends[statement.low == 0 : 2]
            most, left = size(statement.widest).text, size(statement.left).text
            least = [f"{width} = min({most}, {left})"] if width else []
            every = f"range({', '.join(kept)})"
            every = f"reversed({every})" if statement.backwards else every
            head = f"for {name} in {every}"
            return _block(head, printer, statement.body, least)
        case Return(values=values):
            return f"return {', '.join(map(printer.text, values))}"
        case Release(names=names):
            return f"del {', '.join(names)}"
        case _:
            assert_never(statement)


def _blocks_head(loop: Loop, blocks: Blocks) -> str:
    """The head of a loop over blocks, which are slices."""
    length, width = (size(dim).text for dim in (loop.high, blocks.rows.width))
    return f"for {blocks.name} in _blocks({length}, {width}, {blocks.rows.entries})"


def _spelled(loop: Loop, blocks: Blocks) -> list[str]:
    """Where a block starts and how wide it is, as far as its statements mention it."""
    known = {loop.name: f"{blocks.name}.start"}
    if loop.width:
        known[loop.width] = f"{blocks.name}.stop - {blocks.name}.start"
    mentioned = Needs(loop.body).symbols
    return [f"{x} = {text}" for x, text in known.items() if x in mentioned]


def _block(
    head: str, printer: Printer, body: Sequence[Statement], first: Sequence[str] = ()
) -> str:
    texts = [*first, *statement_texts(printer, body)]
    rows = [row for text in texts for row in text.split("\n")]
    return "\n    ".join([f"{head}:", *rows])


def _index(at: Index, entries: Sequence[Text]) -> str:
    """Places as one object, without whole axes at the end."""
    waiting = iter(entries)
    parts = [_as_object(part, waiting) for part in at.parts]
    while parts[-1] == "slice(None)":
        parts.pop()
    return parts[0] if len(parts) == 1 else f"({', '.join(parts)})"


def _as_object(part: Part, entries: Iterator[Text]) -> str:
    match part:
        case Slice(held=None, start=start, stop=stop, step=step):
            low, high = ("None" if x is None else limit(x) for x in (start, stop))
            if step != 1:
                return f"slice({low}, {high}, {step})"
            whole = start is None and stop is None
            return "slice(None)" if whole else f"slice({low}, {high})"
        case _:
            return place_text(part, entries)
