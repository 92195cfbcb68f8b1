"""How far steps go: from the first entries that are not given, to where arrays end."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from itertools import pairwise

from tensorgen.errors import Faults, Span, fail
from tensorgen.ir.dims import Dim
from tensorgen.lang.affine import affine_form, size_form
from tensorgen.lang.binding_calls import bounded, is_range
from tensorgen.lang.facts import Interval
from tensorgen.lang.index_forms import Form, Index
from tensorgen.lang.scope import Names, Record
from tensorgen.lang.sides import Side, note_range
from tensorgen.lang.statement import Session, Statement
from tensorgen.lang.stepping import Member, Stepping
from tensorgen.lang.syntax import Expression, names_in, parse, places_of


class Reach:
    """Finds which way steps go, and how many there are."""

    def __init__(
        self,
        session: Session,
        names: Names,
        record: Record,
        sides: Mapping[str, Side],
        steps: Stepping,
    ) -> None:
        """Look at names that step together, whose first entries are known."""
        self.session = session
        self.names = names
        self.record = record
        self.sides = sides
        self.steps = steps
        self.members = steps.members

    def find(self, index: Index) -> None:
        """Find which way steps go, and how many there are."""
        steps = self.steps
        for member in self.members.values():
            literal = [at.constant is not None for at in member.starts]
            if not all(literal):
                steps.backwards = True
                if any(literal):
                    message = f"first entries of '{member.name}' are at both ends"
                    fail(message, member.span)
        for member in self.members.values():
            self._check_starts(member)
        if steps.backwards:
            self._range_backwards()
            return
        given = self._given(index)
        low = max(len(m.starts) - m.shift for m in self.members.values())
        found = [given] if given is not None else self._found(index)
        found = found or self._read(low)
        if not found:
            t = index.name
            name = next((m.name for m in self.members.values() if m.starts), "x")
            hint = f"say it on the left: {name}[{t}=range(1, T)] = ... {name}[{t} - 1]"
            fail(f"nothing determines how far '{t}' goes", index.span, hint=hint)
        top = found[0][1]
        for start, end in found:
            if end != top:
                if (top - end).is_nonnegative():
                    top = end
                elif not (end - top).is_nonnegative():
                    text = f"'{index.name}' goes up to {top} here, and to {end} there"
                    hint = f"state it on the left: {index.name}=range({low}, {top})"
                    fail(text, index.span, hint=hint)
            if not (Dim.of(low) - start).is_nonnegative():
                self._late(index, low, start)
        steps.low, steps.count = Dim.of(low), top - low

    def check_stated(self, index: Index) -> None:
        """Report a range with a number added: is that of the index, or the entry's?"""
        for name, side in self.sides.items():
            place = side.places[self.members[name].axis]
            body = None if place.given is None else parse(place.given, Faults())
            if body is None or not isinstance(body.tree, ast.BinOp):
                continue
            stated, e = body.tree.left, Statement(self.session, body, self.names)
            more = size_form(e, body.tree.right)
            if not is_range(stated) or more is None:
                continue
            t = place.index
            more = -more if isinstance(body.tree.op, ast.Sub) else more
            shown = Form.atom(index) + more
            others = [x for x, m in self.members.items() if x != name and not m.shift]
            hint = None
            if others:
                hint = f"{name}[{shown}] = ..., and another line determines how far: "
                hint += f"{others[0]}[{t}={body.source(stated)}] = ..."
            elif bounded(e, index, stated) is not None:
                low, high = e.ranges.bounds[index]
                whole = f"{name}[{t}=range({low + more}, {high + more})] = ..."
                hint = f"of entries {shown} the range is that of all: {whole}"
            message = f"'{body.source(body.tree)}' is no range of '{t}'"
            fail(message, place.span, hint=hint)

    def _late(self, index: Index, low: int, start: Dim) -> None:
        first = next(iter(self.members.values()))
        missing = [
            f"{m.name}[{len(m.starts)}] = ..."
            for m in self.members.values()
            if m.shift < 1
        ]
        hint = f"add {', '.join(missing or [first.name + '[0] = ...'])}"
        message = (
            f"the first step is at {index.name} = {low}, but positions allow "
            f"{index.name} from {start} on"
        )
        fail(message, first.span, hint=hint)

    def _check_starts(self, member: Member) -> None:
        """First entries stand together at an end."""
        places = sorted(member.starts, key=str)
        if self.steps.backwards:
            for one, other in pairwise(in_turn(member, self.steps.backwards)):
                if one - other != 1:
                    fail(f"first entries of '{member.name}' are apart", member.span)
        elif {at.constant for at in places} != set(range(len(places))):
            fail(f"first entries of '{member.name}' begin at 0", member.span)

    def _range_backwards(self) -> None:
        steps = self.steps
        tops = []
        for member in self.members.values():
            if member.starts:
                first = in_turn(member, self.steps.backwards)
                tops.append(first[0] - len(first) - member.shift + 1)
        low = -min(member.shift for member in self.members.values())
        steps.low, steps.count = Dim.of(low), tops[0] - low
        for member in self.members.values():
            if member.shift != -low or any(top != tops[0] for top in tops):
                message = "what steps backwards ends at one step and at entry 0"
                fail(message, member.span)

    def _given(self, index: Index) -> tuple[Dim, Dim] | None:
        """The range that left sides state: those that do end at one step."""
        found: dict[Dim, tuple[Dim, Span]] = {}
        for name, side in self.sides.items():
            place = side.places[self.members[name].axis]
            if place.given is not None:
                e = Statement(self.session, side.body, self.names)
                self.record.merge(note_range(e, index, place.given))
                low, high = e.ranges.bounds[index]
                if not (low.terms or high.terms):
                    found.setdefault(high.const, (low.const, side.span))
        if len(found) > 1:
            (top, (_, first)), (end, (_, second)), *_ = found.items()
            t, marks = index.name, [(first, f"up to {top}"), (second, f"up to {end}")]
            message = f"what steps together goes up to {top} and up to {end}"
            hint = (
                f"state one range of '{t}'; an entry one later is {t} + 1 on the left"
            )
            fail(message, second, marks=marks, hint=hint)
        return next(((low, top) for top, (low, _) in found.items()), None)

    def _read(self, low: int) -> list[tuple[Dim, Dim]]:
        """The range up to the last entry that is read by its place: `x[:T]`, `x[T]`."""
        tops: list[Dim] = []
        for text in self.names.texts:
            e = Statement(self.session, text, self.names)
            for tree, items in positions(text.tree):
                name = tree.value.id if isinstance(tree.value, ast.Name) else ""
                member = self.members.get(name)
                if member is None or member.axis >= len(items):
                    continue
                item = items[member.axis]
                end = item.upper if isinstance(item, ast.Slice) else item
                more = int(end is item)
                form = None if end is None else size_form(e, end)
                if form is not None and form.constant is None:
                    tops.append(form + more - member.shift)
        best = [x for x in tops if all((x - y).is_nonnegative() for y in tops)]
        return [(Dim.of(low), best[0])] if best else []

    def _found(self, index: Index) -> list[tuple[Dim, Dim]]:
        """The ranges in which positions stay inside of arrays."""
        found: dict[tuple[Dim, Dim], None] = {}
        for member in self.members.values():
            e = Statement(self.session, member.body, self.names)
            found |= dict.fromkeys(intervals(e, index))
        return list(found)


