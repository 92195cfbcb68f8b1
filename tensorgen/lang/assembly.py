"""Arrays that are given entry by entry: `k[o, 0] = ...`, `k[o, 1] = ...`.

All entries are at constant places along some axes, and no step gives others: the array
stacks them along these axes. An entry may be made of others, in any order but a circle.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from itertools import count, product
from math import prod

from tensorgen.errors import fail
from tensorgen.ir.dims import Dim, tuple_text
from tensorgen.ir.index_text import subscript
from tensorgen.lang.affine import affine_form
from tensorgen.lang.grouping import mentioned
from tensorgen.lang.index_forms import Index
from tensorgen.lang.reach import go_as_far
from tensorgen.lang.scope import Names, Record, Thing
from tensorgen.lang.sides import Noted, Side, check_rows, note_range
from tensorgen.lang.statement import Session, Statement
from tensorgen.lang.subscripts import select
from tensorgen.lang.syntax import places_of, with_places
from tensorgen.operators.functions.array import Array
from tensorgen.operators.functions.making import stack

Key = tuple[int, ...]


def assembled(sides: Sequence[Side]) -> dict[str, list[Side]]:
    """The definitions of names that have entries at constant places alone.

    A first entry alone lacks its step rather than others.
    """
    found: dict[str, list[Side]] = {}
    for side in sides:
        found.setdefault(side.definition.name, []).append(side)
    return {
        name: own
        for name, own in found.items()
        if all(side.is_start for side in own)
        if len(own) > 1 or any(any(_key(side)) for side in own)
    }


def parts(sides: Sequence[Side]) -> list[list[Side]]:
    """What steps, and what is put together of its entries, the one before the other.

    Lines that stand between each other need not need each other.
    """
    names = {*assembled(sides)}
    given = [side for side in sides if side.definition.name in names]
    steps = [side for side in sides if side.definition.name not in names]
    stepping = {side.definition.name for side in steps}
    needed = any(mentioned(side.body) & stepping for side in given)
    if needed and any(mentioned(side.body) & names for side in steps):
        return [[*sides]]
    return [part for part in ((steps, given) if needed else (given, steps)) if part]


def _key(side: Side) -> Key:
    """Where an entry stands along the axes of constant places."""
    found = []
    for place in side.places:
        if place.at is not None:
            at = place.at.constant
            if at is None or at < 0 or at != int(at):
                hint = "they are numbered 0, 1, 2, and a step computes all others"
                name = str(place.at)
                if name.isidentifier():
                    # Beside numbers of entries, what is a dim is no index.
                    hint += f"; an index needs another name than the dim '{name}'"
                message = f"'{side.definition.name}' has no step, and this is no number"
                fail(f"{message} of an entry", place.span, hint=hint)
            found.append(int(at))
    return tuple(found)


class Assembly:
    """Names whose entries are given one by one, while their right sides are read."""

    index = None

    def __init__(
        self, session: Session, names: Names, sides: Mapping[str, Sequence[Side]]
    ) -> None:
        self.session = session
        known = {name: Thing("a local definition") for name in sides}
        self.names = names.knowing(known)
        self.record = Record()
        self.axes: dict[str, tuple[int, ...]] = {}
        self.sides: dict[str, dict[Key, Side]] = {}
        self.values: dict[tuple[str, Key], Array | None] = {}
        for name, own in sides.items():
            self.sides[name] = self._entries(name, own)

    @property
    def members(self) -> Mapping[str, object]:
        """The names."""
        return self.sides

    def arrays(self) -> dict[str, Array]:
        """Return the array of each name."""
        return {name: self._whole(name) for name in self.sides}

    def _entries(self, name: str, sides: Sequence[Side]) -> dict[Key, Side]:
        """The definition of each entry; all entries are there, and each once."""
        found: dict[Key, Side] = {}
        for side in sides:
            axes = tuple(k for k, p in enumerate(side.places) if p.at is not None)
            first = next(iter(found.values()), side)
            if self.axes.setdefault(name, axes) != axes:
                marks = [(first.span, "one entry"), (side.span, "another")]
                message = f"the entries of '{name}' are numbered along different axes"
                fail(message, side.span, marks=marks)
            other = found.setdefault(_key(side), side)
            if other is not side:
                marks = [(other.span, "first here"), (side.span, "and here")]
                fail(f"'{name}' has this entry twice", side.span, marks=marks)
        sizes = _sizes(found)
        if len(found) < prod(sizes):
            # Sizes may be far too large to walk through.
            keys = (_numbered(k, sizes) for k in range(len(found) + 1))
            missing = next(key for key in keys if key not in found)
            side = max(found.items())[1]
            numbers = map(str, missing)
            texts = [
                next(numbers) if p.at is not None else p.index or ":"
                for p in side.places
            ]
            entry = f"{name}[{', '.join(texts)}]"
            message = f"the entry {entry} is missing"
            fail(message, side.span, hint=f"add {entry} = ..., or number from 0 on")
        return found

    def _whole(self, name: str) -> Array:
        """All entries, stacked along the last of the axes first."""
        arrays = {key: self._entry(name, key) for key in self.sides[name]}
        first, *others = arrays.items()
        for key, value in others:
            if value.shape != first[1].shape:
                own, shape = tuple_text(value.shape), tuple_text(first[1].shape)
                side = self.sides[name][key]
                entries = f"of '{name}' entry {_shown(key)} has the shape {own}"
                message = f"{entries}, but entry {_shown(first[0])} has {shape}"
                fail(message, side.span)
        build = Statement(self.session, self._side(name).body, self.names).build
        sizes = _sizes(arrays)
        for depth in reversed(range(len(sizes))):
            axis = self.axes[name][depth] - depth
            arrays = {
                key: stack(build, [arrays[*key, k] for k in range(sizes[depth])], axis)
                for key in product(*map(range, sizes[:depth]))
            }
        whole = arrays[()]
        self.session.graph.name(whole.node, name)
        return whole

    def _side(self, name: str) -> Side:
        return next(iter(self.sides[name].values()))

    def _entry(self, name: str, key: Key) -> Array:
        """An entry, with its axes in the order of the places on the left."""
        side = self.sides[name][key]
        if (name, key) not in self.values:
            self.values[name, key] = None
            self.values[name, key] = self._read(side)
        value = self.values[name, key]
        if value is None:
            message = f"entry {_shown(key)} of '{name}' needs itself"
            fail(message, side.span, hint="a step is written x[t + 1] = ... x[t]")
        return value

    def _read(self, side: Side) -> Array:
        places = [place for place in side.places if place.at is None]
        indices = [place for place in places if place.index is not None]
        left = [Index(str(p.index), p.span, True) for p in indices]
        e = Statement(self.session, side.body, self.names)
        e.steps = self
        for k, (index, place) in enumerate(zip(left, indices, strict=True)):
            if place.given is not None:
                self.record.merge(note_range(e, index, place.given))
            else:
                self._as_others(e, side, k, index)
        value = e.elaborate(left)
        self.record.merge(e.record)
        if value is None:
            raise Noted
        check_rows(side, value, len(places))
        numbers, own = iter(range(len(left))), count(len(left))
        axes = [next(own if p.index is None else numbers) for p in places]
        axes += range(len(places), value.order)
        return Array(self.session.graph.permute(value.node, axes))

    def _as_others(self, e: Statement, side: Side, number: int, index: Index) -> None:
        """Give an index of which an entry's text says nothing the range of others."""
        for other in self.sides[side.definition.name].values():
            names = [p.index for p in other.places if p.at is None and p.index]
            if other is not side and number < len(names):
                go_as_far(e, index, other.body, Index(names[number], None, True))

    # What a right side asks

    def entry(self, e: Statement, tree: ast.Subscript) -> tuple[bool, Array | None]:
        """Return an entry of one of the names; whether it is one comes first."""
        base = tree.value
        if not isinstance(base, ast.Name) or base.id not in self.sides:
            return False, None
        places = places_of(tree)
        key = list[Dim | None]()
        for axis in reversed(self.axes[base.id]):
            at = places.pop(axis) if axis < len(places) else None
            form = (
                None if at is None or isinstance(at, ast.Slice) else affine_form(e, at)
            )
            key.insert(0, None if form is None or form.terms else form.const)
        numbers = tuple(None if at is None else at.constant for at in key)
        known = next((k for k in self.sides[base.id] if k == numbers), None)
        if known is None:
            message = f"'{base.id}' has no such entry while it is assembled"
            hint = f"entries are taken one by one, as in {self._example(base.id)}"
            e.fault(message, tree, [(self._side(base.id).span, "here")], hint)
            return True, None
        found = self._entry(base.id, known)
        if not places:
            return True, found
        return True, select(e, found, with_places(tree, tree.value, places))

    def _example(self, name: str) -> str:
        definition = self._side(name).definition
        return subscript(name, definition.places)

    def whole(self, e: Statement, name: str, tree: ast.expr) -> None:
        """Report a name without an entry."""
        message = f"'{name}' is assembled here, and no whole array yet"
        hint = f"take one of its entries, as in {self._example(name)}"
        e.fault(message, tree, [(self._side(name).span, "here")], hint)

    def by_entry(self, e: Statement, tree: ast.Call) -> None:
        """Nothing here is a variable."""

    def number(self, e: Statement) -> Array:
        """No index numbers steps here."""
        raise NotImplementedError


def _sizes(keys: Mapping[Key, object]) -> list[int]:
    return [1 + max(numbers) for numbers in zip(*keys, strict=True)]


def _numbered(number: int, sizes: Sequence[int]) -> Key:
    """An entry by its number in C order."""
    key = list[int]()
    for size in reversed(sizes):
        number, at = divmod(number, size)
        key.insert(0, at)
    return tuple(key)


def _shown(key: Key) -> str:
    return ", ".join(map(str, key))
