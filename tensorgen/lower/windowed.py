"""Products over windows as plain calls: correlations, products of columns, loops."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from tensorgen.arrays.arrays import array
from tensorgen.arrays.operations import Fill, Index, Number
from tensorgen.arrays.places import Slice
from tensorgen.arrays.speed import Speed
from tensorgen.arrays.statements import Change, Loop, Statement, Store
from tensorgen.ir.constraints import Interval, Ranges
from tensorgen.ir.dims import Dim, count
from tensorgen.ir.nodes import Affine, Label, Product
from tensorgen.lower.axes import aligned
from tensorgen.lower.columns import columns
from tensorgen.lower.contract import contract
from tensorgen.lower.correlate import correlation
from tensorgen.lower.elementwise_products import Factor, multiply
from tensorgen.lower.indexing import Indexer
from tensorgen.lower.operands import Operand, whole_of
from tensorgen.lower.reads import Read
from tensorgen.lower.solve_constraints import plain_label
from tensorgen.lower.taps import Tapped
from tensorgen.prices.thresholds import BLOCK, TAPPED


@dataclass
class Inside(Ranges):
    """Ranges of forms of which it is known that all keep to their arrays.

    The symbols of `taps` stand for numbers from these on, all others from 1 on.
    """

    taps: Mapping[str, Dim] = field(default_factory=dict)

    def holds(self, size: Dim) -> bool:
        """Whether a size is provably nonnegative."""
        own = self._counted(size)
        return own.is_nonnegative() or any(
            (own - self._counted(fact)).is_nonnegative() for fact in self.facts
        )

    def _counted(self, size: Dim) -> Dim:
        """The size where taps count from 1."""
        for name, low in self.taps.items():
            slope = size.at({name: 1}) - size.at({name: 0})
            size += slope * (low - 1)
        return size

    def contain(self, form: Affine, interval: Interval) -> bool:
        """Whether a form keeps to an interval: that was proved for all taps at once."""
        return True


def windowed(
    indexer: Indexer,
    node: Product,
    found: Tapped,
    reads: Sequence[Read],
    hints: Mapping[str, int],
) -> Operand:
    """A product over windows, whose factors are read as `reads` say."""
    draft, refs = indexer.draft, node.factors
    numbers = all(read.whole.kind == "float" for read in reads)
    plain = correlation(indexer, found, reads, node.dims) if numbers else None
    if plain:
        return multiply([Factor(plain.bearing((0,)))], node.coefficient)
    wide = [
        read.held(draft, ref.node).widened(draft, widths)
        for ref, read, widths in zip(refs, reads, found.widths, strict=True)
    ]
    if numbers and (whole := columns(found, wide, hints)):
        product = multiply([Factor(whole.product(indexer, found))], node.coefficient)
        axes = {plain_label(form): axis for axis, form in enumerate(found.writes)}
        return product.renamed(axes.__getitem__)
    return TapLoop(indexer, node, found, wide, Speed(hints)).drafted()


@dataclass(frozen=True)
class Blocks:
    """Runs of a label's values, as many as `width` says from each `start` on."""

    label: Label
    low: Dim
    high: Dim
    start: str
    step: Dim
    width: str

    def within(self, ranges: Inside) -> Inside:
        """The ranges in a block."""
        first = Dim.symbol(self.start)
        own = {self.label: (first, first + Dim.symbol(self.width))}
        lows = {**ranges.taps, self.start: self.low}
        return replace(ranges, intervals={**ranges.intervals, **own}, taps=lows)

    def loop(self, *body: Statement) -> Loop:
        """Statements for each block."""
        return Loop(self.start, self.low, self.high, body, self.step, self.width)