def intervals(e: Statement, index: Index) -> list[tuple[Dim, Dim]]:
    """The ranges in which an index keeps positions of a text inside known arrays."""
    found: dict[tuple[Dim, Dim], None] = {}
    e.scope[index.name] = index
    for tree, items in positions(e.expression.tree):
        name = tree.value.id if isinstance(tree.value, ast.Name) else ""
        thing = e.names.get(name)
        if thing is None or thing.value is None:
            continue
        for item, dim in zip(items, thing.value.shape, strict=False):
            plain = isinstance(item, ast.Name | ast.BinOp)
            if plain and index.name in names_in(item):
                form = affine_form(e, item)
                interval = form and _interval(form, index, dim)
                if interval:
                    found[interval] = None
    return list(found)


def positions(tree: ast.expr) -> Iterator[tuple[ast.Subscript, list[ast.expr]]]:
    """All brackets in a text, each with what stands between them."""
    for part in ast.walk(tree):
        if isinstance(part, ast.Subscript):
            yield part, places_of(part)


def go_as_far(e: Statement, index: Index, other: Expression, there: Index) -> None:
    """Let an index whose text says nothing of it go as far as one in another text."""
    for found in intervals(Statement(e.session, other, e.names), there):
        e.ranges.otherwise.setdefault(index, Interval(*found))


def in_turn(member: Member, backwards: bool) -> list[Dim]:
    """The places of first entries, in the order of steps."""
    places = list(member.starts)
    if not backwards:
        return sorted(places, key=lambda at: at.constant or 0)
    ends = [at for at in places if all((at - x).is_nonnegative() for x in places)]
    if places and len(ends) != 1:
        fail(f"first entries of '{member.name}' are apart", member.span)
    return sorted(places, key=lambda at: (ends[0] - at).constant or 0)


def _interval(form: Form, index: Index, length: Dim) -> tuple[Dim, Dim] | None:
    """Where a position that mentions the index alone stays inside of an axis."""
    if form.terms == Form.atom(index).terms:
        return -form.const, length - form.const
    if form.terms == (-Form.atom(index)).terms:
        return form.const - length + 1, form.const + 1
    return None
