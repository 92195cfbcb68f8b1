"""The left sides of definitions by steps: `x[0]`, `x[t + 1]`, `h[s, t=range(1, T)]`."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tensorgen.errors import Span, Text, fail
from tensorgen.ir.dims import Dim, tuple_text
from tensorgen.lang.affine import affine_form
from tensorgen.lang.binding_calls import bounded, is_range
from tensorgen.lang.grouping import Line, mentioned
from tensorgen.lang.index_forms import Form, Index
from tensorgen.lang.scope import Names, Record
from tensorgen.lang.statement import Session, Statement
from tensorgen.lang.syntax import Expression, parse
from tensorgen.operators.functions.array import Array
from tensorgen.spec.model import Definition, FunctionSpec

# What to write for entries that step along two indices.
_TABLE = (
    "a step computes a row from earlier ones: R[0, :] = ..., R[t + 1, :] = ... of "
    "R[t, :]; a table, R[i, j] of R[i - 1, j] and R[i, j - 1], steps by itself"
)


class Noted(Exception):
    """What has been reported already."""


@dataclass(frozen=True, slots=True)
class Place:
    """What stands at one place of the brackets on a left side.

    A first entry `at` a place, the entry of a step at `index + shift`, or an index
    that may state its range; nothing for `:`.
    """

    span: Span
    at: Dim | None = None
    index: str | None = None
    shift: int | None = None
    given: Text | None = None


@dataclass(frozen=True, slots=True)
class Side:
    """A definition of some entries."""

    definition: Definition
    body: Expression
    places: tuple[Place, ...]

    @property
    def axis(self) -> int | None:
        """Which place says the entry, where one does."""
        for k, place in enumerate(self.places):
            if place.at is not None or place.shift is not None:
                return k
        return None

    @property
    def is_start(self) -> bool:
        """Whether it gives a first entry."""
        return self.axis is not None and self.places[self.axis].at is not None

    @property
    def span(self) -> Span:
        """Where its name stands."""
        return self.definition.name_text.span()

    def check_starts(self, axis: int, starts: Sequence[Side]) -> None:
        """Report a first entry that is not one along the index of the steps alone."""
        name = self.definition.name
        for start in starts:
            if start.axis != axis:
                marks = [(start.span, "first entry"), (self.span, "step")]
                message = f"the first entry of '{name}' is at another position"
                fail(message, start.span, marks=marks, hint=_TABLE)
            others = (p for k, p in enumerate(start.places) if k != axis)
            for place in (p for p in others if p.at is not None):
                message = f"'{name}' steps along one index, and this is another"
                fail(message, place.span, hint=_TABLE)


def read_side(session: Session, names: Names, line: Line) -> Side:
    """Return the left side of a definition; raises `Noted` if there is nothing more."""
    definition, body = line
    if body is None:
        raise Noted
    places: list[Place] = []
    if definition.places:
        ranges = iter(definition.ranges)
        for text in definition.places:
            places.append(read_place(session, names, definition, text, ranges))
    else:
        pairs = zip(definition.indices or (), definition.ranges, strict=True)
        for text, given in pairs:
            thing = names.get(text.value)
            if thing is not None and thing.dim is not None:
                places.append(Place(text.span(), at=thing.dim))
            else:
                places.append(Place(text.span(), index=text.value, given=given))
    return Side(definition, body, tuple(places))


def read_place(
    session: Session,
    names: Names,
    definition: Definition,
    text: Text,
    ranges: Iterator[Text | None],
) -> Place:
    """Return what stands at a place; `ranges` are those that indices state, in turn."""
    span = text.span()
    if text.value == ":":
        return Place(span)
    if text.value.partition("=")[0].strip().isidentifier():
        name = text.value.partition("=")[0].strip()
        if "=" in text.value or names.get(name) is None:
            return Place(span, index=name, given=next(ranges))
    body = parse(text, session.faults)
    if body is None:
        raise Noted
    free = {x for x in mentioned(body) if names.get(x) is None}
    reader = Statement(session, body, names)
    own = {name: Index(name) for name in free}
    reader.scope.update(own)
    form = affine_form(reader, body.tree)
    if form is not None and not form.terms:
        return Place(span, at=form.const)
    if form is not None and len(own) == 1:
        ((name, index),) = own.items()
        shift = (form - Form.atom(index)).const.constant
        if form.terms == Form.atom(index).terms and shift is not None:
            return Place(span, index=name, shift=shift)
        if form.terms == Form.atom(index).terms:
            fail(
                f"entry {text.value} is not so many steps behind the first",
                span,
                hint=_carried(definition, name, text.value),
            )
    hint = "write x[0] for a first entry, x[t + 1] for that of a step, x[t, :] for rows"
    fail(f"'{text.value}' is no position of an entry", span, hint=hint)


def _carried(definition: Definition, index: str, at: str) -> str:
    """What to write for rows of a table that steps read and fill anywhere."""
    places = [x.value for x in definition.places if x.value != at]
    rest = [place.partition("=")[0].strip() for place in places]
    row = next(x for x in ("j", "i", "row", "place") if x not in (index, *rest))

    def entry(step: str, own: str) -> str:
        return f"{definition.name}[{', '.join([step, own, *rest])}]"

    first, new = entry("0", f"{row}=range(...)"), entry(f"{index} + 1", row)
    chosen = f"where({row} == {at}, ..., {entry(index, row)})"
    return f"a step carries all rows, and computes one: {first} = ..., {new} = {chosen}"


def note_range(e: Statement, index: Index, text: Text) -> Record:
    """Note the range that an index states; return what its text mentions."""
    body = parse(text, e.session.faults)
    if body is None:
        raise Noted
    reader = Statement(e.session, body, e.names)
    reader.ranges = e.ranges
    if is_range(body.tree):
        more = bounded(reader, index, body.tree)
        if more is None:
            raise Noted
        if more or index in e.ranges.strided:
            hint = "positions and where(...) say the rest: x[2*i], where(i < k, ..., 0)"
            place = reader.expression.span(body.tree)
            message = "a range on the left side has one start, one stop and no stride"
            fail(message, place, hint=hint)
    else:
        hint = f"write {index.name}=range(n)"
        place = reader.expression.span(body.tree)
        fail(f"the range of '{index.name}' is no range", place, hint=hint)
    return reader.record


def check_rows(side: Side, value: Array, places: int) -> None:
    """Report a value that has fewer axes than there are places on the left."""
    if value.order < places:
        fail("':' stands for an axis that the value does not have", side.span)


def in_places(
    e: Statement, value: Array, defined: Definition | FunctionSpec
) -> Array | None:
    """Put the axes that an expression has of its own where `:` stands on the left.

    Those of indices come first in `value`. Where there is no `:`, its own are the last.
    """
    whole = [k for k, place in enumerate(defined.places) if place.value == ":"]
    indices = len(defined.indices or ())
    if not whole:
        return value
    own = value.shape[indices:]
    if len(own) != len(whole):
        message = "':' stands for an axis that the value does not have"
        if len(own) > len(whole):
            message = "the value has more axes of its own than ':' stand for"
        place = defined.places[whole[min(len(own), len(whole) - 1)]].span()
        hint = f"beside the indices, its shape is {tuple_text(own)}"
        e.fault(message, place, hint=hint)
        return None
    left, rest = iter(range(indices)), iter(range(indices, value.order))
    axes = [next(rest if k in whole else left) for k in range(value.order)]
    return Array(e.build.graph.product(axes, [(value.node, range(value.order))]))


def is_name(tree: ast.expr, name: str) -> bool:
    """Whether a part of an expression is this name."""
    return isinstance(tree, ast.Name) and tree.id == name
