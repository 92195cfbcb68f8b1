"""Index expressions: slices where they do, index arrays where they must."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import chain

from tensorgen.arrays.arrays import Array, array
from tensorgen.arrays.operations import Clip, Compare, Index, Pad
from tensorgen.arrays.places import WHOLE, At, Entries, Limit, Part, Slice
from tensorgen.ir.constraints import Ranges
from tensorgen.ir.dims import ONE, ZERO, Dim
from tensorgen.ir.nodes import Affine, Constraint, Label, Lookup, Ref, affine
from tensorgen.lower.axes import aligned
from tensorgen.lower.draft import Draft
from tensorgen.lower.operands import Operand, made, product, size, total
from tensorgen.lower.sliding_windows import Axis, cuts, window_axes, windows
from tensorgen.lower.solve_constraints import is_basic, single_label

Looked = Callable[[Ref], Operand]


@dataclass(frozen=True)
class Subscript:
    """The positions of an array, and the axes that they make.

    `safe` ones did not have to be clipped.
    """

    index: Index
    places: tuple[Array, ...]
    labels: tuple[Label, ...]
    safe: bool

    @property
    def is_whole(self) -> bool:
        """Whether all axes are whole."""
        return all(part == WHOLE for part in self.index.parts)


class Indexer:
    """Writes index expressions over the intervals of one product's labels."""

    def __init__(self, draft: Draft, ranges: Ranges, looked: Looked) -> None:
        """`looked` gives the expression of an index array under its labels."""
        self.draft = draft
        self.ranges = ranges
        self.looked = looked

    def read(
        self,
        whole: Operand,
        forms: list[Affine],
        dims: Sequence[Dim],
        clips: bool = False,
    ) -> Operand:
        """The entries of `whole` at `forms`, one for each of its axes.

        Those outside are masked; or, if it `clips`, they are the nearest ones.
        """
        axes = window_axes(self.ranges, forms, dims)
        if axes and whole.kind == "float":
            return self.windows(whole, forms, dims, axes)
        if not clips:
            whole, dims = self._padded(whole, forms, dims)
        at = self.subscript(forms, dims)
        if at.is_whole:
            return whole.bearing(at.labels)
        return Operand(array(at.index, whole.array, *at.places), at.labels)

    def windows(
        self,
        whole: Operand,
        forms: list[Affine],
        dims: Sequence[Dim],
        axes: dict[int, Axis],
    ) -> Operand:
        """A view of `whole` through windows along some axes."""
        cut, ranges = cuts(self.ranges, forms, axes)
        part = Indexer(self.draft, ranges, self.looked).read(whole, cut, dims)
        return windows(self.ranges, part, forms, axes)

    def _padded(
        self, whole: Operand, forms: list[Affine], dims: Sequence[Dim]
    ) -> tuple[Operand, Sequence[Dim]]:
        """The array with an entry more where it may have none to clip positions to.

        What is read there is masked.
        """
        plain = self._plain(forms, dims)
        more = [
            int(
                not (basic and form.terms)
                and not self.ranges.holds(dim - 1)
                and not self.ranges.contain(form, (ZERO, dim))
            )
            for form, dim, basic in zip(forms, dims, plain, strict=True)
        ]
        if not any(more):
            return whole, dims
        pad = Pad(tuple((ZERO, Dim.of(k)) for k in more))
        longer = [dim + k for dim, k in zip(dims, more, strict=True)]
        return made(pad, whole.labels, whole), longer

    def subscript(
        self, forms: list[Affine], dims: Sequence[Dim], written: bool = False
    ) -> Subscript:
        """The positions `forms` of an array with axes of size `dims`.

        Where they are `written` to, a number that may lie behind the end is a slice:
        there is no entry then, of an array that may have none at all.
        """
        plain = self._plain(forms, dims)
        block = _block(forms, plain)
        parts: list[Part] = []
        places: list[Array] = []
        ones: dict[int, Label] = {}
        safe = True
        for axis, (form, dim, basic) in enumerate(zip(forms, dims, plain, strict=True)):
            if not basic:
                inside = self.ranges.contain(form, (ZERO, dim))
                parts.append(Entries())
                places.append(self._positions(form, block, dim, inside))
                safe = safe and inside
            elif not form.terms:
                place = self._number(form.const, dim)
                if written and not block and place.most and not place.clipped:
                    ones[axis] = -1 - axis
                    stop = Limit(place.position + 1)
                    parts.append(Slice(Limit(place.position), stop))
                else:
                    parts.append(At(place))
            else:
                parts.append(self._slice(form, dim))
        labels = self.layout(forms, dims)
        if ones:  # without index arrays, axes stay in order
            own = ((ones[k],) if k in ones else f.labels for k, f in enumerate(forms))
            labels = tuple(chain.from_iterable(own))
        ends = ((ZERO, ONE) if x < 0 else self.ranges.intervals[x] for x in labels)
        index = Index(tuple(parts), tuple(high - low for low, high in ends))
        return Subscript(index, tuple(places), labels, safe)

    def layout(self, forms: list[Affine], dims: Sequence[Dim]) -> tuple[Label, ...]:
        """The axes that the positions `forms` make.

        Those of index arrays stand where the arrays do, or first if anything comes
        between these; numbers count as index arrays where there are any.
        """
        plain = self._plain(forms, dims)
        block = _block(forms, plain)
        joined = [a for a, f in enumerate(forms) if not plain[a] or not f.terms]
        together = block and joined[-1] - joined[0] < len(joined)
        labels: list[Label] = [] if together else list(block)
        for axis, form in enumerate(forms):
            if together and axis == joined[0]:
                labels += block
            if plain[axis] and form.terms:
                labels += form.labels
        return tuple(labels)

    def _plain(self, forms: list[Affine], dims: Sequence[Dim]) -> list[bool]:
        """Which axes are indexed by numbers and slices."""
        return [
            is_basic(forms, axis) and self._sliceable(forms[axis], dim)
            for axis, dim in enumerate(dims)
        ]

    def mask(self, constraint: Constraint) -> Operand:
        """A constraint as an array of booleans over its labels."""
        kind, form = constraint
        block = sorted(form.labels)
        left = [(a, c) for a, c in form.terms if c > 0]
        right = [(a, -c) for a, c in form.terms if c < 0]
        const = [Dim([term]) for term in form.const.terms]
        low = Affine(tuple(left), sum((c for c in const if c.terms[0][1] > 0), ZERO))
        high = Affine(tuple(right), sum((-c for c in const if c.terms[0][1] < 0), ZERO))
        sides = [self._sum(side, block) for side in (low, high)]
        return made(Compare("==" if kind == "eq" else ">="), tuple(block), *sides)

    # Positions by index arrays

    def _positions(
        self, form: Affine, block: Sequence[Label], dim: Dim, inside: bool
    ) -> Array:
        positions = self._sum(form, block).array
        return positions if inside else array(Clip(dim - 1), positions)

    def _sum(self, form: Affine, block: Sequence[Label]) -> Operand:
        terms: list[tuple[int, Operand]] = []
        for atom, c in form.terms:
            body = product(Fraction(abs(c)), [aligned(self._atom(atom), block)])
            terms.append((1 if c > 0 else -1, body))
        terms += [(sign, size(part)) for sign, part in form.const.parts]
        terms.sort(key=lambda term: -term[0])
        return total(terms)

    def _atom(self, atom: Label | Lookup) -> Operand:
        if isinstance(atom, Lookup):
            node, labels = atom
            pairs = set(zip(labels, node.dims, strict=True))
            # The shorter one of two axes ends a diagonal: such axes are read apart.
            apart = len(pairs) > len(set(labels))
            own = tuple(range(node.order)) if apart else labels
            whole = self.looked(Ref(node, own))
            axes = map(own.index, whole.labels)
            parts = [(affine([(labels[axis], 1)]), node.dims[axis]) for axis in axes]
            return self.read(whole, [form for form, _ in parts], [d for _, d in parts])
        low, high = self.ranges.intervals[atom]
        return Operand(self.draft.vector(low, high), (atom,))

    # Numbers and slices

    def _sliceable(self, form: Affine, dim: Dim) -> bool:
        """Whether a form is a number, or a slice whose limits can be stated."""
        one = single_label(form)
        if one is None:
            return True
        if not self.ranges.contain(form, (ZERO, dim)):
            return False
        if one[1] > 0:
            return True
        low, high = self.ranges.intervals[one[0]]
        last = self._at_end(form)
        return self.ranges.holds(high - low) and (
            last == 0 or self.ranges.holds(last - 1)
        )

    def _at_end(self, form: Affine) -> Dim:
        ((label, c),) = _labels(form)
        return (self.ranges.intervals[label][1] - 1) * c + form.const

    def _number(self, position: Dim, dim: Dim) -> Limit:
        """A position; from the end it would leave a shorter axis at the front."""
        found = Limit(position, clipped=True)
        if self.ranges.holds(position):
            found = self._limit(position, dim)
        inside = self.ranges.holds(dim - 1 - position)
        return found if inside else replace(found, most=dim - 1)

    def _slice(self, form: Affine, dim: Dim) -> Slice:
        ((label, c),) = _labels(form)
        low, _ = self.ranges.intervals[label]
        first, last = low * c + form.const, self._at_end(form)
        if c > 0:
            start = None if first == 0 else self._limit(first, dim)
            return Slice(start, self._stop(last + 1, dim, c), c)
        start = None if first == dim - 1 else self._limit(first, dim)
        if last == 0 and start is not None and start.clipped:
            # Counted from the end, it stays before the first one where there is none.
            start = Limit(first - dim)
        return Slice(start, None if last == 0 else self._limit(last - 1, dim), c)

    def _stop(self, stop: Dim, dim: Dim, step: int) -> Limit | None:
        slack = (dim - stop).constant
        if slack is not None and 0 <= slack < step:
            return None
        return self._limit(stop, dim)

    def _limit(self, position: Dim, dim: Dim) -> Limit:
        """A position; from the end where that is a plain number."""
        from_end = (position - dim).constant
        if position.constant is None and from_end is not None and from_end < 0:
            return Limit(Dim.of(from_end))
        # An empty interval must not turn into positions from the end.
        return Limit(position, clipped=not self.ranges.holds(position))


def _block(forms: Sequence[Affine], plain: Sequence[bool]) -> list[Label]:
    """The labels of all index arrays, which broadcast against each other."""
    fancy = [form for form, basic in zip(forms, plain, strict=True) if not basic]
    return sorted({label for form in fancy for label in form.labels})


def _labels(form: Affine) -> Iterator[tuple[Label, int]]:
    return ((a, c) for a, c in form.terms if not isinstance(a, Lookup))
