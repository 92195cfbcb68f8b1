"""Products over windows as plain calls: correlations, products of columns, loops."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from tensorgen.arrays.arrays import Array, array
from tensorgen.arrays.operations import Fill, Index, Number
from tensorgen.arrays.places import Slice
from tensorgen.arrays.statements import Change, Loop, Statement, Store
from tensorgen.ir.constraints import Interval, Ranges
from tensorgen.ir.dims import Dim
from tensorgen.ir.nodes import Affine, Label, Node, Product
from tensorgen.lower.constraints import plain_label
from tensorgen.lower.contract import contract
from tensorgen.lower.draft import Draft
from tensorgen.lower.elementwise import Factor
from tensorgen.lower.indexing import Indexer, Looked
from tensorgen.lower.layout import aligned
from tensorgen.lower.operands import Operand
from tensorgen.lower.padding import Width, padded
from tensorgen.lower.taps import Tapped


@dataclass(frozen=True)
class Read:
    """An array, and the positions at which its axes are read."""

    whole: Operand
    forms: tuple[Affine, ...]

    @property
    def labels(self) -> tuple[Label, ...]:
        """All labels of the positions."""
        return tuple(dict.fromkeys(x for form in self.forms for x in form.labels))

    def widened(self, draft: Draft, widths: Sequence[Width]) -> Read:
        """The array with zeros around it, in memory."""
        whole = padded(self.whole, widths)
        if whole is self.whole:
            return self
        own = draft.variable(None, whole.array)
        return replace(self, whole=Operand(own, whole.labels))


class Inside(Ranges):
    """Ranges of forms of which it is known that all keep to their arrays."""

    def contain(self, form: Affine, interval: Interval) -> bool:
        """Whether a form keeps to an interval: that was proved for all taps at once."""
        return True


def windowed(
    draft: Draft, node: Product, found: Tapped, reads: Sequence[Read], looked: Looked
) -> Operand:
    """A product over windows, whose factors are read as `reads` say."""
    wide = [
        _held(draft, ref.node, read).widened(draft, widths)
        for ref, read, widths in zip(node.factors, reads, found.widths, strict=True)
    ]
    return TapLoop(draft, node, found, wide, looked).drafted()


def _held(draft: Draft, node: Node, read: Read) -> Read:
    """The array in memory, for all taps."""
    whole = read.whole
    if whole.base is not None or whole.weak:
        return read
    own = draft.variable(node, whole.array)
    return replace(read, whole=Operand(own, whole.labels))


@dataclass(frozen=True)
class TapLoop:
    """A loop over taps, each of which reads and writes slices."""

    draft: Draft
    node: Product
    found: Tapped
    reads: Sequence[Read]
    looked: Looked

    def drafted(self) -> Operand:
        """Append the loop; return the array that it fills."""
        node, found = self.node, self.found
        whole = self.draft.filled(node, array(Fill(node.dims, 0)))
        names = [Dim.symbol(self.draft.tap(k)) for k in range(len(found.taps))]
        at = dict(zip(found.taps, names, strict=True))
        body: tuple[Statement, ...] = (self._step(whole_of(whole), at),)
        for tap in reversed(found.taps):
            low, high = found.ranges.intervals[tap]
            body = (Loop(str(at[tap]), low, high, body),)
        self.draft.add(body[0])
        if node.coefficient != 1:
            every = Index((Slice(),) * whole.order, whole.dims)
            scale = array(Number(node.coefficient))
            self.draft.add(Store(whole, every, (), "*=", scale))
        return whole_of(whole)

    def _step(self, whole: Operand, at: dict[Label, Dim]) -> Store:
        found, ranges = self.found, self._ranges(at)
        indexer = Indexer(self.draft, ranges, self.looked)
        factors = []
        for read in self.reads:
            turned = _forwards(read, [*at])
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
        facts = list(self.found.ranges.facts)
        for tap, name in at.items():
            low, high = intervals.pop(tap)
            facts += [name - low, high - 1 - name]
        return Inside(intervals, facts)


def whole_of(one: Array) -> Operand:
    """An array under its axes."""
    return Operand(one, tuple(range(one.order)))


def _fixed(form: Affine, at: dict[Label, Dim]) -> Affine:
    """A form with taps in the place of labels."""
    for label, name in at.items():
        c = form.coefficient(label)
        if c:
            form = form.without(label) + name * c
    return form


def _forwards(read: Read, taps: Sequence[Label]) -> Read:
    """The array turned over along axes that are read backwards from a tap on."""
    turned = [
        len(form.terms) > 1 and any(c < 0 for x, c in form.terms if x not in taps)
        for form in read.forms
    ]
    if not any(turned):
        return read
    dims = read.whole.array.dims
    parts = tuple(Slice(step=-1 if turn else 1) for turn in turned)
    view = array(Index(parts, dims), read.whole.array)
    forms = tuple(
        -form + (dim - 1) if turn else form
        for form, dim, turn in zip(read.forms, dims, turned, strict=True)
    )
    return Read(replace(read.whole, array=view, turned=None), forms)
