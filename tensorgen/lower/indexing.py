"""Index expressions: slices where they do, index arrays where they must."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from tensorgen.ir.dims import ZERO, Dim
from tensorgen.ir.nodes import Affine, Constraint, Label, Lookup, Ref, affine
from tensorgen.lower.constraints import (
    Ranges,
    is_basic,
    single_label,
)
from tensorgen.lower.layout import aligned
from tensorgen.lower.text import Expr, Level, product, total
from tensorgen.lower.windows import Axis, cuts, window_axes, windows
from tensorgen.lower.writer import Writer

Looked = Callable[[Ref], Expr]


@dataclass(frozen=True)
class Subscript:
    """The positions of an array, one text an axis, and the axes that they make."""

    parts: tuple[str, ...]
    labels: tuple[Label, ...]
    fancy: bool  # by index arrays: a copy when read
    safe: bool  # no position had to be clipped

    @property
    def text(self) -> str:
        """What stands in brackets; nothing where all axes are whole."""
        parts = list(self.parts)
        while parts and parts[-1] == ":":
            parts.pop()
        return ", ".join(parts)


class Indexer:
    """Writes index expressions over the intervals of one product's labels."""

    def __init__(self, writer: Writer, ranges: Ranges, looked: Looked) -> None:
        """`looked` gives the expression of an index array under its labels."""
        self.writer = writer
        self.ranges = ranges
        self.looked = looked

    def read(
        self,
        array: Expr,
        forms: list[Affine],
        dims: Sequence[Dim],
        clips: bool = False,
    ) -> Expr:
        """The entries of `array` at `forms`, one for each of its axes.

        Those outside are masked; or, if it `clips`, they are the nearest ones.
        """
        axes = window_axes(self.ranges, forms, dims)
        if axes and array.kind == "float":
            return self.windows(array, forms, dims, axes)
        if not clips:
            array, dims = self._padded(array, forms, dims)
        at = self.subscript(forms, dims)
        if not at.text and not at.fancy:
            return array.bearing(at.labels)
        text = f"{array.at(Level.ATOM)}[{at.text}]"
        base = None if at.fancy else array.base
        return Expr(text, labels=at.labels, kind=array.kind, base=base)

    def windows(
        self,
        array: Expr,
        forms: list[Affine],
        dims: Sequence[Dim],
        axes: dict[int, Axis],
        written: bool = False,
    ) -> Expr:
        """A view of `array` through windows along some axes."""
        whole, ranges = cuts(self.ranges, forms, axes)
        part = Indexer(self.writer, ranges, self.looked).read(array, whole, dims)
        return windows(self.writer, self.ranges, part, forms, axes, written)

    def _padded(
        self, array: Expr, forms: list[Affine], dims: Sequence[Dim]
    ) -> tuple[Expr, Sequence[Dim]]:
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
            return array, dims
        widths = ", ".join(f"(0, {k})" for k in more)
        widths = f"({widths})" if len(more) > 1 else widths
        text = self.writer.np("pad", array.text, widths)
        longer = [dim + k for dim, k in zip(dims, more, strict=True)]
        return Expr(text, labels=array.labels, kind=array.kind), longer

    def subscript(self, forms: list[Affine], dims: Sequence[Dim]) -> Subscript:
        """The positions `forms` of an array with axes of size `dims`."""
        plain = self._plain(forms, dims)
        block = _block(forms, plain)
        parts: list[str] = []
        safe = True
        for form, dim, basic in zip(forms, dims, plain, strict=True):
            if not basic:
                inside = self.ranges.contain(form, (ZERO, dim))
                parts.append(self._positions(form, block, dim, inside))
                safe = safe and inside
            elif not form.terms:
                parts.append(self._number(form.const, dim))
            else:
                parts.append(self._slice(form, dim))
        labels = self.layout(forms, dims)
        return Subscript(tuple(parts), labels, not all(plain), safe)

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

    def mask(self, constraint: Constraint) -> Expr:
        """A constraint as an array of booleans over its labels."""
        kind, form = constraint
        block = sorted(form.labels)
        left = [(a, c) for a, c in form.terms if c > 0]
        right = [(a, -c) for a, c in form.terms if c < 0]
        const = [Dim([term]) for term in form.const.terms]
        low = Affine(tuple(left), sum((c for c in const if c.terms[0][1] > 0), ZERO))
        high = Affine(tuple(right), sum((-c for c in const if c.terms[0][1] < 0), ZERO))
        sign = "==" if kind == "eq" else ">="
        sides = [self._sum(side, block).at(Level.SUM) for side in (low, high)]
        text = f"{sides[0]} {sign} {sides[1]}"
        return Expr(text, Level.COMPARE, tuple(block), kind="bool", weak=not block)

    # Positions by index arrays

    def _positions(
        self, form: Affine, block: Sequence[Label], dim: Dim, inside: bool
    ) -> str:
        positions = self._sum(form, block).text
        if inside:
            return positions
        last = self.writer.size(dim - 1).text
        return self.writer.np("clip", positions, "0", last)

    def _sum(self, form: Affine, block: Sequence[Label]) -> Expr:
        terms: list[tuple[int, Expr]] = []
        for atom, c in form.terms:
            array = aligned(self._atom(atom), block)
            body = product(Fraction(abs(c)), [array])
            terms.append((1 if c > 0 else -1, body))
        for monomial, c in form.const.terms:
            size = self.writer.size(Dim([(monomial, abs(c))]))
            terms.append((1 if c > 0 else -1, size))
        terms.sort(key=lambda term: -term[0])
        return replace(total(terms), kind="int")

    def _atom(self, atom: Label | Lookup) -> Expr:
        if isinstance(atom, Lookup):
            whole = self.looked(Ref(*atom))
            forms = [affine([(label, 1)]) for label in whole.labels]
            # An entry of a diagonal has its label once, though the array has two axes.
            sizes = dict(zip(atom.labels, atom.node.dims, strict=True))
            return self.read(whole, forms, [sizes[label] for label in whole.labels])
        low, high = self.ranges.intervals[atom]
        return Expr(self.writer.vector(low, high), labels=(atom,), kind="int")

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

    def _number(self, position: Dim, dim: Dim) -> str:
        if self.ranges.holds(position):
            text = self._limit(position, dim)
        else:  # from the end it would leave a shorter axis at the front
            text = f"max({self.writer.size(position).text}, 0)"
        if self.ranges.holds(dim - 1 - position):
            return text
        return f"min({text}, {self.writer.size(dim - 1).text})"

    def _slice(self, form: Affine, dim: Dim) -> str:
        ((label, c),) = _labels(form)
        low, _ = self.ranges.intervals[label]
        first, last = low * c + form.const, self._at_end(form)
        if c > 0:
            start = "" if first == 0 else self._limit(first, dim)
            stop = self._stop(last + 1, dim, c)
        else:
            start = "" if first == dim - 1 else self._limit(first, dim)
            stop = "" if last == 0 else self._limit(last - 1, dim)
        step = "" if c == 1 else f":{c}"
        return f"{start}:{stop}{step}"

    def _stop(self, stop: Dim, dim: Dim, step: int) -> str:
        slack = (dim - stop).constant
        if slack is not None and 0 <= slack < step:
            return ""
        return self._limit(stop, dim)

    def _limit(self, position: Dim, dim: Dim) -> str:
        """A position as text; from the end where that is a plain number."""
        from_end = (position - dim).constant
        if position.constant is None and from_end is not None and from_end < 0:
            return str(from_end)
        size = self.writer.size(position)
        if self.ranges.holds(position):
            return size.text
        # An empty interval must not turn into positions from the end.
        return f"max({size.text}, 0)"


def _block(forms: Sequence[Affine], plain: Sequence[bool]) -> list[Label]:
    """The labels of all index arrays, which broadcast against each other."""
    fancy = [form for form, basic in zip(forms, plain, strict=True) if not basic]
    return sorted({label for form in fancy for label in form.labels})


def _labels(form: Affine) -> Iterator[tuple[Label, int]]:
    return ((a, c) for a, c in form.terms if not isinstance(a, Lookup))
