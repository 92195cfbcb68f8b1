"""Code with kernels in place of what is done entry by entry.

Statements that only bind names are values; what kernels make of these they make where
the first of it is read. All other statements stay where they are, and see what stood
before them. A loop's body is code of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace

from tensorgen.arrays.array_names import arithmetic_name, stem, sum_name
from tensorgen.arrays.arrays import Array, array, variable
from tensorgen.arrays.code import Code
from tensorgen.arrays.entrywise import launches
from tensorgen.arrays.kernel_runs import Run, Whole
from tensorgen.arrays.kernel_text import Spoken, spoken
from tensorgen.arrays.object_operations import Launch
from tensorgen.arrays.operations import (
    Elementwise,
    InnerProduct,
    MatMul,
    Reduce,
    Variable,
)
from tensorgen.arrays.placed import (
    Placed,
    fits_in,
    is_free,
    is_written_at_once,
    joined,
    place_of,
    with_sum,
)
from tensorgen.arrays.regions import Graph, Region, terms_of
from tensorgen.arrays.statements import (
    Let,
    Loop,
    Release,
    Return,
    Statement,
    Store,
    Unpack,
    bindings,
    bound_names,
    changed,
    everything,
    operands,
    reads,
    rebuilt,
)
from tensorgen.operators.elementwise import ELEMENTWISE


def fused(code: Code, results: Sequence[str] = (), kept: Collection[str] = ()) -> Code:
    """Return code in which kernels do what is done entry by entry.

    `results` are what may be called what is returned; names that are `kept` are read by
    who has the code.
    """
    lines = [*code.statements, Return(code.returns)]
    whole = Whole(lines, results, kept)
    *found, end = _with_kernels(whole, lines)
    assert isinstance(end, Return)
    return replace(code, statements=_without(found, lines), returns=end.values)


def _without(
    lines: Sequence[Statement], before: Sequence[Statement]
) -> tuple[Statement, ...]:
    """Lines that give up no name that was bound before and is not bound any more."""
    gone = {*bound_names(everything(before))} - {*bound_names(everything(lines))}
    found: list[Statement] = []
    for line in lines:
        if isinstance(line, Release):
            names = tuple(x for x in line.names if x not in gone)
            found += [Release(names)] if names else []
        elif isinstance(line, Loop):
            found.append(replace(line, body=_without(line.body, before)))
        else:
            found.append(line)
    return tuple(found)


def _with_kernels(whole: Whole, lines: Sequence[Statement]) -> list[Statement]:
    """Lines with kernels: runs of statements, each with the one that ends it."""
    found: list[Statement] = []
    run = Run(whole)
    for line in lines:
        if isinstance(line, Loop | Release):
            found += _ended(run)
            run = Run(whole)
            if isinstance(line, Loop):
                line = replace(line, body=tuple(_with_kernels(whole, line.body)))
            found.append(line)
            continue
        if run.is_stale(line):
            found += _ended(run)
            run = Run(whole)
        if not run.takes(line):
            found += _ended(run, line)
            run = Run(whole)
    return found + _ended(run)


def _ended(run: Run, end: Statement | None = None) -> list[Statement]:
    """The statements of a run with kernels, and the one that ends it.

    Where something is added to entries, the sum with them is made by a kernel if that
    saves a launch.
    """
    plain = [*run.statements, *([end] if end is not None else [])]
    own = [with_sum(one) if isinstance(one, Store) else one for one in plain]
    while own:
        found = _Fusing(run, own, end is not None)
        kept = [
            new if new is old or found.makes(new) else old
            for new, old in zip(own, plain, strict=True)
        ]
        if kept == own:
            return found.lines()
        own = kept
    return []


class _Fusing:
    """Writes a run with kernels."""

    def __init__(self, run: Run, own: Sequence[Statement], ends: bool) -> None:
        self.run, self.own = run, own
        self.end = own[-1] if ends else None
        self.effects = [
            *(
                x
                for x, old in zip(own, run.statements, strict=False)
                if old in run.effects
            ),
            *([self.end] if self.end is not None else []),
        ]
        inner = Counter(x for line in own for x in reads(operands(line)))
        asked: Counter[Array] = Counter()
        roots: list[Array] = []
        for name, value in run.values.items():
            roots.append(value)
            # Read elsewhere, or by nobody that is seen: sizes are read in other ways.
            known = launches(value) or terms_of(value)
            if run.whole.read[name] > inner[name] or not known:
                asked[value] += 1
        barred: list[Array] = []
        self.words: dict[Array, str] = {}
        for line in self.effects:
            values = [run.resolved(one) for one in operands(line)]
            roots += values
            asked.update(values)
            if isinstance(line, Store) and line.how == "out=":
                barred.append(values[-1])
            if isinstance(line, Return):
                self.words |= dict(zip(values, run.whole.results, strict=False))
            self.words |= {run.resolved(x): name for name, x in bindings(line)}
        order = _ordered(roots)
        self.graph = Graph(order, run.named, asked, barred)
        self.regions = self.graph.regions()
        self.of: dict[Array, Region] = {
            one: region for region in self.regions for one in region.outputs
        }
        self.said: dict[Region, Spoken] = {}
        self.done: set[str] = set()
        self.found: list[Statement] = []
        self.made: list[Statement] = []
        self.memo: dict[Array, Array] = {}
        inside = {x for region in self.regions for x in region.inside}
        self.hidden = inside - self.of.keys()
        # What is made where it is stored, perhaps under a name.
        self.placed: dict[Array, Store] = {}
        for line in self.effects:
            if isinstance(line, Store) and (stored := self._placed(line)) is not None:
                self.placed.setdefault(stored, line)
        nameless = {
            value: line
            for value, line in self.placed.items()
            if value not in run.named and launches(value)
        }
        self.groups = joined(own, nameless)

    def makes(self, line: Statement) -> bool:
        """Whether a kernel makes what a statement stores."""
        return isinstance(line, Store) and self.run.resolved(line.value) in self.of

    def lines(self) -> list[Statement]:
        """The statements, each where the first of what it makes was made."""
        needed = self._needed()
        for line in self.own:
            if line in self.effects:
                self._do(line)
                continue
            for name, _ in bindings(line):
                if (value := self.run.values[name]) in needed:
                    self._bind(name, value)
        return self.found

    def _do(self, line: Statement) -> None:
        """Append a statement that is no value, or what makes its value in its place."""
        if isinstance(line, Let):
            if line.name in self.done:
                return
            self.done.add(line.name)
        if isinstance(line, Store):
            value = self.run.resolved(line.value)
            if self.placed.get(value) is line:
                if name := self.run.named.get(value):
                    self._bind(name, value)
                else:
                    self._place(value)
                return

        def ended(one: Array) -> Array:
            # What it binds is its own, and no alias.
            value = self.run.resolved(one)
            own = isinstance(line, Let) and not isinstance(one.op, Variable)
            alias = own and value in self.run.named
            return self._made(value) if alias else self.plain(value)

        self.found.append(rebuilt(line, ended))

    def _placed(self, line: Store) -> Array | None:
        """What is made where a statement stores it, if that may be.

        It may have a name where nothing else is ever stored there.
        """
        value = self.run.resolved(line.value)
        name = self.run.named.get(value)
        if name is not None:
            whole = self.run.whole
            if value.dims != line.at.dims:
                return None
            alone = all(whole.changes[x] == 1 for x in changed(line))
            free = alone and is_free(line, self.graph.order)
            if not free or name in whole.returned:
                return None
        region = self.of.get(value)
        if region is not None:
            alone = not region.adds and len(region.outputs) == 1
            return value if alone and fits_in(value, line, region.given) else None
        at_once = is_written_at_once(value, line) and fits_in(value, line, value.args)
        return value if at_once else None

    def _place(self, value: Array) -> None:
        """Append the statements that make a value where it is stored."""
        line, name = self.placed[value], self.run.named.get(value)
        self._begin(line)
        group = next((x for x in self.groups if value in x), {})
        if group:
            self._place_all(group)
            return
        if region := self.of.get(value):
            call = self._called(region, place_of(line))
            stored = replace(line, how="out=", value=call)
            self.found.append(Let(name, call) if name else stored)
            return
        made = array(value.op, *map(self.plain, value.args))
        self.found.append(replace(line, how="out=", value=made))
        self.found += [Let(name, place_of(line))] if name else []

    def _place_all(self, group: Placed) -> None:
        """Append the launch that makes what is stored one behind the other."""
        *_, last = group.values()
        if last in self.made:
            return
        self.made += [*group.values()]
        found: list[Array] = []
        for one in group:
            found += self.of[one].members if one in self.of else (one,)
        for line in group.values():
            self._begin(line)
        region = Region(self.graph.ordered(found), (*group,))
        call = self._called(region, *map(place_of, group.values()))
        self.found.append(replace(last, how="out=", value=call))

    def _begin(self, line: Store) -> None:
        """Append what makes the array where something is stored, if it is not there."""
        for one in self.effects:
            if isinstance(one, Let) and one.name in changed(line):
                self._do(one)

    def _needed(self) -> set[Array]:
        """The values with names that are arrays, and not only in kernels."""
        found: set[Array] = set()
        seen: set[Array] = set()
        waiting = [x for x in self.run.values.values() if x not in self.hidden]
        for line in self.effects:
            waiting += map(self.run.resolved, operands(line))
        while waiting:
            one = waiting.pop()
            if one in seen:
                continue
            seen.add(one)
            if one in self.run.named:
                found.add(one)
            if one in self.of:
                waiting += self._spoken(self.of[one]).given
            else:
                waiting += one.args
        return found

    def _spoken(self, region: Region) -> Spoken:
        if region not in self.said:
            self.said[region] = spoken(region, self.run.named, self._word)
        return self.said[region]

    def _word(self, one: Array) -> str:
        """What a value without a name is."""
        if word := self.words.get(one):
            return word
        if isinstance(one.op, Reduce | InnerProduct | MatMul):
            shown = map(self._shown, one.args)
            sides = [x if stem(x) else self._told(x) for x in shown]
            return sum_name(array(one.op, *sides))
        told = array(one.op, *map(self._shown, one.args))
        if isinstance(one.op, Elementwise):
            of = told.args[0]
            inner = array(of.op, *map(self._shown, of.args))
            name = stem(of) or arithmetic_name(inner) or ""
            row = ELEMENTWISE[one.op.function]
            return f"{row.word or row.name}_{name}".rstrip("_")
        return arithmetic_name(told) or "value"

    def _told(self, one: Array) -> Array:
        """An array by a name of its own."""
        return variable(self._word(one), one.dims, one.kind)

    def _shown(self, one: Array) -> Array:
        name = self.run.named.get(one)
        return variable(name, one.dims, one.kind) if name else one

    def _bind(self, name: str, value: Array) -> None:
        if name in self.done:
            return
        if value in self.placed:
            self.done.add(name)
            self._place(value)
            return
        if value in self.of:
            self._launch(self.of[value])
            return
        self.done.add(name)
        made = array(value.op, *map(self.plain, value.args)) if value.args else value
        self.found.append(Let(name, made))

    def _launch(self, region: Region) -> None:
        """Append the statement that calls a kernel, after what that is given."""
        names = [self.run.named[one] for one in region.outputs]
        self.done |= {*names}
        value = self._called(region)
        several = len(names) > 1
        self.found.append(
            Unpack(tuple(names), value) if several else Let(names[0], value)
        )

    def _called(self, region: Region, *memory: Array) -> Array:
        own = self._spoken(region)
        given = [self.plain(one) for one in own.given]
        dims = region.outputs[0].dims
        op = Launch(own.kernel, dims, region.axes, bool(memory))
        return array(op, *given, *memory)

    def plain(self, one: Array) -> Array:
        """A value over what has names by then, which is bound if it is not yet."""
        if one not in self.memo:
            self.memo[one] = self._plain(one)
        return self.memo[one]

    def _plain(self, one: Array) -> Array:
        name = self.run.named.get(one)
        if name is not None:
            self._bind(name, one)
            return variable(name, one.dims, one.kind)
        if one in self.of:
            return self._called(self.of[one])
        return self._made(one)

    def _made(self, one: Array) -> Array:
        args = tuple(map(self.plain, one.args))
        return one if args == one.args else array(one.op, *args)


def _ordered(roots: Sequence[Array]) -> list[Array]:
    found: dict[Array, None] = {}
    waiting = [(one, False) for one in reversed(roots)]
    while waiting:
        one, ready = waiting.pop()
        if one in found:
            continue
        if ready or not one.args:
            found[one] = None
            continue
        waiting.append((one, True))
        waiting += [(arg, False) for arg in reversed(one.args) if arg not in found]
    return list(found)
