"""Solving deltas and indicators: what is read where, written where, and masked.

A delta is solved for one of its labels with coefficient 1 or -1, which vanishes: the
axes that bore it are indexed by an affine form of the labels that stay. Solving for
a summed label reads (`x[i + 1]`), solving for an axis of the result writes
(`out[1:] = ...`, `out[i, i] = ...`). That the form stays within the range of the
label solved for is a new pair of indicators: mostly implied, else a narrower
interval for one label. What is left are masks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain

from tensorgen.ir.constraints import Ranges, looked_up, solvable, solved, within
from tensorgen.ir.dims import ZERO, Dim
from tensorgen.ir.nodes import Affine, Constraint, Label, Lookup, Product, affine


@dataclass
class Solution:
    """A product without deltas: index forms for every axis, ranges, masks."""

    reads: list[list[Affine]]
    writes: list[Affine]
    ranges: Ranges
    masks: list[Constraint] = field(default_factory=list)

    def axes(self, dims: tuple[Dim, ...]) -> list[Label] | None:
        """The label of each axis of the result, if nothing needs to be written."""
        labels = [plain_label(form) for form in self.writes]
        known = [label for label in labels if label is not None]
        if len(set(known)) < len(labels):
            return None
        whole = all(
            self.ranges.intervals[label] == (ZERO, dim)
            for label, dim in zip(known, dims, strict=True)
        )
        return known if whole else None

    def is_view(self) -> bool:
        """Whether every read is a basic slice, and nothing is masked."""
        return not self.masks and all(
            is_basic(forms, axis) for forms in self.reads for axis in range(len(forms))
        )


def plain_label(form: Affine) -> Label | None:
    """The label that a form merely is."""
    if len(form.terms) == 1 and form.const == 0:
        atom, c = form.terms[0]
        if c == 1 and isinstance(atom, int):
            return atom
    return None


def single_label(form: Affine) -> tuple[Label, int] | None:
    """The one label that a form has, with its coefficient."""
    if len(form.terms) != 1 or isinstance(form.terms[0][0], Lookup):
        return None
    return form.terms[0][0], form.terms[0][1]


def is_basic(forms: list[Affine], axis: int) -> bool:
    """Whether an axis is indexed by a number or a slice."""
    form = forms[axis]
    if not form.terms:
        return True
    one = single_label(form)
    others = (f for a, f in enumerate(forms) if a != axis)
    return one is not None and all(one[0] not in f.labels for f in others)


def solve_constraints(product: Product, facts: Sequence[Dim] = ()) -> Solution:
    """Solve all constraints of a product, given that `facts` are nonnegative."""
    return _Solver(product, facts).run()


class _Solver:
    def __init__(self, product: Product, facts: Sequence[Dim]) -> None:
        self.order = product.order
        self.pending = list(product.constraints)
        self.solution = Solution(
            [[affine([(x, 1)]) for x in labels] for _, labels in product.factors],
            [affine([(axis, 1)]) for axis in range(product.order)],
            Ranges.of(dict(enumerate(product.sizes)), facts),
        )
        self.ranges = self.solution.ranges

    def run(self) -> Solution:
        """Narrow intervals and solve deltas until only masks are left.

        Each round removes a constraint or a label, and adds indicators only when it
        removes a label.
        """
        while True:
            self.pending = [c for c in self.pending if not self._settled(c)]
            best = self._best()
            if best is None:
                self.solution.masks = self.pending
                return self.solution
            self._solve_for(*best)

    def _settled(self, constraint: Constraint) -> bool:
        """Whether an indicator holds anyway, or could be made an interval."""
        kind, form = constraint
        if kind == "eq":
            return (not form.terms and form.const == 0) or self._end(form)
        return self.ranges.keep_nonnegative(form) or self._narrow(form)

    def _end(self, form: Affine) -> bool:
        """Make `t == c` the interval of `t`, where c is an end of what may be empty.

        A slice of one row or none is read then, and never a row that is not there. All
        that is read at `t` is as long as its interval, to have as many rows.
        """
        one = single_label(form)
        if one is None or abs(one[1]) != 1:
            return False
        label, c = one
        low, high = self.ranges.intervals[label]
        at = form.const * -c
        others = {x: own for x, own in self.ranges.intervals.items() if x != label}
        known = Ranges(others, self.ranges.facts, self.ranges.lengths)
        reads = [f for forms in self.solution.reads for f in forms if label in f.labels]
        plain = all(plain_label(f) is not None for f in reads)
        if at not in (low, high - 1) or known.holds(high - 1 - low) or not plain:
            return False
        self.ranges.lengths = [*self.ranges.lengths, high - low]
        self.ranges.intervals[label] = (at, at + 1)
        return True

    def _narrow(self, form: Affine) -> bool:
        """Apply `t + c >= 0` or `c - t >= 0` to the interval of `t`."""
        one = single_label(form)
        if one is None or abs(one[1]) != 1:
            return False
        label, c = one
        low, high = self.ranges.intervals[label]
        if c > 0 and self.ranges.holds(-form.const - low):
            self.ranges.intervals[label] = (-form.const, high)
            return True
        if c < 0 and self.ranges.holds(high - form.const - 1):
            self.ranges.intervals[label] = (low, form.const + 1)
            return True
        return False

    def _best(self) -> tuple[Constraint, Label, Affine] | None:
        """The delta and label to solve for next: reads first, then what is implied."""
        best: tuple[tuple[int, int], tuple[Constraint, Label, Affine]] | None = None
        reads = (form for forms in self.solution.reads for form in forms)
        pending = (constraint.form for constraint in self.pending)
        inside = looked_up(chain(reads, self.solution.writes, pending))
        written = {label for f in self.solution.writes for label in f.labels}
        for constraint in self.pending:
            for label in solvable(constraint):
                form = solved(constraint.form, label)
                if label in inside and plain_label(form) is None:
                    continue
                rank = self._rank(label, form, label in written)
                # Of labels that do as well the short ones stay, to be taps of windows.
                low, high = self.ranges.intervals[label]
                full = rank, -len((high - low).symbols)
                if best is None or full < best[0]:
                    best = (full, (constraint, label, form))
                if not rank:
                    return best[1]
        return best[1] if best else None

    def _rank(self, label: Label, form: Affine, written: bool) -> int:
        if self.ranges.contain(form, self.ranges.intervals[label]):
            return int(written)
        one = single_label(form)
        if one is None or abs(one[1]) != 1:
            return 6 + written
        # Of `j = i + 1` and `i = j - 1` take what leaves an interval from 0.
        return 2 + written + 2 * (not form.const.is_nonnegative())

    def _solve_for(self, constraint: Constraint, label: Label, form: Affine) -> None:
        rest = [c for c in self.pending if c is not constraint]
        self.pending = [
            Constraint(c.kind, _substituted(c.form, label, form)) for c in rest
        ]
        self.pending += within(form, self.ranges.intervals.pop(label))
        solution = self.solution
        solution.reads = [
            [_substituted(f, label, form) for f in forms] for forms in solution.reads
        ]
        solution.writes = [_substituted(f, label, form) for f in solution.writes]


def _substituted(form: Affine, label: Label, by: Affine) -> Affine:
    """Replace a label, inside index arrays too if it is only renamed."""
    if label not in form.labels:
        return form
    twin = plain_label(by)
    if twin is not None:
        return form.renamed(lambda x: twin if x == label else x)
    return form.substituted(label, by)
