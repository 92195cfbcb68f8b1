"""Values that deltas spread over a larger array: written, not multiplied."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from tensorgen.arrays.arrays import Array, array
from tensorgen.arrays.operations import Diag, Eye, Index, Number, SumByKey
from tensorgen.arrays.places import WHOLE, Entries, Slice
from tensorgen.arrays.statements import Change, Scatter, Store
from tensorgen.ir.dims import ZERO, Dim
from tensorgen.ir.nodes import Affine, Label, Node, Product
from tensorgen.lower.axes import aligned, permuted
from tensorgen.lower.elementwise_products import Factor, multiply
from tensorgen.lower.indexing import Indexer, Subscript
from tensorgen.lower.operands import Operand, as_float, literal, made, product
from tensorgen.lower.solve_constraints import Solution, plain_label, single_label


def is_plain(forms: Sequence[Affine]) -> bool:
    """Whether entries stand in slices and at numbers, no two at one place.

    Others are added up in the smallest array that holds them.
    """
    return all(not form.terms or single_label(form) for form in forms)


def is_injective(forms: Sequence[Affine]) -> bool:
    """Whether no two entries are written to one place."""
    ones = map(single_label, forms)
    alone = {one[0] for one in ones if one is not None}
    return all(x in alone for form in forms for x in form.labels)


@dataclass(frozen=True)
class Write:
    """Entries `core` that stand at the positions `forms` of an array of zeros.

    That is the value of a `node`, if of any.
    """

    dims: tuple[Dim, ...]
    forms: tuple[Affine, ...]
    core: Operand
    indexer: Indexer
    node: Node | None = None

    def permuted(self, axes: Sequence[int], dims: Sequence[Dim]) -> Write:
        """The entries as part of an array with axes `dims`, of which `axes` are ours.

        They are repeated along the axes that are not.
        """
        forms: list[Affine] = []
        fresh = 1 + max((x for form in self.forms for x in form.labels), default=0)
        ranges = self.indexer.ranges
        ranges = replace(ranges, intervals=dict(ranges.intervals))
        for axis, dim in enumerate(dims):
            if axis in axes:
                forms.append(self.forms[list(axes).index(axis)])
            else:
                forms.append(Affine.atom(fresh))
                ranges.intervals[fresh] = (ZERO, dim)
                fresh += 1
        indexer = Indexer(self.indexer.draft, ranges, self.indexer.looked)
        node = self.node if len(axes) == len(dims) else None
        return Write(tuple(dims), tuple(forms), self.core, indexer, node)

    @property
    def lengths(self) -> tuple[Dim, ...]:
        """Of what is written: one for each of its labels."""
        labels = dict.fromkeys(x for form in self.forms for x in form.labels)
        ends = (self.indexer.ranges.intervals[x] for x in labels)
        return tuple(high - low for low, high in ends)

    def canonical(self) -> Write:
        """The same, its labels numbered as they come."""
        known = self.indexer.ranges
        first = (x for form in self.forms for x in form.labels)
        met = dict.fromkeys([*first, *self.core.labels, *known.intervals])
        name = {x: k for k, x in enumerate(met)}.__getitem__
        own = {name(x): known.intervals[x] for x in met if x in known.intervals}
        ranges = replace(known, intervals=own)
        indexer = Indexer(self.indexer.draft, ranges, self.indexer.looked)
        forms = tuple(form.renamed(name) for form in self.forms)
        return Write(self.dims, forms, self.core.renamed(name), indexer, self.node)

    def within(
        self, whole: Solution, labels: Sequence[Label | None], node: Product
    ) -> Write:
        """The entries where a product writes the array that they are part of.

        Its axes have the `labels` there; others repeat it.
        """
        first = 1 + max(whole.ranges.intervals, default=0)
        forms = list(whole.writes)
        for label, form in zip(labels, self.forms, strict=True):
            own = form.renamed(lambda x: first + x)
            forms = [f.substituted(label, own) for f in forms]
        intervals = {
            **{first + x: i for x, i in self.indexer.ranges.intervals.items()},
            **{x: i for x, i in whole.ranges.intervals.items() if x not in labels},
        }
        ranges = replace(self.indexer.ranges, intervals=intervals)
        indexer = Indexer(self.indexer.draft, ranges, self.indexer.looked)
        core = self.core.renamed(lambda x: first + x)
        core = multiply([Factor(as_float(core))], node.coefficient)
        return Write(node.dims, tuple(forms), core, indexer)

    @property
    def is_at_one_place(self) -> bool:
        """Whether it is one entry, and a known one."""
        return not any(form.terms for form in self.forms)

    @property
    def numbers(self) -> list[int]:
        """The places along axes of which all entries have one."""
        given = [form.const.constant for form in self.forms if not form.terms]
        return [number for number in given if number is not None]

    def is_apart(self, other: Write) -> bool:
        """Whether surely no entry has a place that one of the other has.

        On some axis both stand at one place, and these are different numbers.
        """
        pairs = zip(self.forms, other.forms, strict=True)
        return any(
            not (one.terms or two.terms) and (one.const - two.const).constant
            for one, two in pairs
        )

    def diagonal(self) -> Operand | None:
        """The array as a plain `np.diag` or `np.eye`, where it is one."""
        if len(self.dims) != 2 or self.dims[0] != self.dims[1]:
            return None
        first, second = map(plain_label, self.forms)
        if first is None or first != second:
            return None
        if self.indexer.ranges.intervals[first] != (ZERO, self.dims[0]):
            return None
        core = as_float(self.core)
        if core.labels == (first,):
            return made(Diag(), (0, 1), core)
        unit = made(Eye(self.dims[0], "bool"), (0, 1))
        if literal(core) == 1:
            return unit
        return product(Fraction(1), [core, as_float(unit)])

    def by_key(self) -> Operand | None:
        """The array as sums by key: index arrays say of each entry where it belongs.

        None where anything else says it, or the entries are the same at some places.
        """
        if is_injective(self.forms):
            return None
        core, at = as_float(self.core), self.indexer.subscript([*self.forms], self.dims)
        parts = at.index.parts
        keys = [axis for axis, part in enumerate(parts) if isinstance(part, Entries)]
        rest = [axis for axis, part in enumerate(parts) if part == WHOLE]
        along = [x for axis in rest for x in self.forms[axis].labels]
        labels = [x for x in at.labels if x not in along] + along
        axes = (*keys, *rest)
        if not at.safe or len(axes) < len(parts) or {*core.labels} != {*labels}:
            return None
        entries = aligned(multiply([Factor(core)]), labels).array
        shape = tuple(self.dims[axis] for axis in axes)
        return Operand(array(SumByKey(shape), entries, *at.places), axes)

    def onto(
        self, whole: Array, scale: Fraction = Fraction(1), fresh: bool = False
    ) -> None:
        """Append the statement that adds `scale` times the entries to a variable.

        `fresh` tells that there are still zeros at all of their places.
        """
        draft = self.indexer.draft
        if whole.kind == "int":
            # Entries of an index array stay what they are.
            self._put(whole)
            return
        core = as_float(self.core)
        injective = is_injective(self.forms)
        at = self.indexer.subscript(list(self.forms), self.dims, written=injective)
        if at.safe and injective:
            size = scale if fresh else abs(scale)
            entries = aligned(multiply([Factor(core)], size), at.labels).array
            how: Change = "=" if fresh else "+=" if scale > 0 else "-="
            draft.add(Store(whole, at.index, at.places, how, entries))
            return
        value = multiply([Factor(core)], scale)
        along = len(self.dims) == len(value.labels) == len(at.labels) == 1
        if not (along and at.safe) and draft.slow_at:
            draft.add(self._by_entry(whole, at, value))
            return
        entries = aligned(value, at.labels).array
        # An array without entries has no place to clip positions to.
        guarded = not at.safe
        draft.add(Scatter(whole, at.index, at.places, entries, False, guarded))

    def _put(self, whole: Array) -> None:
        """Append the statement that sets entries where nothing is yet."""
        at = self.indexer.subscript(list(self.forms), self.dims, written=True)
        entries = aligned(self.core, at.labels).array
        self.indexer.draft.add(Store(whole, at.index, at.places, "=", entries))

    def _by_entry(self, whole: Array, at: Subscript, value: Operand) -> Scatter:
        """The statement for what is slow, with the axes that are indexed put first."""
        parts = at.index.parts
        rest = [axis for axis, part in enumerate(parts) if isinstance(part, Slice)]
        first = [axis for axis in range(len(parts)) if axis not in rest]
        kept = tuple(part if isinstance(part, Slice) else WHOLE for part in parts)
        target = whole
        if set(kept) != {WHOLE}:
            target = array(Index(kept, self._cut(at, rest)), target)
        target = permuted(target, (*first, *rest))
        along = [x for axis in rest for x in self.forms[axis].labels]
        labels = [x for x in at.labels if x not in along] + along
        index = Index(tuple(parts[axis] for axis in first), at.index.dims)
        entries = aligned(value, labels).array
        one = len(at.places) == target.order == at.places[0].order == 1
        counts = one and at.safe and isinstance(entries.op, Number)
        return Scatter(target, index, at.places, entries, True, counts=counts)

    def _cut(self, at: Subscript, sliced: Sequence[int]) -> tuple[Dim, ...]:
        """The dims of the array along slices, and of all of its other axes."""
        sizes = dict(zip(at.labels, at.index.dims, strict=True))
        return tuple(
            sizes[self.forms[axis].labels[0]] if axis in sliced else dim
            for axis, dim in enumerate(self.dims)
        )
