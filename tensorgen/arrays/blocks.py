"""Large arrays a block at a time: what fits into the cache is never large.

Statements that make arrays along a size, entry by entry or row by row, become the body
of a loop over blocks of it, which reads like them. What is returned is written block by
block, and contractions are added up:

    e = np.exp(-np.abs(t))                  f = 0
    f = np.log1p(e).sum()                   grad = np.zeros(n)
    grad = e / (e + 1)                      for start in range(0, n, 32768):
                                                width = min(32768, n - start)
                                                e = np.exp(-np.abs(t[start : ...]))
                                                f += np.log1p(e).sum()
                                                grad[start : ...] = e / (e + 1)

It is done where the sizes that are hinted at say that it pays.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from fractions import Fraction

from tensorgen.arrays.arrays import Array, array, below, bound, replacing, variable
from tensorgen.arrays.code import Code
from tensorgen.arrays.cuts import Cuts, Whole, is_shown
from tensorgen.arrays.objects import Rows
from tensorgen.arrays.operations import (
    Contraction,
    Fill,
    Index,
    MatMul,
    Number,
    Variable,
)
from tensorgen.arrays.places import WHOLE
from tensorgen.arrays.price import count
from tensorgen.arrays.speed import CALL, Speed
from tensorgen.arrays.statements import (
    Let,
    Loop,
    Statement,
    Store,
    bindings,
    changed,
    operands,
    reads,
    rebuilt,
)
from tensorgen.ir.dims import ONE, ZERO, Dim

ENTRIES, ENTRIES_MULTIPLIED = 2**15, 2**16
"""The entries of a block; of one that a matrix product is made of, more."""
TRIES = 20
"""So often what blocks read as a whole is made before them."""
GAIN = 1.3
"""So many times as long the same takes otherwise, at least."""

Pick = Callable[[str], str]


def blocked(
    code: Code, sizes: Mapping[str, int], name: Callable[[int], str], again: Pick
) -> Code | None:
    """Return code that goes by blocks, if that pays at some `sizes`.

    `name` gives a name to a result, `again` another one for what a name stands for.
    """
    speed = Speed(sizes)
    roots = [one for line in code.statements for one in operands(line)]
    parts = list(below([*roots, *code.returns]))
    if not any(speed.is_large(one.dims) for one in parts):
        return None
    names = again("start"), again("width")
    dims = dict.fromkeys(dim for one in parts for dim in one.dims if dim.symbols)
    best: Schedule | None = None
    most = GAIN
    for dim in dims:
        found = _schedule(code, dim, names) if speed.knows(dim) else None
        if found is not None and (gain := found.gain(speed)) > most:
            best, most = found, gain
    return None if best is None else best.written(speed, name, again)


def _schedule(code: Code, dim: Dim, names: tuple[str, str]) -> Schedule | None:
    """The schedule of code along a size; None if nothing can be made in blocks."""
    before: dict[str, None] = {}
    for _ in range(TRIES):
        try:
            return Schedule(code, Cuts(dim, *names), before)
        except Whole as found:
            if before.keys() >= {*found.names}:
                return None
            before.update(dict.fromkeys(found.names))
    return None


class Schedule:
    """What is done before a loop over blocks, in it, and after it."""

    def __init__(self, code: Code, cuts: Cuts, first: Collection[str]) -> None:
        """Sort statements; those that bind `first` stand before the loop.

        Raises Whole where more of them have to.
        """
        self.cuts, self.first = cuts, first
        self.before: list[Statement] = []
        self.body: dict[str, Array] = {}  # as the code has it
        self.sums: dict[Array, tuple[str, Array]] = {}  # by names, of blocks
        self.after: list[Statement] = []
        self.kept: dict[str, None] = {}  # what is cut and asked for as a whole
        self.results: dict[int, tuple[Array, int]] = {}  # and where they are cut
        self.refusals = code.refusals
        for line in code.statements:
            self._sort(line)
        self.returns = [self._returned(k, one) for k, one in enumerate(code.returns)]

    # Sorting

    def _is_open(self, names: Iterable[str]) -> bool:
        """Whether some names are bound in the loop or behind it."""
        return any(x in self.cuts.at or x in self.cuts.late for x in names)

    def _sort(self, line: Statement) -> None:
        names = [*reads(operands(line)), *changed(line)]
        if isinstance(line, Let):
            self._let(line, names)
        elif not self.body and not self.sums and not self._is_open(names):
            self.before.append(line)
        else:
            if any(name in self.cuts.at for name in changed(line)):
                raise Whole(changed(line))
            self.after.append(rebuilt(line, self._outside))
            self.cuts.late |= dict.fromkeys(changed(line))
            self.cuts.late |= {name: None for name, _ in bindings(line)}

    def _let(self, line: Let, names: Sequence[str]) -> None:
        name, value = line.name, line.value
        if name in self.first:
            if self._is_open(names):
                raise Whole([x for x in names if self._is_open([x])])
            self.before.append(line)
            return
        for axis in self._axes(value):
            if self._cut(value, axis) is not None:
                self.body[name] = value
                self.cuts.at[name] = axis
                return
        found = self._outside(value, name)
        if found is value and not self._is_open(names):
            self.before.append(line)
            return
        self.cuts.late[name] = None
        if found is not variable(name, value.dims, value.kind, name):
            self.after.append(Let(name, found))

    def _axes(self, one: Array) -> list[int]:
        return [k for k, dim in enumerate(one.dims) if dim == self.cuts.dim]

    def _cut(self, one: Array, axis: int) -> Array | None:
        """The block of an array, if it can be made; what is in its way may have to."""
        try:
            return self.cuts.cut(one, axis)
        except Whole as found:
            if found.names and not any(x in self.cuts.late for x in found.names):
                raise
            return None

    def _outside(self, one: Array, name: str = "") -> Array:
        """An array behind the loop, its contractions along the size added up in it."""
        if one in self.sums:
            own, _ = self.sums[one]
            return variable(own, one.dims, one.kind, own)
        if isinstance(one.op, Variable):
            if one.op.name in self.cuts.at:
                self.kept[one.op.name] = None
            return one
        if isinstance(one.op, Contraction) and self._gains(one):
            try:
                block = self.cuts.summed(one)
            except Whole as found:
                if found.names and not any(x in self.cuts.late for x in found.names):
                    raise
            else:
                own = name or f"#{len(self.sums)}"
                self.sums[one] = own, block
                return variable(own, one.dims, one.kind, own)
        args = tuple(map(self._outside, one.args))
        return one if args == one.args else array(one.op, *args)

    def _gains(self, one: Array) -> bool:
        """Whether operands of a contraction are computed, and not only read."""
        return self._is_open(reads([one])) or not all(map(is_shown, one.args))

    def _returned(self, k: int, one: Array) -> Array:
        if not isinstance(one.op, Variable):
            for axis in self._axes(one):
                if self._cut(one, axis) is not None:
                    self.results[k] = one, axis
                    return one
        return self._outside(one)

    # What it is worth

    @property
    def inside(self) -> list[Array]:
        """What is computed in the loop, as a whole."""
        results = (one for one, _ in self.results.values())
        return [*self.body.values(), *self.sums, *results]

    @property
    def entries(self) -> int:
        """The entries of a block."""
        multiplied = any(isinstance(x.op, MatMul) for x in below(self.inside))
        return ENTRIES_MULTIPLIED if multiplied else ENTRIES

    def row(self, speed: Speed) -> Dim:
        """The entries of the largest array for each position of a block."""
        rows = [count(dims) for dims in self.cuts.rows()]
        return max(rows, key=lambda dim: speed.entries([dim]), default=ONE)

    def gain(self, speed: Speed) -> float:
        """How many times as long the same takes without blocks."""
        parts = [*below(self.inside)]
        stored = [self.body[name] for name in self.kept]
        stored += [one for one, _ in self.results.values()]
        work = sum(map(speed.work, parts))
        blocks = speed.entries([self.cuts.dim, self.row(speed)]) / self.entries + 1
        once = work + sum(map(speed.memory, stored)) + blocks * len(parts) * CALL
        return (work + sum(map(speed.memory, parts))) / max(once, 1.0)

    # Statements

    def written(self, speed: Speed, name: Callable[[int], str], again: Pick) -> Code:
        """The statements, with names for what has none yet."""
        cuts = self.cuts
        change, hoisted = self._named(again)
        lines: list[Statement] = [*self.before, *hoisted]
        body: list[Statement] = []
        read = {*reads([block for _, block in self.sums.values()])}
        read.update(reads([*self.body.values()]))
        read.update(reads([one for one, _ in self.results.values()]))
        for own, value in self.body.items():
            axis = cuts.at[own]
            block = change(cuts.cut(value, axis))
            if own not in self.kept:
                body.append(Let(own, block))
                continue
            if own in read:
                body.append(Let(self.blocks[own], block))
                block = bound(self.blocks[own], block)
            lines.append(Let(own, array(Fill(value.dims, 0))))
            body.append(_stored(cuts, own, value, axis, block))
        returns = list(self.returns)
        for k, (value, axis) in self.results.items():
            own = name(k)
            lines.append(Let(own, array(Fill(value.dims, 0))))
            body.append(_stored(cuts, own, value, axis, change(cuts.cut(value, axis))))
            returns[k] = bound(own, array(Fill(value.dims, 0)))
        for whole, (own, block) in self.sums.items():
            target = change(variable(own, whole.dims, whole.kind, own))
            own = _name(target)
            start = array(Fill(whole.dims, 0)) if whole.order else _ZERO
            lines.append(Let(own, start))
            at = Index((WHOLE,) * whole.order, whole.dims)
            body.append(Store(target, at, (), "+=", change(block)))
        row, step = self.row(speed), Dim.of(self.entries)
        if row != ONE:
            own = again("step")
            lines.append(Let(own, array(Rows(self.entries, row))))
            step = Dim.symbol(own)
        loop = Loop(cuts.start, ZERO, cuts.dim, _shared(body, again), step, cuts.over)
        after = [rebuilt(line, change) for line in self.after]
        return Code((*lines, loop, *after), tuple(map(change, returns)), self.refusals)

    def _named(self, again: Pick) -> tuple[Callable[[Array], Array], list[Statement]]:
        """Names for sums, for what all blocks read, and for blocks of what is kept."""
        known: dict[Array, Array] = {}
        for whole, (own, _) in self.sums.items():
            if own.startswith("#"):
                new = again("sums" if whole.order else "total")
                old = variable(own, whole.dims, whole.kind, own)
                known[old] = variable(new, whole.dims, whole.kind, new)
        lines: list[Statement] = []
        for one in self.cuts.steady:
            own = again("steady")
            lines.append(Let(own, one))
            known[one] = bound(own, one)
        self.blocks = {own: again(own) for own in self.kept}
        for own, new in self.blocks.items():
            value, axis = self.body[own], self.cuts.at[own]
            old = self.cuts.cut(variable(own, value.dims, value.kind), axis)
            known[old] = variable(new, old.dims, old.kind, new)
        return replacing(known), lines


def _stored(cuts: Cuts, own: str, value: Array, axis: int, block: Array) -> Store:
    """The statement that writes a block to its places in the whole array."""
    target = variable(own, value.dims, "float", own)
    return Store(target, cuts.part(axis, value.dims), (), "=", block)


def _shared(body: Sequence[Statement], again: Pick) -> tuple[Statement, ...]:
    """The statements of a block; parts of arrays that several read have names."""
    parts = Counter(
        one
        for line in body
        for one in dict.fromkeys(below(operands(line)))
        if isinstance(one.op, Index) and isinstance(one.args[0].op, Variable)
    )
    known: dict[Array, Array] = {}
    lines: list[Statement] = []
    for one, times in parts.items():
        if times > 1:
            own = again(f"{_name(one.args[0])}_part")
            lines.append(Let(own, one))
            known[one] = bound(own, one)
    change = replacing(known)
    return (*lines, *(rebuilt(line, change) for line in body))


def _name(one: Array) -> str:
    return one.op.name if isinstance(one.op, Variable) else ""


_ZERO = array(Number(Fraction(0)))
