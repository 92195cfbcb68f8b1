"""Code with kernels in place of what is done entry by entry.

Statements that only bind names are values; what kernels make of these they make where
the first of it is read. All other statements stay where they are, and see what stood
before them. A loop's body is code of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace

from tensorgen.arrays.array_names import arithmetic_name, stem, sum_name
from tensorgen.arrays.arrays import Array, array, variable
from tensorgen.arrays.bundle import alone
from tensorgen.arrays.code import Code
from tensorgen.arrays.entrywise import launches
from tensorgen.arrays.kernel_text import Spoken, spoken
from tensorgen.arrays.memory import changing
from tensorgen.arrays.object_operations import Launch
from tensorgen.arrays.operations import (
    Bundle,
    Elementwise,
    InnerProduct,
    MatMul,
    Reduce,
    Variable,
)
from tensorgen.arrays.placed import (
    fits_in,
    handed_on,
    is_free,
    is_written_at_once,
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
    whole = _Whole(lines, results, kept)
    *found, end = whole.lines(lines)
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


class _Whole:
    """What all of some code reads and changes."""

    def __init__(
        self, lines: Sequence[Statement], results: Sequence[str], kept: Collection[str]
    ) -> None:
        self.moving = changing(lines)
        self.results = results
        self.read = Counter(x for line in _flat(lines) for x in reads(operands(line)))
        self.read.update(kept)
        self.changes = Counter(x for line in _flat(lines) for x in changed(line))
        ends = (x for line in lines if isinstance(line, Return) for x in line.values)
        self.returned = {*kept, *handed_on(ends)}

    def lines(self, lines: Sequence[Statement]) -> list[Statement]:
        """Lines with kernels: runs of values, each with the statement behind them."""
        found: list[Statement] = []
        run = _Run(self)
        for line in lines:
            if isinstance(line, Loop | Release):
                found += run.lines()
                run = _Run(self)
                if isinstance(line, Loop):
                    line = replace(line, body=tuple(self.lines(line.body)))
                found.append(line)
            elif not run.takes(line):
                found += run.lines(line)
                run = _Run(self)
        return found + run.lines()


def _flat(lines: Iterable[Statement]) -> Iterator[Statement]:
    return (line for line in everything(lines) if not isinstance(line, Loop))


class _Run:
    """Statements one after the other that bind names to values, and nothing else."""

    def __init__(self, whole: _Whole) -> None:
        self.whole = whole
        self.statements: list[Statement] = []
        self.values: dict[str, Array] = {}
        self.named: dict[Array, str] = {}
        self.memo: dict[Array, Array] = {}

    def takes(self, line: Statement) -> bool:
        """Whether it takes a statement in: what that binds is a value, a new one."""
        if not isinstance(line, Let | Unpack):
            return False
        pairs = bindings(line)
        names = {name for name, _ in pairs}
        if names & self.whole.moving or names & self.values.keys():
            return False
        if isinstance(line, Unpack):
            pairs = tuple((name, alone(value)) for name, value in pairs)
            if not isinstance(line.value.op, Bundle) or len(line.value.args) > 1:
                return False
            if not all(isinstance(x.op, Elementwise) for _, x in pairs):
                return False
        found = [(name, self.resolved(value)) for name, value in pairs]
        if isinstance(line, Unpack) and not all(launches(x) for _, x in found):
            return False
        fresh = {x for _, x in found}
        if len(fresh) < len(found) or fresh & self.named.keys():
            return False
        self.statements.append(line)
        for name, value in found:
            self.values[name] = value
            self.named[value] = name
        return True

    def resolved(self, one: Array) -> Array:
        """A value made of what was there before this run."""
        if one not in self.memo:
            op = one.op
            if isinstance(op, Variable) and op.name in self.values:
                return self.values[op.name]
            args = tuple(map(self.resolved, one.args))
            self.memo[one] = one if args == one.args else array(op, *args)
        return self.memo[one]

    def lines(self, end: Statement | None = None) -> list[Statement]:
        """Its statements with kernels, and the one that ends it."""
        own = [*self.statements, *([end] if end is not None else [])]
        if not own:
            return []
        if isinstance(end, Store) and (summed := with_sum(end)) is not end:
            # A sum with what is there already pays if a kernel does it.
            found = _Fusing(self, [*self.statements, summed], summed)
            if self.resolved(summed.value) in found.of:
                return found.lines()
        return _Fusing(self, own, end).lines()


class _Fusing:
    """Writes a run with kernels."""

    def __init__(
        self, run: _Run, own: Sequence[Statement], end: Statement | None
    ) -> None:
        self.run, self.end = run, end
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
        if end is not None:
            values = [run.resolved(one) for one in operands(end)]
            roots += values
            asked.update(values)
            if isinstance(end, Store) and end.how == "out=":
                barred.append(values[-1])
            if isinstance(end, Return):
                self.words |= dict(zip(values, run.whole.results, strict=False))
            self.words |= {run.resolved(x): name for name, x in bindings(end)}
        order = _ordered(roots)
        self.graph = Graph(order, run.named, asked, barred)
        self.regions = self.graph.regions()
        self.of: dict[Array, Region] = {
            one: region for region in self.regions for one in region.outputs
        }
        self.said: dict[Region, Spoken] = {}
        self.done: set[str] = set()
        self.found: list[Statement] = []
        self.memo: dict[Array, Array] = {}
        inside = {x for region in self.regions for x in region.inside}
        self.hidden = inside - self.of.keys()
        # What is made where it is stored, under a name.
        self.placed = self._placed()

    def lines(self) -> list[Statement]:
        """The statements, each where the first of what it makes was made."""
        needed = self._needed()
        for name, value in self.run.values.items():
            if value in needed:
                self._bind(name, value)
        if self.placed is not None and self.placed not in self.run.named:
            self._place(self.placed)
        elif self.end is not None and self.placed is None:
            self.found.append(rebuilt(self.end, self._ended))
        return self.found

    def _placed(self) -> Array | None:
        """What is made where the last statement stores it, if that may be.

        It may have a name where nothing else is ever stored there.
        """
        end = self.end
        if not isinstance(end, Store):
            return None
        value = self.run.resolved(end.value)
        name = self.run.named.get(value)
        if name is not None:
            whole = self.run.whole
            alone = all(whole.changes[x] == 1 for x in changed(end))
            free = alone and is_free(end, self.graph.order)
            if not free or name in whole.returned:
                return None
        region = self.of.get(value)
        if region is not None:
            alone = not region.adds and len(region.outputs) == 1
            return value if alone and fits_in(value, end, region.given) else None
        at_once = is_written_at_once(value, end) and fits_in(value, end, value.args)
        return value if at_once else None

    def _place(self, value: Array) -> None:
        """Append the statements that make a value where it is stored."""
        end, name = self.end, self.run.named.get(value)
        assert isinstance(end, Store)
        if region := self.of.get(value):
            call = self._called(region, place_of(end))
            stored = replace(end, how="out=", value=call)
            self.found.append(Let(name, call) if name else stored)
            return
        made = array(value.op, *map(self.plain, value.args))
        self.found.append(replace(end, how="out=", value=made))
        self.found += [Let(name, place_of(end))] if name else []

    def _ended(self, one: Array) -> Array:
        """What the last statement reads; what that binds is its own, and no alias."""
        value = self.run.resolved(one)
        own = isinstance(self.end, Let) and not isinstance(one.op, Variable)
        return (
            self._made(value) if own and value in self.run.named else self.plain(value)
        )

    def _needed(self) -> set[Array]:
        """The values with names that are arrays, and not only in kernels."""
        found: set[Array] = set()
        seen: set[Array] = set()
        waiting = [x for x in self.run.values.values() if x not in self.hidden]
        if self.end is not None:
            waiting += map(self.run.resolved, operands(self.end))
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
        if value is self.placed:
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

    def _called(self, region: Region, memory: Array | None = None) -> Array:
        own = self._spoken(region)
        given = [self.plain(one) for one in own.given]
        given += [memory] if memory is not None else []
        dims = region.outputs[0].dims
        op = Launch(own.kernel, dims, region.axes, memory is not None)
        return array(op, *given)

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