@dataclass(frozen=True)
class TapLoop:
    """A loop over taps, each of which reads and writes slices.

    Where no cache holds what a tap adds, it goes by blocks of rows, each with all taps.
    """

    indexer: Indexer
    node: Product
    found: Tapped
    reads: Sequence[Read]
    speed: Speed

    def drafted(self) -> Operand:
        """Append the loop; return the array that it fills."""
        node, found = self.node, self.found
        whole = self.indexer.draft.filled(node, array(Fill(node.dims, 0)))
        names = [Dim.symbol(self.indexer.draft.tap(k)) for k in range(len(found.taps))]
        at = dict(zip(found.taps, names, strict=True))
        ranges, blocks = self._ranges(at), self._blocks()
        if blocks:
            ranges = blocks.within(ranges)
        body: tuple[Statement, ...] = (self._step(whole_of(whole), at, ranges),)
        for tap in reversed(found.taps):
            low, high = found.ranges.intervals[tap]
            body = (Loop(str(at[tap]), low, high, body),)
        self.indexer.draft.add(blocks.loop(*body) if blocks else body[0])
        if node.coefficient != 1:
            every = Index((Slice(),) * whole.order, whole.dims)
            scale = array(Number(node.coefficient))
            self.indexer.draft.add(Store(whole, every, (), "*=", scale))
        return whole_of(whole)

    def _blocks(self) -> Blocks | None:
        """Blocks along the first axis that is written, where they pay."""
        found = self.found
        free = [x for x in found.ranges.intervals if x not in found.taps]
        first = [x for form in found.writes[:1] for x in form.labels if x in free]
        large = self.speed.entries([*map(found.extent, free)]) >= TAPPED
        multiplied = not {*found.gone} <= {*found.taps}  # as matrices
        if (
            not (large and len(first) == 1)
            or multiplied
            or not self.indexer.draft.in_blocks
        ):
            return None
        (label,) = first
        if not all(_ascends(forms, label) for forms in (found.writes, *found.reads)):
            return None
        row = count([found.extent(x) for x in free if x != label])
        start, step, width = self.indexer.draft.blocks(BLOCK, row)
        return Blocks(label, *found.ranges.intervals[label], start, step, width)

    def _step(self, whole: Operand, at: dict[Label, Dim], ranges: Inside) -> Store:
        found = self.found
        indexer = Indexer(self.indexer.draft, ranges, self.indexer.looked)
        factors = []
        for read in self.reads:
            turned = read.forwards([*at])
            forms = [_fixed(form, at) for form in turned.forms]
            dims = turned.whole.array.dims
            factors.append(Factor(indexer.read(turned.whole, forms, dims)))
        writes = [_fixed(form, at) for form in found.writes]
        place = indexer.subscript(writes, self.node.dims)
        sizes = {
            x: high - low
            for x, (low, high) in ranges.intervals.items()
            if x not in place.labels
        }
        core = contract(factors, Fraction(1), place.labels, sizes, place.labels)
        plain = {plain_label(form) for form in found.writes}
        how: Change = "=" if plain.issuperset(found.taps) else "+="
        value = aligned(core, place.labels).array
        return Store(whole.array, place.index, place.places, how, value)

    def _ranges(self, at: dict[Label, Dim]) -> Inside:
        """The ranges of all other labels, and how far taps go."""
        intervals = dict(self.found.ranges.intervals)
        facts, lows = list(self.found.ranges.facts), dict[str, Dim]()
        for tap, name in at.items():
            low, high = intervals.pop(tap)
            lows[str(name)] = low
            facts.append(high - 1 - name)
        return Inside(intervals, facts, taps=lows)


def _fixed(form: Affine, at: dict[Label, Dim]) -> Affine:
    for label, name in at.items():
        c = form.coefficient(label)
        if c:
            form = form.without(label) + name * c
    return form


def _ascends(forms: Sequence[Affine], label: Label) -> bool:
    """Whether an array is read in a slice for each run of a label's values."""
    steps = [form.coefficient(label) for form in forms if label in form.labels]
    return len(steps) <= 1 and all(step > 0 for step in steps)
