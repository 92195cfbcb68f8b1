"""Definitions by steps: `x[0] = x0` and `x[t + 1] = tanh(A @ x[t] + u[t])`.

Names that refer to each other's earlier entries step together, as one recurrence. Its
first entries are read like everything else, what is left as one step.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, partial
from graphlib import CycleError, TopologicalSorter

from tensorgen.errors import Span, SpecError, fail
from tensorgen.ir.dims import Dim, tuple_text
from tensorgen.ir.nodes import Call, Map, Node, Product, Sum
from tensorgen.lang.affine import affine_form
from tensorgen.lang.assembly import Assembly, assembled, parts
from tensorgen.lang.facts import Bounds, Interval
from tensorgen.lang.followers import find_followers, is_cheap_twice
from tensorgen.lang.grouping import Line, mentioned
from tensorgen.lang.index_forms import Form, Index
from tensorgen.lang.later_steps import delay
from tensorgen.lang.reach import Reach, go_as_far, in_turn, positions
from tensorgen.lang.scope import Names, Record, Thing
from tensorgen.lang.sides import (
    Noted,
    Place,
    Side,
    check_rows,
    is_name,
    note_range,
    read_side,
)
from tensorgen.lang.statement import Session, Statement
from tensorgen.lang.step_hints import as_list, longer
from tensorgen.lang.stepped_arrays import Stepped
from tensorgen.lang.stepping import Member, Stepping
from tensorgen.lang.syntax import Expression, places_of, with_index
from tensorgen.lang.two_index_steps import table
from tensorgen.operators.functions.array import Array, Misuse
from tensorgen.operators.recurrences.recurrence import Runs, later
from tensorgen.spec.model import Checkpoint

Found = dict[str, tuple[Array | None, Record]]


def elaborate_steps(
    session: Session,
    unit: Sequence[Line],
    names: Names,
    checkpoint: Checkpoint | None = None,
) -> Found:
    """Return the arrays that definitions by steps give, and what their texts use."""
    try:
        sides = [read_side(session, names, line) for line in unit]
        found: Found = {}
        for part in parts(sides):
            known = {x: Thing("a local definition", *own) for x, own in found.items()}
            seen = names.knowing(known)
            found |= _elaborated(session, part, seen, checkpoint)
    except SpecError as error:
        session.faults.extend(error.diagnostics)
    except Noted:
        pass
    else:
        return found
    return {line[0].name: (None, Record()) for line in unit}


def _elaborated(
    session: Session, sides: Sequence[Side], names: Names, checkpoint: Checkpoint | None
) -> Found:
    """The arrays of names that all step, or are all put together."""
    own = assembled(sides)
    if sum(map(len, own.values())) == len(sides):
        assembly = Assembly(session, names, own)
        made = assembly.arrays()
        return {name: (array, assembly.record) for name, array in made.items()}
    group = _Group(session, names, checkpoint)
    if (found := table(session, names, sides)) is not None:
        group.read(found.over_diagonals())
        return found.made(group.whole[found.diagonals], group.record)
    group.read(sides)
    return {name: (whole, group.record) for name, whole in group.whole.items()}


def _shift(side: Side) -> int:
    """How far behind the index of the steps the entry is that a step gives."""
    return next((p.shift for p in side.places if p.shift is not None), 0)


class _Group:
    """Definitions that step together."""

    def __init__(
        self, session: Session, names: Names, checkpoint: Checkpoint | None
    ) -> None:
        self.session = session
        self.checkpoint = checkpoint
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
                hint = as_list(self.session, self.names, side, sides)
                fail(f"'{name}' has two steps", side.span, marks=marks, hint=hint)
            else:
                self.sides[name] = side
        for name, own in starts.items():
            if name not in self.sides:
                hint = f"add its step: {name}[t + 1] = ..., or its other entries"
                message = f"of '{name}' there are first entries alone"
                fail(message, own[0].span, hint=hint)
        index = self._index(starts)
        for name, side in self.sides.items():
            self.members[name] = self._member(side, starts[name], index)
        self.steps = Stepping(self.members, index)
        reach = Reach(self.session, self.names, self.record, self.sides, self.steps)
        reach.check_stated(index)
        in_file = [(name, side) for name, own in starts.items() for side in own]
        for name, side in sorted(in_file, key=lambda x: x[1].span.start):
            self._start(self.members[name], side)
        reach.find(index)
        if not self._are_read([m for m in self.members.values() if not m.starts]):
            delay(self.steps, self._entries)
        for member in find_followers(self.steps, self._entries):
            self.steps.followers[member.name] = cache(partial(self._followed, member))
        self._early()
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
                    if place.index is not None and not is_name(at, place.index):
                        found.setdefault(place.index, place.span)
        if not found:
            side = next(iter(self.sides.values()))
            name = side.definition.name
            hint = (
                f"say which entry: {name}[t + 1] = ... {name}[t], and {name}[0] = ..."
            )
            fail(f"'{name}' is defined by itself", side.span, hint=hint)
        behind = {len(starts[name]) - _shift(side) for name, side in self.sides.items()}
        if len(found) > 1 and len(behind) > 1:
            marks = [(span, name) for name, span in found.items()]
            message = "what steps together has one index for the steps"
            fail(message, marks[1][0], marks=marks, hint="rename one of them")
        text, span = next(iter(found.items()))
        return Index(text, span)

    def _references(self, side: Side) -> Iterator[tuple[Place, ast.expr]]:
        """The places at which the right side of a name takes entries of its own."""
        for tree in ast.walk(side.body.tree):
            if isinstance(tree, ast.Subscript) and is_name(
                tree.value, side.definition.name
            ):
                yield from zip(side.places, places_of(tree), strict=False)

    def _member(self, side: Side, starts: Sequence[Side], index: Index) -> Member:
        name = side.definition.name
        axis = side.axis if side.axis is not None or not starts else starts[0].axis
        if axis is None or axis >= len(side.places) or not side.places[axis].index:
            axes = [k for k, p in enumerate(side.places) if p.index == index.name]
            if len(axes) != 1:
                message = f"'{name}' steps with others along '{index.name}'"
                fail(message, side.span, hint=f"write {name}[{index.name}] = ...")
            (axis,) = axes
        side.check_starts(axis, starts)
        others = [p for k, p in enumerate(side.places) if k != axis]
        own = [
            None if p.index is None else Index(p.index, p.span, True) for p in others
        ]
        body = with_index(side.body, side.places[axis].index or "", index.name)
        return Member(name, side.definition, body, axis, _shift(side), own)

    def _start(self, member: Member, side: Side) -> None:
        """Read a first entry."""
        assert side.axis is not None
        at = side.places[side.axis].at
        assert at is not None
        if at in member.starts:
            fail(f"'{member.name}' has this entry twice", side.span)
        member.starts[at] = self._first(member, side, side.body)

    def _first(self, member: Member, side: Side, body: Expression) -> Array:
        """The value of a first entry, which may read others that are known.

        It has as many entries as the step, where it says nothing of that itself.
        """
        places = [p for k, p in enumerate(side.places) if k != member.axis]
        left = [Index(p.index, p.span, True) for p in places if p.index is not None]
        e = Statement(self.session, body, self.names)
        e.steps = self.steps
        both = zip(places, member.others, strict=False)
        steps = [step for place, step in both if place.index is not None]
        for index, step in zip(left, steps, strict=False):
            if step is not None:
                go_as_far(e, index, member.body, step)
        value = self._valued(e, left, places)
        check_rows(side, value, len(places))
        return value

    def _are_read(self, members: Sequence[Member]) -> bool:
        """Whether something may read names that step but the steps themselves."""
        own = {id(side.body) for side in self.sides.values()}
        texts = [x for x in self.names.texts if id(x) not in own]
        names = {member.name for member in members}
        mentions = [*map(mentioned, texts), self.names.returned]
        return not texts or any(not names.isdisjoint(x) for x in mentions)

    def _entries(self, member: Member) -> Iterator[tuple[Member, Form | None]]:
        """The entries of names that step which a right side takes, and where."""
        e = Statement(self.session, member.body, self.names)
        e.scope[self.steps.index.name] = self.steps.index
        for tree, places in positions(member.body.tree):
            for other in self.members.values():
                if is_name(tree.value, other.name):
                    at = places[other.axis] if other.axis < len(places) else None
                    whole = at is None or isinstance(at, ast.Slice)
                    yield other, None if whole or at is None else affine_form(e, at)

    def _early(self) -> None:
        """Take from the first steps what others have as first entries.

        With `h[0]` given, `e[t] = y[t] - h[t]` and `h[t] = a*e[t - 1]` have steps from
        1 on, and `e[0] = y[0] - h[0]`.
        """
        index, members = self.steps.index.name, self.members.values()
        if any(at.constant is None for m in members for at in m.starts):
            return
        lows = {m.name: len(m.starts) - m.shift for m in members}
        for step in range(min(lows.values()), max(lows.values())):
            for name in self._order():
                member = self.members[name]
                if lows[name] <= step:
                    self._exists(member, step)
                    body = with_index(member.body, index, step)
                    at = Dim.of(step + member.shift)
                    member.starts[at] = self._first(member, self.sides[name], body)

    def _exists(self, member: Member, step: int) -> None:
        """Positions of an entry that others ask for do not count from the end."""
        e = Statement(self.session, member.body, self.names)
        index = e.scope[self.steps.index.name] = self.steps.index
        taken = [x for _, items in positions(member.body.tree) for x in items]
        for item in (x for x in taken if not isinstance(x, ast.Slice)):
            form = affine_form(e, item)
            if form is None or form.mentioned != (index,):
                continue
            shift = (form - Form.atom(index)).const.constant
            if shift is not None and shift + step < 0:
                name, at = member.name, step + member.shift
                message = f"the step of '{name}' does not define entry {at}"
                hint = f"number its entries from 0 on, as in {name}[{index.name}] = ..."
                fail(message, member.span, hint=hint)

    def _valued(
        self,
        e: Statement,
        left: Sequence[Index],
        places: Sequence[Place],
        front: Sequence[Index] = (),
    ) -> Array:
        """Read a right side, over the indices on the left, those in front first."""
        for index, place in zip(left, [p for p in places if p.index], strict=True):
            if place.given is not None:
                self.record.merge(note_range(e, index, place.given))
        value = e.elaborate([*front, *left])
        self.record.merge(e.record)
        if value is None:
            raise Noted
        return value

    # States and steps

    def _states(self) -> None:
        """A place for each state: an entry of a name so many steps back."""
        for member in self.members.values():
            for lag, at in enumerate(
                reversed(in_turn(member, self.steps.backwards)), 1
            ):
                dims = member.starts[at].node.dims
                place = self.graph.fresh(dims, (), None)
                self.steps.states[member.name, lag] = place

    def _order(self) -> list[str]:
        """Names after those whose entries of the same step they need."""
        needs, now = self.steps.needs, Form.atom(self.steps.index)
        for name, member in self.members.items():
            read = self._entries(member)
            needs[name] = [x.name for x, form in read if form == now + x.shift]
        try:
            return list(TopologicalSorter(needs).static_order())
        except CycleError as error:
            ring = [str(name) for name in reversed(error.args[1])]
            message = f"entries of one step need each other: {' -> '.join(ring)}"
            fail(message, self.members[ring[0]].span)

    def _read_step(self, member: Member, body: Expression) -> tuple[Statement, Array]:
        """Read the step of a name, or the text of another step."""
        steps = self.steps
        known = {name: Thing("a recurrence") for name in self.members}
        e = Statement(self.session, body, self.names.knowing(known))
        e.steps = steps
        e.check_index(steps.index)
        e.scope[steps.index.name] = steps.index
        e.ranges.indices.append(steps.index)
        low, high = Form.constant(steps.low), Form.constant(steps.low + steps.count)
        e.ranges.bounds[steps.index] = Bounds(low, high)
        for start in member.starts.values():
            # A step makes what the first entries are, if it says nothing of that.
            for index, size in zip(member.indices, start.node.dims, strict=False):
                e.ranges.otherwise.setdefault(index, Interval(Dim(), size))
        value = self._valued(e, member.indices, self._places(member))
        follows = not member.starts or member.name in steps.followers
        if isinstance(value.node, Product | Sum | Map | Call):
            if follows:
                self.graph.name(value.node, member.name)
            else:
                self.graph.suggest(value.node, later(steps.backwards, member.name))
        return e, value

    def _places(self, member: Member) -> list[Place]:
        """What stands between the brackets on the left but the index of the steps."""
        places = self.sides[member.name].places
        return [place for k, place in enumerate(places) if k != member.axis]

    def _followed(self, member: Member, lag: int) -> Array | None:
        """An entry so many steps back, of others; None where a state is better."""
        t, sign = self.steps.index.name, "+" if self.steps.backwards else "-"
        body = with_index(member.body, t, f"{t} {sign} {lag}")
        lags = {x.name: x.lags for x in self.members.values()}
        _, found = self._read_step(member, body)
        if is_cheap_twice(found.node, [*self.steps.items, *self.steps.states.values()]):
            return found
        for name, known in lags.items():
            self.members[name].lags = known
        return None

    def _step(self, member: Member) -> None:
        steps, side = self.steps, self.sides[member.name]
        e, value = self._read_step(member, member.body)
        if steps.index in value.batch:
            message = f"'{steps.index.name}' is compared with another index here"
            hint = "steps take entries at their index, and its value as a number"
            fail(message, member.span, hint=hint)
        check_rows(side, value, len(self._places(member)))
        if member.starts:
            self._fits(e, member, value)
        member.value = value

    def _fits(self, e: Statement, member: Member, value: Array) -> None:
        """A step gives what the first entries are."""
        for at, start in member.starts.items():
            shown = tuple_text(start.node.dims), tuple_text(value.node.dims)
            message = (
                f"a step of '{member.name}' has the shape {shown[1]}, but entry {at} "
                f"has {shown[0]}"
            )
            if start.node.order != value.node.order:
                fail(message, member.span)
            try:
                for one, other in zip(start.node.dims, value.node.dims, strict=True):
                    e.build.equal(one, other, message)
            except Misuse:
                fail(message, member.span, hint=longer(member, start, value))
        self.record.checks.update(e.record.checks)

    # What comes of it

    def _made(self) -> None:
        """Make the recurrence, and of its results the whole arrays."""
        stepped = Stepped(self.graph, self.steps, self._runs())
        for name in sorted(self._order(), key=self.steps.followers.__contains__):
            member = self.members[name]
            is_of_whole = name in self.steps.followers and not stepped.is_made(member)
            found = (self._of_whole if is_of_whole else stepped.entries)(member)
            if member.starts and len(member.starts) == 1:
                self.graph.name(found, name)
            inner = tuple(k + (k >= member.axis) for k in range(found.order - 1))
            axes = [0] * found.order
            for k, axis in enumerate(inner, 1):
                axes[axis] = k
            self.whole[name] = Array(self.graph.permute(found, axes))
            if self.whole[name].node.order:
                self.graph.name(self.whole[name].node, name)

    def _of_whole(self, member: Member) -> Node:
        """All entries of what follows from others of its step."""
        known = {name: Thing("a local definition", x) for name, x in self.whole.items()}
        e = Statement(self.session, member.body, self.names.knowing(known))
        low, high = self.steps.low, self.steps.low + self.steps.count
        index = Index(self.steps.index.name, self.steps.index.span, True)
        first = low - len(member.starts)
        e.ranges.bounds[index] = Bounds(Form.constant(first), Form.constant(high))
        return self._valued(e, member.indices, self._places(member), [index]).node

    def _runs(self) -> Runs | None:
        """The runs of steps, the sizes of which have names that nothing else has."""
        if self.checkpoint is None:
            return None
        taken, end = {*self.names.file, *self.names.local}, ""
        while True:
            runs = Runs.of(self.steps.count, self.checkpoint.length, end)
            sizes = (runs.length, runs.count, runs.width)
            if taken.isdisjoint(x for dim in sizes for x in dim.symbols):
                return runs
            end += "_"
