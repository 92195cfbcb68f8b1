"""Slices and functions of entries: `f(x)[1:]` and `f(x[1:])` are one value.

Where all of `f(x)` is computed anyhow, entries of it are read, which is next to free;
else f is applied to the slice. So a function costs the same however it was spelled.
What of entries is left to say here is said of arrays, not of nodes (`ir/at.py`): only a
draft knows which of them are computed whole anyhow, and which slices share memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from tensorgen.arrays import operations as ops
from tensorgen.arrays.arrays import Array, array, below, bound, replacing
from tensorgen.arrays.cuts import operands_along
from tensorgen.arrays.places import WHOLE, Part, Slice
from tensorgen.arrays.statements import Loop, Scatter, Store, operands, rebuilt
from tensorgen.lower.draft import Draft, Repeat, Result, Value
from tensorgen.lower.plan import Plan
from tensorgen.passes.cost import CostModel

MOVES = 100
"""How often slices move past an operation; a draft has hardly ever as many."""


class Move(NamedTuple):
    """What replaces arrays; steps that are others now, and a value that is bound."""

    known: dict[Array, Array]
    steps: dict[int, Value]
    added: Value | None = None


def slice_alike(draft: Draft, results: Sequence[Result], plan: Plan) -> list[Result]:
    """Let a draft take slices before functions, or after those that it needs whole.

    Returns the results over what stands there then. What the user named is all that he
    called so. Ends: slices move down to what is read, and up to what is whole.
    """
    for _ in range(MOVES):
        move = _Uses(draft, results, plan).move()
        if move is None:
            break
        change = replacing(move.known)
        for k, step in enumerate(draft.steps):
            if k in move.steps:
                draft.steps[k] = move.steps[k]
            elif isinstance(step, Value):
                draft.steps[k] = replace(step, array=change(step.array))
            elif not isinstance(step, Repeat):
                draft.steps[k] = rebuilt(step, change)
        if move.added is not None:
            name = f"%{len(draft.steps):05}"
            draft.steps.append(
                replace(move.added, variable=bound(name, move.added.array))
            )
        results = [replace(own, array=change(own.array)) for own in results]
    return list(results)


class _Uses:
    """Who reads what in a draft."""

    def __init__(self, draft: Draft, results: Sequence[Result], plan: Plan) -> None:
        self.steps, self.named = draft.steps, plan.named
        self.cost = CostModel(plan.hints)
        self.values: dict[Array, Value] = {}
        self.places: dict[Array, int] = {}
        self.filled: dict[Array, int] = {}
        # What loops have, and what is returned or changed, stays the array that it is.
        kept = [own.array for own in results]
        roots: list[Array] = []
        for k, step in enumerate(draft.steps):
            if isinstance(step, Repeat):
                kept += below(step.arrays)
            elif isinstance(step, Loop):
                kept += below(operands(step))
            elif not isinstance(step, Value):
                roots += operands(step)
                kept += [step.target] if isinstance(step, Store | Scatter) else []
            elif step.filled:
                kept.append(step.array)
                self.filled[step.array] = k
            elif step.variable is not None:
                self.values[step.array] = step
                self.places[step.variable] = k
            elif step.node is not None:
                self.values.setdefault(step.array, step)
        self.kept = set(kept)
        self.roots = {*roots, *kept}
        made = [self.array(one) for one in self.places]
        self.order = list(below([*kept, *roots, *made]))
        self.users: dict[Array, list[Array]] = {}
        for one in self.order:
            for arg in dict.fromkeys(one.args):
                self.users.setdefault(arg, []).append(one)

    def array(self, variable: Array) -> Array:
        """What a variable is bound to."""
        step = self.steps[self.places[variable]]
        assert isinstance(step, Value)
        return step.array

    def move(self) -> Move | None:
        """The next slices that stand elsewhere; None where all do as they should."""
        return next(self._early(), None) or self._late()

    # Slices of what is read nowhere else, as functions of slices

    def _early(self) -> Iterator[Move]:
        for one in self.order:
            if not _is_slice(one) or one in self.kept or self._owner(one):
                continue
            (whole,) = one.args
            if whole in self.roots or self.users[whole] != [one]:
                continue
            value = self.array(whole) if whole in self.places else whole
            part = _part(one, value)
            if part is None or (value is whole and self._owner(whole)):
                continue
            if value is whole:
                yield Move({one: part}, {})
            elif value not in self.users and value not in self.roots:
                step = self.values[value]
                if isinstance(whole.op, ops.Variable) and step.node not in self.named:
                    own = bound(whole.op.name, part)
                    made = Value(step.node, part, own)
                    yield Move({one: own}, {self.places[whole]: made})

    # Functions of entries of what they are applied to anyhow, as entries

    def _late(self) -> Move | None:
        reads: dict[Array, dict[Array, Array]] = {}
        for one in self.order:
            found = self._entries(one)
            if found is not None and one not in self.kept and self._is_free(one):
                reads.setdefault(found.args[0], {})[one] = found
        for whole, parts in reads.items():
            steps: dict[int, Value] = {}
            added = None if self._owner(whole) else self._started(whole, parts, steps)
            if added is None and not self._owner(whole):
                continue
            known: dict[Array, Array] = {}
            for one, read in parts.items():
                known.update(self._read(one, read, steps))
            return Move(known, steps, added)
        return None

    def _started(
        self, whole: Array, parts: Mapping[Array, Array], steps: dict[int, Value]
    ) -> Value | None:
        """What binds an array that is needed whole; None where none is.

        What is changed from there on becomes a copy.
        """
        nodes = (self.values[one].node for one in parts if one in self.values)
        own = Value(next(nodes, None), whole)
        place = self.filled.get(whole)
        step = None if place is None else self.steps[place]
        if place is not None and isinstance(step, Value):
            if not isinstance(whole.op, ops.Elementwise):
                return None
            steps[place] = replace(step, array=array(ops.Copy(), whole))
            return own
        used = whole in self.users or whole in self.roots - self.kept
        known = self.values.get(whole)
        if used and known is not None:
            return known
        return own if self._is_covered(whole, [*parts.values()]) else None

    def _read(
        self, one: Array, read: Array, steps: dict[int, Value]
    ) -> dict[Array, Array]:
        """What replaces a function of entries, or the variable that is bound to it."""
        owner = self._owner(one)
        if owner is None:
            return {one: read}
        old = owner.variable
        assert old is not None and isinstance(old.op, ops.Variable)
        new = read
        if owner.node in self.named:
            new = bound(old.op.name, read)
            steps[self.places[old]] = Value(owner.node, read, new)
        else:
            steps[self.places[old]] = Value(owner.node, read)
        return {old: new}

    def _is_free(self, one: Array) -> bool:
        """Whether all who use an array may use another one."""
        owner = self._owner(one)
        if owner is None or owner.variable is None:
            return True
        alone = one not in self.users and one not in self.roots
        return alone and owner.variable not in self.kept

    def _is_covered(self, whole: Array, reads: Sequence[Array]) -> bool:
        """Whether slices along one axis reach all entries, and some of them twice.

        Nothing is computed then that nobody reads.
        """
        slices = [read for read in dict.fromkeys(reads) if _is_slice(read)]
        axes = {k for read in slices for k, part in _cut(read)}
        if len(slices) < len(reads) or len(axes) != 1:
            return False
        (axis,) = axes
        size = self.cost.value(whole.dims[axis])
        ends = sorted(
            self._ends(part, size) for read in slices for _, part in _cut(read)
        )
        reach = 0
        for first, stop in ends:
            if first > reach:
                return False
            reach = max(reach, stop)
        return reach == size < sum(stop - first for first, stop in ends)

    def _ends(self, part: Part, size: int) -> tuple[int, int]:
        """The first of some positions and the one behind the last; of gaps nothing."""
        assert isinstance(part, Slice)
        if part.step != 1:
            return 0, 0
        found = []
        for limit, open_end in ((part.start, 0), (part.stop, size)):
            place = open_end if limit is None else self.cost.value(limit.position)
            found.append(min(max(place + size * (place < 0), 0), size))
        return found[0], found[1]

    def _owner(self, one: Array) -> Value | None:
        step = self.values.get(one)
        return step if step is not None and step.variable is not None else None

    def _entries(self, one: Array) -> Array | None:
        """Entries of what an operation makes of whole arrays, for one of entries."""
        if not isinstance(one.op, ops.Entrywise):
            return None
        reads: dict[object, Array] = {}
        wholes: list[Array] = []
        for arg in one.args:
            found = arg
            if arg.order:
                inner = arg if isinstance(arg.op, ops.Index) else self._entries(arg)
                if inner is None:
                    return None
                found, *places = inner.args
                reads[inner.op, *places, found.dims] = inner
            wholes.append(found)
        if len(reads) != 1:
            return None
        (read,) = reads.values()
        whole = array(one.op, *wholes)
        return array(read.op, whole, *read.args[1:])


def _is_slice(one: Array) -> bool:
    """Whether an array is a part of another one with as many axes."""
    if not isinstance(one.op, ops.Index):
        return False
    parts = one.op.parts
    return len(parts) == one.args[0].order and all(isinstance(x, Slice) for x in parts)


def _cut(read: Array) -> list[tuple[int, Part]]:
    """The axes that a slice has less of, and what of them."""
    assert isinstance(read.op, ops.Index)
    return [(k, part) for k, part in enumerate(read.op.parts) if part != WHOLE]


def _part(read: Array, one: Array) -> Array | None:
    """What `read` reads of an array, of what that is made of entry by entry, or row by
    row: no function is applied to what is dropped, where it may have no value.

    None where slices would stand behind slices.
    """
    if not isinstance(one.op, ops.Entrywise | ops.MatMul):
        return None
    cut: list[dict[int, int]] = [{} for _ in one.args]
    for axis, _ in _cut(read):
        axes = operands_along(one, axis)
        if axes is None:
            return None
        for own, k in zip(cut, axes, strict=True):
            own.update({} if k is None else {k: axis})
    pairs = zip(one.args, cut, strict=True)
    args = [_inside(read, arg, own) if own else arg for arg, own in pairs]
    known = [arg for arg in args if arg is not None]
    return array(one.op, *known) if len(known) == len(args) else None


def _inside(read: Array, arg: Array, cut: Mapping[int, int]) -> Array | None:
    """The slices of an operand, of what it is made of, or as a view of slices."""
    index = _sliced(read, arg, cut)
    if isinstance(arg.op, ops.Entrywise):
        return _part(index, arg)
    if isinstance(arg.op, ops.Permute | ops.Expand):
        (inner,) = arg.args
        axes = [(operands_along(arg, axis), axis) for axis in cut]
        seen = {own[0]: axis for own, axis in axes if own and own[0] is not None}
        return array(arg.op, _sliced(index, inner, seen))
    return None if isinstance(arg.op, ops.Index) else index


def _sliced(read: Array, arg: Array, cut: Mapping[int, int]) -> Array:
    """The slices of an operand, whose axes are `cut` as those of what is read."""
    assert isinstance(read.op, ops.Index)
    parts: list[Part] = [WHOLE] * arg.order
    dims = list(arg.dims)
    for own, axis in cut.items():
        parts[own], dims[own] = read.op.parts[axis], read.dims[axis]
    return array(ops.Index(tuple(parts), tuple(dims)), arg)
