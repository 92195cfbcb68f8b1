"""Which values indices take: from bounds, positions and conditions.

The rules of the language: a range that is given holds; otherwise an index takes the
largest interval in which every position that mentions it alone stays inside its axis;
failing that, it follows from a position whose other indices have ranges; failing that,
from the bounds of others in which it occurs; failing that, from an index array that it
is compared with; failing that, from another line about entries of the same array. All
indices of one statement are solved together, in rounds: each round applies the first
rule that finds anything.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from tensorgen.errors import Faults, Mark, Span
from tensorgen.ir.dims import Dim
from tensorgen.lang.facts import Facts, Interval, Known, Position
from tensorgen.lang.index_forms import Form, Index


class Ranges(Facts):
    """All that one statement says of its indices; `solve` finds their intervals."""

    def solve(self, faults: Faults) -> Known | None:
        """Return an interval for each index, or None with faults reported."""
        known: Known = {}
        failed: set[Index] = set()
        rules: tuple[Callable[[Index, Known], Interval | _Failure | None], ...] = (
            self._given,
            partial(self._within, alone=True),
            partial(self._within, alone=False),
            self._bounding,
            self._against,
            lambda index, known: self.otherwise.get(index),
        )
        while True:
            for rule in rules:
                found = [
                    (index, interval)
                    for index in self.indices
                    if index not in known and index not in failed
                    if (interval := rule(index, known)) is not None
                ]
                if found:
                    break
            else:
                break
            for index, interval in found:
                if isinstance(interval, Interval):
                    interval = _cut(index, interval)
                if isinstance(interval, Interval):
                    known[index] = interval
                else:
                    failed.add(index)
                    interval.report(faults)
        open_ = [i for i in self.indices if i not in known and i not in failed]
        if open_ and not failed:
            self._unsolved(open_, faults)
        if failed or open_:
            return None
        # Only now: what others take their ranges from does not depend on conditions.
        known = {index: self._narrowed(index, known[index]) for index in known}
        known |= {index: self._widened(index, known) for index in known}
        return known if self.verified(known, faults) else None

    # The rules

    def _given(self, index: Index, known: Known) -> Interval | _Failure | None:
        if index not in self.bounds:
            return None
        low, high = self.bounds[index]
        if not all(i in known for form in (low, high) for i in form.mentioned):
            return None
        return Interval(self.least(low, known), -self.least(-high, known))

    def _within(
        self, index: Index, known: Known, alone: bool
    ) -> Interval | _Failure | None:
        """The interval in which positions stay inside for all of `known`.

        Only those that mention nothing else count where the index stands `alone`.
        """
        if index in self.bounds:
            return None
        limits: list[tuple[Form, Position]] = []
        for position in self.positions:
            form = position.low
            others = [i for i in form.indices if i != index]
            ready = all(i in known for i in others)
            if alone and len(form.terms) != 1:
                ready = False
            if form.coefficient(index) and ready and not self._guards(position):
                limits += [(limit, position) for limit in position.limits]
        return self._interval(index, limits, known) if limits else None

    def _guards(self, position: Position) -> bool:
        """Whether a `where` keeps a position inside: its indices go on beyond an end.

        How far is not said there, neither at that end nor at the other.
        """
        return any(self.implied(limit, position.chosen) for limit in position.limits)

    def _bounding(self, index: Index, known: Known) -> Interval | _Failure | None:
        """Rule: an index that occurs only in the bounds of others starts at 0.

        It ends where these leave their axes; those that only start at it (as in
        `j=range(i, n)`) leave theirs where nothing is left of the range.
        """
        if index in self.bounds or any(
            index in p.low.mentioned for p in self.positions
        ):
            return None
        least = [
            (self.independent(limit), position)
            for position in self.positions
            for limit in position.limits
        ]
        greatest = [(-self.independent(-p.high), p) for p in self.positions]
        ends = any(form.coefficient(index) < 0 for form, _ in least)
        limits = [
            (form, position)
            for form, position in (least if ends else least + greatest)
            if form.coefficient(index)
            if all(i in known for i in form.indices if i != index)
        ]
        return self._interval(index, limits, known, floor=True) if limits else None

    def _against(self, index: Index, known: Known) -> Interval | _Failure | None:
        if index in self.bounds or any(index in p.low.indices for p in self.positions):
            return None
        found = [c for c in self.compared if c.subject == index]
        lows = [(-c.shift, None) for c in found]
        highs = [(c.bound - c.shift, None) for c in found]
        return _intersection(index, lows, highs) if found else None

    def _interval(
        self,
        index: Index,
        limits: Sequence[tuple[Form, Position]],
        known: Known,
        floor: bool = False,
    ) -> Interval | _Failure | None:
        """Solve `limit >= 0` for an index, for all values of the others."""
        lows: list[tuple[Dim, Position | None]] = [(Dim(), None)] if floor else []
        highs: list[tuple[Dim, Position | None]] = []
        for limit, position in limits:
            scale = limit.coefficient(index)
            least = self.least(limit.without(index), known)
            # scale * index + least >= 0
            quotient = floor_divided(least, abs(scale))
            if quotient is None:
                times, length = f"{abs(scale)}*k", str(position.length)
                part = f"({length})" if " " in length else length
                return _Failure(
                    f"the range of '{index.name}' is not affine in the dims",
                    index.span or position.span,
                    ((position.span, f"an axis of length {length}"),),
                    f"declare that axis as a multiple, {times} in place of {length}, "
                    f"or state a range: {index.name}=range({part} // {abs(scale)})",
                )
            if scale > 0:
                lows.append((-quotient, position))
            else:
                highs.append((quotient + 1, position))
        return _intersection(index, lows, highs) if highs else None

    def _narrowed(self, index: Index, interval: Interval) -> Interval:
        """Cut an interval by conditions on the index alone, where that is safe."""
        for owner, form in self.conditions:
            if owner != index or form.indices != (index,) or len(form.terms) != 1:
                continue
            low, high = interval
            match form.coefficient(index):
                case 1 if (-form.const - low).is_nonnegative():
                    low = -form.const
                case -1 if (high - form.const - 1).is_nonnegative():
                    high = form.const + 1
            # A condition may hold nowhere: that is no fault, so it must not become one.
            if (high - low).is_nonnegative():
                interval = Interval(low, high)
        return interval

    def _widened(self, index: Index, known: Known) -> Interval:
        """The interval of an index, as far as axes go where others bound it.

        Bounds by others are conditions: `j=range(i + 1, n)` reads `x[j]` whole, as
        `where(i < j, ...)` does, and not but for its first entry.
        """
        low, high = known[index]
        if not self.dependent(index) or index in self.strided:
            return known[index]
        before, after = list[int](), list[int]()
        for limit in (x for position in self.positions for x in position.limits):
            scale = limit.coefficient(index)
            end = self.least(limit.without(index), known) if scale else Dim()
            end += (low if scale > 0 else high - 1) * scale
            room = floor_divided(end, abs(scale)) if scale else None
            if scale:
                own = before if scale > 0 else after
                own.append((room.constant or 0) if room is not None else 0)
        return Interval(low - min(before, default=0), high + min(after, default=0))

    def _unsolved(self, open_: list[Index], faults: Faults) -> None:
        """Report indices that no rule reaches, together where they meet."""
        cyclic = [i for i in open_ if i in self.bounds]
        if len(cyclic) == len(open_):
            names = _listed(cyclic)
            faults.add(f"the bounds of {names} depend on each other", cyclic[0].span)
            return
        for index in open_:
            if index in self.bounds:
                continue
            meets = next(
                (
                    (p, other)
                    for p in self.positions
                    for other in p.low.indices
                    if index in p.low.indices and other in open_ and other != index
                ),
                None,
            )
            if meets is None:
                message = f"nothing determines the range of '{index.name}'"
                hint = _hint(index)
                if index.left:
                    hint = f"state it, {index.name}=range(n); numbers are arange(n)"
                faults.add(message, index.span, hint=hint)
            elif open_.index(meets[1]) > open_.index(index):
                names = _listed([index, meets[1]])
                message = f"the ranges of {names} do not follow: neither stands alone"
                mark = (meets[0].span, f"an axis of length {meets[0].length}")
                faults.add(message, index.span, marks=[mark], hint=_hint(meets[1]))


@dataclass(frozen=True, slots=True)
class _Failure:
    """Why a rule that applies gives no interval."""

    message: str
    span: Span | None
    marks: tuple[Mark, ...]
    hint: str | None

    def report(self, faults: Faults) -> None:
        faults.add(self.message, self.span, marks=self.marks, hint=self.hint)


def _listed(indices: Sequence[Index]) -> str:
    return " and ".join(f"'{index.name}'" for index in indices)


def _hint(index: Index) -> str:
    if index.meant is not None:
        return index.meant
    if index.left:
        name = index.name
        return f"let it stand alone, as in x[{name}], or state it: {name}=range(n)"
    return f"give it one: {index.name}=range(...)"


def floor_divided(size: Dim, divisor: int) -> Dim | None:
    """Return floor(size / divisor) where that is a polynomial."""
    if divisor == 1:
        return size
    whole, below = size.whole
    divisor *= below
    terms = []
    for monomial, c in whole.terms:
        if monomial and c % divisor:
            return None
        terms.append((monomial, c // divisor))
    return Dim(terms)


def _intersection(
    index: Index,
    lows: Sequence[tuple[Dim, Position | None]],
    highs: Sequence[tuple[Dim, Position | None]],
) -> Interval | _Failure:
    """The largest low and the least high, if all can be compared."""
    ends: list[Dim] = []
    for limits, sign in ((lows, 1), (highs, -1)):
        best, place = limits[0]
        for limit, position in limits[1:]:
            if ((best - limit) * sign).is_nonnegative():
                continue
            if not ((limit - best) * sign).is_nonnegative():
                marks = tuple(
                    (p.span, f"{index.name} {'>=' if sign > 0 else '<'} {at}")
                    for at, p in ((best, place), (limit, position))
                    if p is not None
                )
                return _Failure(
                    f"the range of '{index.name}' does not follow: "
                    f"{best} and {limit} cannot be compared",
                    index.span,
                    marks,
                    _hint(index),
                )
            best, place = limit, position
        ends.append(best)
    return Interval(*ends)


def _cut(index: Index, interval: Interval) -> Interval | _Failure:
    """Cut the interval of an index on the left side at 0."""
    if not index.left:
        return interval
    low, high = interval
    if low.is_positive() or (-high).is_positive():
        return _Failure(
            f"0 is outside of the range of '{index.name}': {low} to {high - 1}",
            index.span,
            (),
            "the first entry along an index on the left side is at 0",
        )
    if low != 0 and not (-low).is_nonnegative():
        return _Failure(
            f"whether 0 is in the range of '{index.name}' is not known: it starts "
            f"at {low}",
            index.span,
            (),
            None,
        )
    return Interval(Dim(), high)
