"""What a statement says of its indices, and proofs about positions.

A position is a pair of conditions `form >= 0` that every value must meet. So are
explicit conditions, which guard the positions they stand over. All proofs are interval
arithmetic after substituting the bounds of dependent ranges: with j in `i ... n - 1`,
the least value of `x[j - i]` is found by putting i for j.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from tensorgen.errors import Faults, Span
from tensorgen.ir.dims import Dim
from tensorgen.lang.index_forms import Entry, Form, Index
from tensorgen.operators.functions.array import SizeCheck, condition, verdict


class Interval(NamedTuple):
    """The integers `low ... high - 1`."""

    low: Dim
    high: Dim

    @property
    def size(self) -> Dim:
        """How many integers these are."""
        return self.high - self.low


class Bounds(NamedTuple):
    """A range that is given: `low ... high - 1`."""

    low: Form
    high: Form


@dataclass(frozen=True, slots=True)
class Position:
    """A use of indices that must stay inside: `low >= 0` and `high >= 0`.

    For `x[f]` these are `f` and `len - 1 - f`. `guards` are forms that are
    nonnegative wherever the position is evaluated, and `chosen` those of them that
    `where` has as its condition: elsewhere nothing is read.
    """

    low: Form
    high: Form
    length: Dim
    text: str
    span: Span
    guards: tuple[Form, ...] = ()
    chosen: tuple[Form, ...] = ()

    @property
    def limits(self) -> tuple[Form, Form]:
        """Both conditions."""
        return (self.low, self.high)


class Compared(NamedTuple):
    """`subject + shift == entry of an index array`."""

    subject: Index
    shift: Dim
    bound: Dim


Known = dict[Index, Interval]


@dataclass
class Facts:
    """All that one statement says of its indices."""

    indices: list[Index] = field(default_factory=list)
    bounds: dict[Index, Bounds] = field(default_factory=dict)
    positions: list[Position] = field(default_factory=list)
    compared: list[Compared] = field(default_factory=list)
    conditions: list[tuple[Index, Form]] = field(default_factory=list)
    strided: dict[Index, Form] = field(default_factory=dict)
    parted: dict[Index, None] = field(default_factory=dict)
    otherwise: dict[Index, Interval] = field(default_factory=dict)
    checks: dict[SizeCheck, None] = field(default_factory=dict)

    def value(self, index: Index) -> Form:
        """What the name of an index stands for: a multiple where there is a stride."""
        return self.strided.get(index, Form.atom(index))

    def dependent(self, index: Index) -> bool:
        """Whether the range of an index depends on other indices."""
        bounds = self.bounds.get(index)
        return bounds is not None and any(form.mentioned for form in bounds)

    def independent(self, form: Form) -> Form:
        """Put their bounds for dependent indices, so that the form is least."""
        # Bounds that depend on each other would never end; they are reported elsewhere.
        for _ in range(len(self.bounds) + 1):
            inner = [i for i in form.indices if self.dependent(i)]
            hidden = {
                i for j in inner for bound in self.bounds[j] for i in bound.mentioned
            }
            index = next((i for i in inner if i not in hidden), None)
            if index is None:
                return form
            low, high = self.bounds[index]
            extreme = low if form.coefficient(index) > 0 else high - 1
            form = form.substituted(index, extreme)
        return form

    def implied(self, limit: Form, guards: tuple[Form, ...]) -> bool:
        """Whether a limit holds wherever guards do, whatever the indices are."""
        rests = (limit - g.scaled(k) for g in guards for k in _multiples(limit, g))
        return any(not r.terms and verdict(r.const) == "always" for r in rests)

    def least(self, form: Form, known: Mapping[Index, Interval]) -> Dim:
        """A lower bound of a form, attained unless ranges depend on each other."""
        form = self.independent(form)
        total = form.const
        for atom, c in form.terms:
            if isinstance(atom, Entry):
                interval = Interval(Dim(), atom.bound)
            else:
                interval = known[atom]
            total = total + (interval.low if c > 0 else interval.high - 1) * c
        return total

    def verified(self, known: Known, faults: Faults) -> bool:
        """Check that ranges are not negative and positions stay inside."""
        fine = True
        for index, interval in known.items():
            low, high = interval
            message = f"the range of '{index.name}' needs {low} <= {high}"
            fine &= self._demand(interval.size, message, index.span, faults)
        for position in self.positions:
            for limit, name in zip(position.limits, ("below", "above"), strict=True):
                least = self._guarded(limit, position.guards, known)
                message = f"'{position.text}' needs 0 <= {least}"
                if name == "above":
                    reach = position.length - 1 - least
                    message = f"'{position.text}' needs {reach} < {position.length}"
                fine &= self._demand(least, message, position.span, faults, position)
        return fine

    def _guarded(self, limit: Form, guards: tuple[Form, ...], known: Known) -> Dim:
        """The best lower bound of a limit that one guard helps to prove."""
        least = self.least(limit, known)
        if verdict(least) == "always":
            return least
        for guard in guards:
            # guard >= 0, so limit >= limit - k * guard: with some k an index is gone.
            for k in _multiples(limit, guard):
                other = self.least(limit - guard.scaled(k), known)
                if verdict(other) == "always":
                    return other
                if (other - least).is_positive():
                    least = other
        return least

    def _demand(
        self,
        size: Dim,
        message: str,
        span: Span | None,
        faults: Faults,
        position: Position | None = None,
    ) -> bool:
        match verdict(size):
            case "always":
                return True
            case "check":
                what = message.split(" needs ")[0]
                text = f"{what} needs {condition(size)}"
                self.checks[SizeCheck(size, text)] = None
                return True
            case _:
                hint = None
                if position is not None:
                    message = f"'{position.text}' leaves its axis: {message}"
                    hint = "give the index a range in which it stays inside"
                faults.add(message, span, hint=hint)
                return False


def _multiples(limit: Form, guard: Form) -> list[int]:
    """How often a guard may be in a limit: once, or as often as an index says."""
    both = [(limit.coefficient(i), guard.coefficient(i)) for i in guard.indices]
    found = [c // g for c, g in both if c % g == 0 and c // g > 0]
    return [*dict.fromkeys([1, *found])]
