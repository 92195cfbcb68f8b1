"""Definitions by steps: `x[0] = x0` and `x[t + 1] = tanh(A @ x[t] + u[t])`.

Names that refer to each other's earlier entries step together, as one recurrence. Its
first entries are read like everything else, what is left as one step.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise

from tensorgen.errors import Span, SpecError, Text, fail
from tensorgen.ir.dims import Dim, tuple_text
from tensorgen.ir.nodes import Node, delta
from tensorgen.lang.affine import affine_form
from tensorgen.lang.bound import bounded, is_range
from tensorgen.lang.facts import Bounds
from tensorgen.lang.forms import Form, Index
from tensorgen.lang.names import Names, Record, Thing
from tensorgen.lang.statement import Session, Statement
from tensorgen.lang.stepping import Member, Stepping
from tensorgen.lang.syntax import Expression, parse
from tensorgen.operators.all_steps import AllSteps, can_be_at_once
from tensorgen.operators.functions.array import Array, Misuse
from tensorgen.operators.recurrences import Recurrence, State, recurrence
from tensorgen.spec.model import Definition

Line = tuple[Definition, Expression | None]
Found = dict[str, tuple[Array | None, Record]]


# Which definitions step together


def mentioned(body: Expression | None) -> set[str]:
    """The names in an expression."""
    if body is None:
        return set()
    return {x.id for x in ast.walk(body.tree) if isinstance(x, ast.Name)}


def units(lines: Sequence[Line]) -> list[tuple[Line, ...]]:
    """Return definitions one by one, and together those that step together.

    What is made step by step comes at its last definition, and before all that it is
    mentioned in.
    """
    needs: dict[str, set[str]] = {}
    for definition, body in lines:
        needs.setdefault(definition.name, set()).update(mentioned(body))
    groups = _groups(lines, {name: found & {*needs} for name, found in needs.items()})
    last = {groups[d.name]: k for k, (d, _) in enumerate(lines) if d.name in groups}
    waiting: list[tuple[Line, ...]] = []
    for k, line in enumerate(lines):
        group = groups.get(line[0].name)
        if group is None:
            waiting.append((line,))
        elif last[group] == k:
            waiting.append(tuple(x for x in lines if x[0].name in group))
    found: list[tuple[Line, ...]] = []
    while waiting:
        later = {x[0].name for unit in waiting for x in unit if x[0].name in groups}
        unit = next(x for x in waiting if not (_needed(x) & later))
        waiting.remove(unit)
        found.append(unit)
    return found


def _groups(
    lines: Sequence[Line], needs: Mapping[str, set[str]]
) -> dict[str, frozenset[str]]:
    """The names that step together, for each of them.

    They need each other, or one needs another between whose definitions it stands.
    """
    tied = {name: set(found) for name, found in needs.items()}
    for definition, _ in lines:
        if definition.places:
            tied[definition.name].add(definition.name)
    while True:
        groups = _circles(tied)
        spans: dict[frozenset[str], list[int]] = {}
        for k, (definition, _) in enumerate(lines):
            if definition.name in groups:
                spans.setdefault(groups[definition.name], []).append(k)
        more = [
            (name, other)
            for name, found in needs.items()
            for other in sorted(found)
            if name in groups and other in groups and groups[name] != groups[other]
            if spans[groups[name]][0] < spans[groups[other]][-1]
            if spans[groups[other]][0] < spans[groups[name]][-1]
        ]
        if not more:
            return groups
        for name, other in more:
            tied[other].add(name)


def _needed(unit: Sequence[Line]) -> set[str]:
    """The names that definitions mention, but for their own."""
    own = {definition.name for definition, _ in unit}
    return set[str]().union(*(mentioned(body) for _, body in unit)) - own


def _circles(needs: Mapping[str, set[str]]) -> dict[str, frozenset[str]]:
    """The names that need each other or themselves, for each of them."""
    reach = {name: set(found) for name, found in needs.items()}
    for middle in reach:
        for found in reach.values():
            if middle in found:
                found |= reach[middle]
    return {
        name: frozenset(x for x in found if name in reach[x])
        for name, found in reach.items()
        if name in found
    }


def steps(unit: Sequence[Line]) -> bool:
    """Whether definitions are steps: they give some entries, or need themselves."""
    names = {definition.name for definition, _ in unit}
    if len(unit) > 1 or unit[0][0].places:
        return True
    return not names.isdisjoint(mentioned(unit[0][1]))


# Left sides


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


def _side(session: Session, names: Names, line: Line) -> Side:
    definition, body = line
    if body is None:
        raise Noted
    places: list[Place] = []
    if definition.places:
        ranges = iter(definition.ranges)
        for text in definition.places:
            places.append(_place(session, names, text, ranges))
    else:
        pairs = zip(definition.indices or (), definition.ranges, strict=True)
        for text, given in pairs:
            thing = names.get(text.value)
            if thing is not None and thing.dim is not None:
                places.append(Place(text.span(), at=thing.dim))
            else:
                places.append(Place(text.span(), index=text.value, given=given))
    return Side(definition, body, tuple(places))


def _place(
    session: Session, names: Names, text: Text, ranges: Iterator[Text | None]
) -> Place:
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
    hint = "write x[0] for a first entry, x[t + 1] for that of a step, x[t, :] for rows"
    fail(f"'{text.value}' is no place of an entry", span, hint=hint)


# All of it


def elaborate_steps(session: Session, unit: Sequence[Line], names: Names) -> Found:
    """Return the arrays that definitions by steps give, and what their texts use."""
    group = _Group(session, names)
    try:
        group.read([_side(session, names, line) for line in unit])
    except SpecError as error:
        session.faults.extend(error.diagnostics)
    except Noted:
        pass
    else:
        return {name: (whole, group.record) for name, whole in group.whole.items()}
    return {line[0].name: (None, Record()) for line in unit}


class _Group:
    """Definitions that step together."""

    def __init__(self, session: Session, names: Names) -> None:
        """Start without members."""
        self.session = session
        self.names = names
        self.graph = session.graph
        self.record = Record()
        self.whole: dict[str, Array] = {}
        self.members: dict[str, Member] = {}
        self.sides: dict[str, Side] = {}

    def read(self, sides: Sequence[Side]) -> None:
        """Read all of it."""
        starts: dict[str, list[Side]] = {}
        for side in sides:
            name = side.definition.name
            starts.setdefault(name, [])
            if side.is_start:
                starts[name].append(side)
            elif name in self.sides:
                first = self.sides[name].span
                marks = [(first, "one step"), (side.span, "another")]
                fail(f"'{name}' has two steps", side.span, marks=marks)
            else:
                self.sides[name] = side
        for name, own in starts.items():
            if name not in self.sides:
                hint = f"add its step: {name}[t + 1] = ..."
                message = f"of '{name}' there are first entries alone"
                fail(message, own[0].span, hint=hint)
        index = self._index(starts)
        for name, side in self.sides.items():
            self.members[name] = self._member(side, starts[name], index)
        self.steps = Stepping(self.members, index)
        for name, member in self.members.items():
            for side in starts[name]:
                self._start(member, side)
        self._range(index)
        self._states()
        for name in self._order():
            self._step(self.members[name])
        self._made()

    def _index(self, starts: Mapping[str, Sequence[Side]]) -> Index:
        """The index of the steps, which all sides call the same."""
        found: dict[str, Span] = {}
        for name, side in self.sides.items():
            axis = side.axis
            if axis is None and starts[name]:
                axis = starts[name][0].axis
            if axis is None or axis >= len(side.places):
                continue
            place = side.places[axis]
            if place.index is not None:
                found.setdefault(place.index, place.span)
        if not found:
            for side in self.sides.values():
                for place, at in self._references(side):
                    if place.index is not None and not _is_name(at, place.index):
                        found.setdefault(place.index, place.span)
        if not found:
            side = next(iter(self.sides.values()))
            name = side.definition.name
            hint = (
                f"say which entry: {name}[t + 1] = ... {name}[t], and {name}[0] = ..."
            )
            fail(f"'{name}' is defined by itself", side.span, hint=hint)
        if len(found) > 1:
            marks = [(span, name) for name, span in found.items()]
            message = "what steps together has one index for the steps"
            fail(message, marks[1][0], marks=marks, hint="rename one of them")
        ((text, span),) = found.items()
        index = Index(text, span)
        return index

    def _references(self, side: Side) -> Iterator[tuple[Place, ast.expr]]:
        """The places at which the right side of a name takes entries of its own."""
        for tree in ast.walk(side.body.tree):
            if isinstance(tree, ast.Subscript) and _is_name(
                tree.value, side.definition.name
            ):
                whole = tree.slice
                parts = whole.elts if isinstance(whole, ast.Tuple) else [whole]
                yield from zip(side.places, parts, strict=False)

    def _member(self, side: Side, starts: Sequence[Side], index: Index) -> Member:
        name = side.definition.name
        axes = [k for k, p in enumerate(side.places) if p.index == index.name]
        if len(axes) != 1:
            message = f"'{name}' steps with others along '{index.name}'"
            fail(message, side.span, hint=f"write {name}[{index.name}] = ...")
        (axis,) = axes
        for start in starts:
            if start.axis != axis:
                marks = [(start.span, "first entry"), (side.span, "step")]
                message = f"the first entry of '{name}' is at another place"
                fail(message, start.span, marks=marks)
        others = [p for k, p in enumerate(side.places) if k != axis]
        own = [
            None if p.index is None else Index(p.index, p.span, True) for p in others
        ]
        shift = side.places[axis].shift or 0
        return Member(name, side.definition, side.body, axis, shift, own)

    def _start(self, member: Member, side: Side) -> None:
        """Read a first entry."""
        assert side.axis is not None
        at = side.places[side.axis].at
        assert at is not None
        places = [p for k, p in enumerate(side.places) if k != side.axis]
        left = [Index(p.index, p.span, True) for p in places if p.index is not None]
        e = Statement(self.session, side.body, self.names)
        value = self._valued(e, left, places)
        if at in member.starts:
            fail(f"'{member.name}' has this entry twice", side.span)
        whole = sum(p.index is None for p in places)
        self._check_rows(side, value, len(left), whole)
        member.starts[at] = value

    def _check_rows(self, side: Side, value: Array, left: int, whole: int) -> None:
        if whole and value.order < left + whole:
            message = "':' stands for an axis that the value does not have"
            fail(message, side.span)

    def _valued(
        self, e: Statement, left: Sequence[Index], places: Sequence[Place]
    ) -> Array:
        """Read a right side, over the indices on the left."""
        for index, place in zip(left, [p for p in places if p.index], strict=True):
            if place.given is not None:
                self._stated(e, index, place.given)
        value = e.elaborate(left)
        self.record.merge(e.record)
        if value is None:
            raise Noted
        return value

    def _stated(self, e: Statement, index: Index, text: Text) -> None:
        """Note the range that an index states."""
        body = parse(text, self.session.faults)
        if body is None:
            raise Noted
        reader = Statement(self.session, body, self.names)
        reader.ranges = e.ranges
        if not is_range(body.tree) or not bounded(reader, index, body.tree):
            hint = f"write {index.name}=range(n)"
            fail(f"the range of '{index.name}' is no range", text.span(), hint=hint)
        self.record.merge(reader.record)

    # How far it goes

    def _range(self, index: Index) -> None:
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
        lows = {m.name: len(m.starts) - m.shift for m in self.members.values()}
        low = max(lows.values())
        late = [m for m in self.members.values() if lows[m.name] < low]
        if given is not None:
            first = given[0].constant
            if first is None or (first != low and late):
                pass
        for member in late:
            self._too_few(member, low - lows[member.name])
        found = [given] if given is not None else self._found(index)
        if not found:
            text = index.name
            hint = f"state it on the left: {text}=range(1, T)"
            fail(f"nothing says how far '{text}' goes", index.span, hint=hint)
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

    def _too_few(self, member: Member, more: int) -> None:
        missing = [len(member.starts) + k for k in range(more)]
        names = ", ".join(f"{member.name}[{k}] = ..." for k in missing)
        message = f"first entries of '{member.name}' have to be given"
        fail(message, member.span, hint=f"add {names}")

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
            for one, other in pairwise(self._in_turn(member)):
                if one - other != 1:
                    fail(f"first entries of '{member.name}' are apart", member.span)
        elif {at.constant for at in places} != set(range(len(places))):
            fail(f"first entries of '{member.name}' begin at 0", member.span)

    def _in_turn(self, member: Member) -> list[Dim]:
        """The places of first entries, in the order of steps."""
        places = list(member.starts)
        if not self.steps.backwards:
            return sorted(places, key=lambda at: at.constant or 0)
        ends = [at for at in places if all((at - x).is_nonnegative() for x in places)]
        if len(ends) != 1:
            fail(f"first entries of '{member.name}' are apart", member.span)
        return sorted(places, key=lambda at: (ends[0] - at).constant or 0)

    def _range_backwards(self) -> None:
        steps = self.steps
        tops = []
        for member in self.members.values():
            if member.starts:
                first = self._in_turn(member)
                tops.append(first[0] - len(first) - member.shift + 1)
        low = -min(member.shift for member in self.members.values())
        steps.low, steps.count = Dim.of(low), tops[0] - low
        for member in self.members.values():
            if member.shift != -low or any(top != tops[0] for top in tops):
                message = "what steps backwards ends at one step and at entry 0"
                fail(message, member.span)

    def _given(self, index: Index) -> tuple[Dim, Dim] | None:
        """The range that a left side states."""
        for side in self.sides.values():
            for place in side.places:
                if place.index == index.name and place.given is not None:
                    e = Statement(self.session, side.body, self.names)
                    self._stated(e, index, place.given)
                    low, high = e.ranges.bounds[index]
                    if not (low.terms or high.terms):
                        return low.const, high.const
        return None

    def _found(self, index: Index) -> list[tuple[Dim, Dim]]:
        """The ranges in which positions stay inside of arrays."""
        found: dict[tuple[Dim, Dim], None] = {}
        for member in self.members.values():
            e = Statement(self.session, member.body, self.names)
            e.scope[index.name] = index
            for tree in ast.walk(member.body.tree):
                if not (
                    isinstance(tree, ast.Subscript) and isinstance(tree.value, ast.Name)
                ):
                    continue
                thing = self.names.get(tree.value.id)
                if thing is None or thing.value is None:
                    continue
                whole = tree.slice
                items = whole.elts if isinstance(whole, ast.Tuple) else [whole]
                for item, dim in zip(items, thing.value.shape, strict=False):
                    own = {x.id for x in ast.walk(item) if isinstance(x, ast.Name)}
                    simple = isinstance(item, ast.Name | ast.BinOp)
                    if index.name in own and simple:
                        form = affine_form(e, item)
                        interval = form and _interval(form, index, dim)
                        if interval:
                            found[interval] = None
        return list(found)

    # States and steps

    def _states(self) -> None:
        """A place for each state: an entry of a name so many steps back."""
        for member in self.members.values():
            for lag, at in enumerate(reversed(self._in_turn(member)), 1):
                dims = member.starts[at].node.dims
                place = self.graph.fresh(dims, (), None)
                self.steps.states[member.name, lag] = place

    def _order(self) -> list[str]:
        """Names after those whose entries of the same step they need."""
        needs: dict[str, list[str]] = {}
        for name, member in self.members.items():
            needs[name] = []
            for tree in ast.walk(member.body.tree):
                if not isinstance(tree, ast.Subscript):
                    continue
                for other in self.members.values():
                    if _is_name(tree.value, other.name) and self._is_now(
                        member, other, tree
                    ):
                        needs[name].append(other.name)
        try:
            return list(TopologicalSorter(needs).static_order())
        except CycleError as error:
            ring = [str(name) for name in reversed(error.args[1])]
            message = f"entries of one step need each other: {' -> '.join(ring)}"
            fail(message, self.members[ring[0]].span)

    def _is_now(self, member: Member, other: Member, tree: ast.Subscript) -> bool:
        """Whether an entry is one of the same step."""
        whole = tree.slice
        parts = whole.elts if isinstance(whole, ast.Tuple) else [whole]
        if len(parts) <= other.axis:
            return False
        e = Statement(self.session, member.body, self.names)
        index = e.scope[self.steps.index.name] = self.steps.index
        form = affine_form(e, parts[other.axis])
        return form is not None and form == Form.atom(index) + other.shift

    def _step(self, member: Member) -> None:
        """Read the step of a name."""
        steps = self.steps
        known = {name: Thing("a recurrence") for name in self.members}
        names = Names(self.names.file, {**self.names.local, **known})
        e = Statement(self.session, member.body, names)
        e.steps = steps
        e.check_index(steps.index)
        e.scope[steps.index.name] = steps.index
        e.ranges.indices.append(steps.index)
        low, high = Form.constant(steps.low), Form.constant(steps.low + steps.count)
        e.ranges.bounds[steps.index] = Bounds(low, high)
        side = self.sides[member.name]
        places = [p for k, p in enumerate(side.places) if k != member.axis]
        value = self._valued(e, member.indices, places)
        if steps.index in value.batch:
            message = f"'{steps.index.name}' is compared with another index here"
            hint = "steps take entries at their index, and its value as a number"
            fail(message, member.span, hint=hint)
        whole = sum(p.index is None for p in places)
        self._check_rows(side, value, len(member.indices), whole)
        if member.starts:
            self._fits(e, member, value)
        member.value = value

    def _fits(self, e: Statement, member: Member, value: Array) -> None:
        """A step gives what the first entries are."""
        for at, start in member.starts.items():
            shown = tuple_text(start.node.dims), tuple_text(value.node.dims)
            message = (
                f"a step of '{member.name}' gives the shape {shown[1]}, but entry {at} "
                f"has {shown[0]}"
            )
            if start.node.order != value.node.order:
                fail(message, member.span)
            try:
                for one, other in zip(start.node.dims, value.node.dims, strict=True):
                    e.build.equal(one, other, message)
            except Misuse:
                fail(message, member.span)
        self.record.checks.update(e.record.checks)

    # What comes of it

    def _made(self) -> None:
        """Make the recurrence, and of its results the whole arrays."""
        graph, steps = self.graph, self.steps
        states: list[State] = []
        first: dict[str, int] = {}
        for member in self.members.values():
            turn = self._in_turn(member)
            first[member.name] = len(states)
            for lag, at in enumerate(reversed(turn), 1):
                before = steps.states.get((member.name, lag - 1))
                assert member.value is not None
                new = member.value.node if before is None else before
                place = steps.states[member.name, lag]
                states.append(State(place, member.starts[at].node, new))
        alone: list[Node] = []
        places = {*steps.items, *steps.states.values()}
        others = [m for m in self.members.values() if not m.starts]
        for member in others:
            assert member.value is not None
            if not can_be_at_once(member.value.node, places):
                alone.append(member.value.node)
        count, backwards = steps.count, steps.backwards
        whole = recurrence(graph, count, backwards, states, steps.items, alone)
        rows: dict[Node, Node] = dict(steps.items.items())
        for k, state in enumerate(states):
            rows[state.place] = whole.before(graph, k)
        at_once = AllSteps(graph, count, rows)
        for name, member in self.members.items():
            assert member.value is not None
            if member.starts:
                found = self._joined(member, whole, first[name])
            elif member.value.node in alone:
                found = whole.made(graph, alone.index(member.value.node))
            else:
                found = at_once.of(member.value.node)
            if member.starts and len(member.starts) == 1:
                graph.name(found, name)
            inner = tuple(k + (k >= member.axis) for k in range(found.order - 1))
            axes = [0] * found.order
            for k, axis in enumerate(inner, 1):
                axes[axis] = k
            self.whole[name] = Array(graph.permute(found, axes))
            if self.whole[name].node.order:
                graph.name(self.whole[name].node, name)

    def _joined(self, member: Member, whole: Recurrence, number: int) -> Node:
        """All entries of a name: the first ones, and those of steps."""
        graph, backwards = self.graph, self.steps.backwards
        history = whole.history(graph, number)
        turn = self._in_turn(member)[:-1]
        if not turn:
            return history
        rows = history.dims[0] + len(turn)
        out = ("row", *range(1, history.order))
        sizes: dict[object, Dim] = {"row": rows}
        shift = 0 if backwards else len(turn)
        spots: list[tuple[Node, Sequence[object], Dim, int]] = [
            (history, range(history.order), Dim.of(shift), 1)
        ]
        for k, at in enumerate(turn):
            place = rows - 1 - k if backwards else Dim.of(k)
            start = member.starts[at].node
            spots.append((start, range(1, history.order), place, 0))
        terms = []
        for node, labels, place, moves in spots:
            tie = delta({"row": 1, **({0: -1} if moves else {})}, -place)
            part = graph.product(out, [(node, labels)], constraints=[tie], sizes=sizes)
            terms.append((1, part, out))
        return graph.sum(out, terms)


def _is_name(tree: ast.expr, name: str) -> bool:
    return isinstance(tree, ast.Name) and tree.id == name


def _interval(form: Form, index: Index, length: Dim) -> tuple[Dim, Dim] | None:
    """Where a position that mentions the index alone stays inside of an axis."""
    if form.terms == Form.atom(index).terms:
        return -form.const, length - form.const
    if form.terms == (-Form.atom(index)).terms:
        return form.const - length + 1, form.const + 1
    return None
