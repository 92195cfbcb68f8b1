"""Large arrays a block at a time: what fits into the cache is never large.

Statements that make arrays along a size, entry by entry or row by row, become the body
of a loop over blocks of it, which reads like them. What is returned is written block by
block, and contractions are added up:

    e = np.exp(-np.abs(t))                  f = 0
    f = np.log1p(e).sum()                   grad = np.zeros(n)
    grad = e / (e + 1)                      for start in range(0, n, 16384):
                                                width = min(16384, n - start)
                                                e = np.exp(-np.abs(t[start : ...]))
                                                f += np.log1p(e).sum()
                                                grad[start : ...] = e / (e + 1)

So is what is added where index arrays say, which neither its terms nor the rows that
it was made of are ever held for.

It is done where the sizes that are hinted at say that it pays.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence

from tensorgen.arrays import operations as ops
from tensorgen.arrays.arrays import Array, array, below, variable
from tensorgen.arrays.code import Code
from tensorgen.arrays.cuts import Cuts, Whole, is_shown
from tensorgen.arrays.speed import Speed
from tensorgen.arrays.statements import (
    Let,
    Loop,
    Scatter,
    Statement,
    bindings,
    changed,
    everything,
    operands,
    reads,
    rebuilt,
)
from tensorgen.ir.dims import ONE, Dim, count
from tensorgen.prices.price_table import CALL
from tensorgen.prices.thresholds import (
    BLOCK,
    BLOCK_OF_PRODUCTS,
    GAIN_OF_ORDER,
    SHARE_OF_A_WHOLE,
    SHARE_OF_HELD,
)

TRIES = 20
"""So often what blocks read as a whole is made before them."""


def scheduled(
    code: Code, speed: Speed, again: Callable[[str], str], along: Collection[Dim] = ()
) -> Schedule | None:
    """How to go by blocks, where that pays; `again` gives names.

    Where other functions of a formula go `along` a size by blocks, this one has less to
    read and less to hold as they do, and need not gain time.
    """
    roots = [one for line in code.statements for one in operands(line)]
    parts = list(below([*roots, *code.returns]))
    if not any(speed.is_large(one.dims) for one in parts):
        return None
    names = again("start"), again("width"), again("block")
    dims = dict.fromkeys(dim for one in parts for dim in one.dims if dim.symbols)
    best: Schedule | None = None
    most = 0.0
    for dim in dims:
        found = _schedule(code, dim, names) if speed.knows(dim) else None
        if found is None:
            continue
        alike = dim in along and found.spares(speed)
        needed = 1 / SHARE_OF_A_WHOLE if alike else GAIN_OF_ORDER
        if (gain := found.gain(speed)) > max(needed, most):
            best, most = found, gain
    return best


def _schedule(code: Code, dim: Dim, names: tuple[str, str, str]) -> Schedule | None:
    """The schedule of code along a size; None if nothing can be made in blocks."""
    before: dict[str, None] = {}
    for _ in range(TRIES):
        try:
            found = Schedule(code, Cuts(dim, *names), before)
            return found if found.inside else None
        except Whole as refused:
            if before.keys() >= {*refused.names}:
                return None
            before.update(dict.fromkeys(refused.names))
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
        self.scatters: list[tuple[Scatter, Scatter]] = []  # and those of blocks
        self.filling: dict[str, None] = {}  # what they alone change
        self.after: list[Statement] = []
        self.kept: dict[str, None] = {}  # what is cut and asked for as a whole
        self.results: dict[int, tuple[Array, int]] = {}  # and where they are cut
        self.refusals = code.refusals
        for line in code.statements:
            self._sort(line)
        self.returns = [self._returned(k, one) for k, one in enumerate(code.returns)]
        counted = [x for x in self.kept if isinstance(self.body[x].op, ops.Range)]
        if counted:  # which would be written to memory twice
            raise Whole(counted)

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
        elif not (isinstance(line, Scatter) and self._scatter(line)):
            late = [name for name in self.body if name in changed(line)]
            self.kept |= dict.fromkeys(late)
            if isinstance(line, Loop):
                # Its steps read what others have made of these, which no block can.
                inner = (name for x in everything([line]) for name, _ in bindings(x))
                self.cuts.late |= dict.fromkeys([*changed(line), *inner])
            self.after.append(rebuilt(line, self._outside))
            self.cuts.late |= dict.fromkeys(changed(line))
            for name in changed(line):
                self.filling.pop(name, None)
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

    def _scatter(self, line: Scatter) -> bool:
        """Whether blocks add what a statement does, to what none of them reads."""
        (name,) = changed(line)
        if line.counts:  # which makes nothing large, and goes through all of the target
            return False
        if name in self.cuts.at or (name in self.cuts.late) > (name in self.filling):
            return False
        try:
            self.scatters.append((line, self.cuts.scattered(line)))
        except Whole:
            return False
        self.cuts.late[name] = self.filling[name] = None
        return True

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
        if isinstance(one.op, ops.Variable):
            if one.op.name in self.cuts.at:
                self.kept[one.op.name] = None
            return one
        if isinstance(one.op, ops.Contraction) and self._gains(one):
            try:
                block = self.cuts.summed(one)
            except Whole as found:
                if found.names and not any(x in self.cuts.late for x in found.names):
                    raise
            else:
                own = name or f"#{len(self.sums)}"
                self.sums[one] = own, block
                return variable(own, one.dims, one.kind, own)
        if isinstance(one.op, ops.Contraction) and self._is_open(reads([one])):
            for axis in self._axes(one):  # which is less than what it is made of
                if self._cut(one, axis) is not None:
                    own = f"#{len(self.body)} rows"
                    self.body[own], self.cuts.at[own] = one, axis
                    return self._outside(variable(own, one.dims, one.kind, own))
        args = tuple(map(self._outside, one.args))
        return one if args == one.args else array(one.op, *args)

    def _gains(self, one: Array) -> bool:
        """Whether operands of a contraction are computed, and not only read."""
        return self._is_open(reads([one])) or not all(map(is_shown, one.args))

    def _returned(self, k: int, one: Array) -> Array:
        if not isinstance(one.op, ops.Variable):
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
        terms = (x for line, _ in self.scatters for x in (*line.places, line.value))
        return [*self.body.values(), *self.sums, *results, *terms]

    @property
    def entries(self) -> int:
        """The entries of a block: more where a call has much to do beside them."""
        busy = any(line.value.order > 2 for line, _ in self.scatters) or any(
            (isinstance(x.op, ops.MatMul) and min(arg.order for arg in x.args) > 1)
            or (isinstance(x.op, ops.SumByKey) and x.args[0].order > 2)
            for x in below(self.inside)
        )
        return BLOCK_OF_PRODUCTS if busy else BLOCK

    @property
    def blocks(self) -> list[Array]:
        """What is computed in the loop, of one block."""
        cuts = self.cuts
        body = [cuts.cut(one, cuts.at[name]) for name, one in self.body.items()]
        results = [cuts.cut(*result) for result in self.results.values()]
        sums = (block for _, block in self.sums.values())
        terms = (x for _, line in self.scatters for x in (*line.places, line.value))
        return [*body, *results, *sums, *terms]

    def row(self, speed: Speed) -> Dim:
        """The entries of the largest array for each position of a block."""
        width = self.cuts.width
        cut = (one.dims for one in below(self.blocks) if width in one.dims)
        rows = [count([dim for dim in dims if dim != width]) for dims in cut]
        return max(rows, key=lambda dim: speed.entries([dim]), default=ONE)

    def _is_strided(self, one: Array, speed: Speed) -> bool:
        """Whether what is read for a block lies all over the memory of much."""
        width, dim = self.cuts.width, self.cuts.dim
        whole = [dim if own == width else own for own in one.dims]
        read = isinstance(one.op, ops.Index) and width in one.dims[1:]
        return read and speed.is_large(whole)

    def spares(self, speed: Speed, share: float = 0.0) -> bool:
        """Whether the loop makes large arrays; a `share` may be held as a whole."""
        kept = [self.body[name] for name in self.kept]
        made, held = (sum(map(speed.memory, x)) for x in (below(self.inside), kept))
        return made > 0 and held <= share * made

    def gain(self, speed: Speed) -> float:
        """How many times as long the same takes without blocks.

        Columns of large matrices are no blocks, and neither are rows that fit into no
        cache, or are held as a whole. What all blocks read takes as long as it did.
        """
        if speed.entries([self.row(speed)]) > self.entries:
            return 0.0
        if not self.spares(speed, SHARE_OF_HELD):
            return 0.0
        if any(self._is_strided(one, speed) for one in below(self.blocks)):
            return 0.0
        parts = [*below(self.inside)]
        stored = [self.body[name] for name in self.kept]
        stored += [one for one, _ in self.results.values()]
        stored += below([*self.cuts.steady])
        work = sum(map(speed.work, parts))
        blocks = speed.entries([self.cuts.dim, self.row(speed)]) / self.entries + 1
        calls = sum(
            not isinstance(one.op, ops.Leaf | ops.View) for one in below(self.blocks)
        )
        once = work + sum(map(speed.memory, stored))
        once += blocks * calls * speed.price(CALL)
        return (work + sum(map(speed.memory, parts))) / max(once, 1.0)
