"""The algebra of deltas and indicators: bounds, solving, normal form, simplifying.

A delta is solved for an atom with coefficient 1 or -1. Who asks says which atoms may
be solved for, which he prefers, and what becomes of the range of a label that goes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from math import gcd
from typing import Any, Literal, TypeGuard, cast

from tensorgen.ir.between import without_sums
from tensorgen.ir.dims import ZERO, Dim
from tensorgen.ir.effort import Effort
from tensorgen.ir.nodes import (
    Affine,
    Atom,
    Call,
    Constraint,
    Input,
    Label,
    Lookup,
    Node,
    Product,
    affine,
    once,
)

Interval = tuple[Dim, Dim]  # half-open, like a range


@dataclass
class Ranges:
    """The interval of each label, and what is known of sizes.

    `facts` are nonnegative, as the caller promises; `lengths` are at least 1 wherever
    there is anything at all, as those of the intervals are.
    """

    intervals: dict[Label, Interval]
    facts: Sequence[Dim] = ()
    lengths: Sequence[Dim] = ()

    @classmethod
    def of(cls, sizes: Mapping[Any, Dim], facts: Sequence[Dim] = ()) -> Ranges:
        """Return the ranges of labels that all start at 0."""
        return cls({label: (ZERO, dim) for label, dim in sizes.items()}, facts)

    def holds(self, size: Dim) -> bool:
        """Whether a size is provably nonnegative where no interval is empty."""
        facts = ZERO, *self.facts
        return any((size - x).is_nonnegative_beside(self._positive()) for x in facts)

    def _positive(self) -> Iterator[Dim]:
        """What is at least 1; few proofs ask for it."""
        for low, high in self.intervals.values():
            yield high - low
        yield from self.lengths

    def bounds(self, form: Affine) -> tuple[Dim, Dim] | None:
        """The least and greatest value of a form, where index arrays state theirs."""
        low = high = form.const
        for atom, c in form.terms:
            if isinstance(atom, Lookup):
                bound = index_bound(atom.node)
                if bound is None:
                    return None
                first, stop = ZERO, bound
            else:
                first, stop = self.intervals[atom]
            ends = first * c, (stop - 1) * c
            low, high = low + ends[c < 0], high + ends[c > 0]
        return low, high

    def keep_nonnegative(self, form: Affine) -> bool:
        """Whether a form is 0 at least for all labels in their ranges."""
        reach = self.bounds(form)
        return reach is not None and self.holds(reach[0])

    def contain(self, form: Affine, interval: Interval) -> bool:
        """Whether a form provably keeps to an interval."""
        reach = self.bounds(form)
        if reach is None:
            return False
        above = self.holds(reach[0] - interval[0])
        return above and self.holds(interval[1] - 1 - reach[1])


def looked_up(forms: Iterable[Affine]) -> set[Label]:
    """The labels at which forms take entries of index arrays."""
    atoms = (atom for form in forms for atom, _ in form.terms)
    return {x for atom in atoms if isinstance(atom, Lookup) for x in atom.labels}


def solved(form: Affine, atom: Atom) -> Affine:
    """What `form == 0` says of an atom whose coefficient is 1 or -1."""
    return form.without(atom).scaled(-form.coefficient(atom))


# Constraints


def within(form: Affine, interval: Interval) -> list[Constraint]:
    """The two indicators that keep a form to an interval."""
    low, stop = interval
    return [Constraint("ge", form - low), Constraint("ge", -form + (stop - 1))]


def solvable(constraint: Constraint) -> Iterator[Label]:
    """The labels that a delta may be solved for; none of an indicator."""
    if constraint.kind == "eq":
        for atom, c in constraint.form.terms:
            if abs(c) == 1 and not isinstance(atom, Lookup):
                yield atom


def eliminated(
    constraints: Sequence[Constraint], atoms: Iterable[Atom]
) -> list[Constraint]:
    """The constraints with each atom, where it can be, in one of them only.

    Gauss and Jordan: a delta is solved for one atom at most, the first that it has.
    Ranges stay as they are: every atom still stands in its delta.
    """
    found = list(constraints)
    pivots: set[int] = set()
    for atom in atoms:
        for pivot, (kind, form) in enumerate(found):
            unit = abs(form.coefficient(atom)) == 1
            if kind == "eq" and unit and pivot not in pivots:
                break
        else:
            continue
        pivots.add(pivot)
        value = solved(form, atom)
        for k, (kind, form) in enumerate(found):
            if k != pivot:
                found[k] = Constraint(kind, form.substituted(atom, value))
    return found


def normal(constraint: Constraint) -> Constraint:
    """A constraint with ordered atoms; a delta in lowest terms, its first positive.

    Constraints that are equal then say the same, whoever has written them.
    """
    kind, form = constraint
    if len(form.terms) > 1:
        form = Affine(tuple(sorted(form.terms, key=atom_key)), form.const)
    if kind == "eq" and form.terms:
        divisor, constant = gcd(*[c for _, c in form.terms]), form.const.constant
        if divisor > 1 and constant is not None and not constant % divisor:
            terms = tuple((a, c // divisor) for a, c in form.terms)
            form = Affine(terms, Dim.of(constant // divisor))
        if form.terms[0][1] < 0:
            form = -form
    return Constraint(kind, form)


def atom_key(term: tuple[Atom, int]) -> tuple[int, ...]:
    """The order of atoms in a form: labels, then lookups."""
    atom = term[0]
    if isinstance(atom, Lookup):
        return (1, atom.node.serial, *atom.labels)
    return (0, atom)


# Nodes


def is_light(node: Node) -> bool:
    """Whether a node is a product that costs nothing to look through.

    It scales, transposes, slices, broadcasts or spreads at most one node: every
    summed label is fixed by a delta of its own.
    """
    if not isinstance(node, Product) or len(node.factors) > 1:
        return False
    if not node.constraints:
        return not node.inner
    # Every product that it becomes a factor of asks.
    return once(node, is_light, partial(_is_light, node))


def _is_light(node: Product) -> bool:
    fixed: set[Label] = set()
    for constraint in node.constraints:
        summed = [x for x in solvable(constraint) if x >= node.order]
        fixed.update(summed[:1])
    return len(fixed) == len(node.inner)


def is_list(node: Node) -> TypeGuard[Product]:
    """Whether a node is a list of entries with their places in a larger array.

    `sum_e value[e] * delta(i, row[e]) * delta(j, column[e])` is looked through as well:
    what is made of it is made of the list.
    """
    if not is_scattered(node) or len(node.factors) > 1:
        return False
    return [ref.labels for ref in node.factors] == [(node.order,)]


def is_scattered(node: Node) -> TypeGuard[Product]:
    """Whether every axis of a node, of more than one, is the entry of an index array.

    The entries are those of one list of fewer axes.
    """
    if not isinstance(node, Product) or node.order < 2 or not node.inner:
        return False
    return once(node, is_scattered, partial(_is_scattered, node))


def _is_scattered(node: Product) -> bool:
    places = [_place(c, node.order) for c in node.constraints]
    found = dict(place for place in places if place is not None)
    lists = {entry.labels for entry in found.values()}
    return len(found) == node.order and [len(labels) for labels in lists] == [1]


def _place(constraint: Constraint, order: int) -> tuple[Label, Lookup] | None:
    """An axis, and the entry at summed labels that a delta says it is."""
    kind, (terms, const) = constraint
    if kind != "eq" or len(terms) != 2 or const != 0:
        return None
    (axis, c), (entry, d) = sorted(terms, key=atom_key)
    if isinstance(axis, Lookup) or not isinstance(entry, Lookup) or c + d != 0:
        return None
    given = axis < order <= min(entry.labels, default=0)
    return (axis, entry) if given else None


def index_bound(node: Node) -> Dim | None:
    """The bound of the entries of an index array or of a part of one, else None."""
    if isinstance(node, Input):
        return node.index
    if isinstance(node, Call):
        return cast(Dim | None, dict(node.params).get("bound"))
    if isinstance(node, Product) and node.coefficient == 1 and len(node.factors) == 1:
        return index_bound(node.factors[0].node) if is_light(node) else None
    return None


# Systems

Simplified = tuple[list[Constraint], dict[Label, Dim], dict[Label, Label]]
"""Constraints, the sizes of all labels that are left, and what labels have become."""


class System:
    """The constraints of a product, simplified until no rule fires.

    `sizes` are those of all labels that have not gone; `names` says what the labels of
    factors have become. The labels `out` of the result stay.
    """

    def __init__(
        self,
        constraints: Iterable[Constraint],
        sizes: Mapping[Label, Dim],
        out: Sequence[Label],
        inside: Iterable[Label],
    ) -> None:
        """Take constraints on labels of a result and labels `inside` of factors."""
        self.constraints = list(constraints)
        self.sizes = dict(sizes)
        self.ranges = Ranges.of(self.sizes)
        self.out = out
        self.names = {label: label for label in inside}

    @property
    def simplified(self) -> Simplified:
        """What has become of it."""
        return self.constraints, self.sizes, self.names

    def simplify(self, effort: Effort) -> bool:
        """Apply the delta rules until none fires; False where no label fits.

        Substitution removes a label; everything else removes a constraint. So there
        are at most as many rounds as labels and constraints together.
        """
        fired = True
        while fired:
            effort.spend(2 * len(self.constraints))
            # One order of atoms, or equal constraints would stand side by side.
            self.constraints = list(map(normal, self.constraints))
            kept: dict[Constraint, None] = {}
            for constraint in self.constraints:
                reduced = self._reduced(constraint)
                if reduced is False:
                    return False
                if reduced is not None:
                    kept[reduced] = None
            self.constraints = without_sums(kept)
            self._drop_where_empty()
            if self._is_contradictory():
                return False
            if self._meet():
                continue
            used = looked_up(c.form for c in self.constraints)
            fired = any(self._rename(c) or self._eliminate(c, used) for c in kept)
            fired = fired or self._solve()
        return True

    def _reduced(self, constraint: Constraint) -> Constraint | Literal[False] | None:
        """None where ranges imply the constraint, False where they refute it."""
        kind, form = constraint
        holds, constant = self.ranges.holds, form.const.constant
        divisor = gcd(*(c for _, c in form.terms))
        if constant is not None and not form.terms:
            fits = constant == 0 if kind == "eq" else constant >= 0
            return None if fits else False
        if constant is not None and kind == "eq" and constant % divisor:
            return False
        reach = self.ranges.bounds(form)
        if reach is not None:
            low, high = reach
            if kind == "ge" and (holds(low) or self._implied(form)):
                return None
            # Empty ranges make a sum empty anyway, so a refuted constraint is zero.
            if holds(-high - 1) or (kind == "eq" and holds(low - 1)):
                return False
        return constraint

    def _drop_where_empty(self) -> None:
        """Drop indicators outside of which nothing is summed: `0 < i` where `j < i`."""
        summed = self.sizes.keys() - {*self.out}
        indicators = [c.form for c in self.constraints if c.kind == "ge"]
        outside = [form for form in indicators if summed.isdisjoint(form.labels)]
        for form in indicators if outside else ():
            for label in summed.intersection(form.labels):
                low, stop = self.ranges.intervals[label]
                end = stop - 1 if form.coefficient(label) > 0 else low
                most = form.substituted(label, affine([], end))
                keeps = self.ranges.keep_nonnegative
                gone = [f for f in outside if keeps(f - most)]
                self.constraints = [c for c in self.constraints if c.form not in gone]

    def _is_contradictory(self) -> bool:
        """Whether two indicators never hold together, as `i < h` and `h <= i`."""
        forms = [form for kind, form in self.constraints if kind == "ge"]
        for one, other in combinations(forms, 2):
            reach = self.ranges.bounds(
                affine([*one.terms, *other.terms], one.const + other.const)
            )
            if reach is not None and self.ranges.holds(-reach[1] - 1):
                return True
        return False

    def _meet(self) -> bool:
        """Make a delta of two indicators, as `i <= j` and `j <= i`."""
        indicators = [c for c in self.constraints if c.kind == "ge"]
        for one, other in combinations(indicators, 2):
            if one.form == -other.form:
                rest = [c for c in self.constraints if c not in (one, other)]
                self.constraints = [Constraint("eq", one.form), *rest]
                return True
        return False

    def _implied(self, form: Affine) -> bool:
        """Whether a delta makes `form >= 0` hold, by what it says of one atom."""
        for kind, delta in self.constraints:
            for atom, c in delta.terms if kind == "eq" else ():
                if abs(c) == 1 and form.coefficient(atom):
                    other = form.substituted(atom, solved(delta, atom))
                    if self.ranges.keep_nonnegative(other):
                        return True
        return False

    def _rename(self, constraint: Constraint) -> bool:
        """Unify the two labels of a plain delta `a == b` of equal dims."""
        pair = list(solvable(constraint))
        if len(pair) != 2 or self.sizes[pair[0]] != self.sizes[pair[1]]:
            return False
        a, b = pair
        if constraint.form != affine([(a, 1), (b, -1)]):
            return False
        if a not in self.out or b not in self.out:
            gone, kept = (a, b) if a not in self.out else (b, a)
            self._replace(gone, kept)
            del self.sizes[gone]
            return True
        # Both are axes of the result: keep the delta, use the first label elsewhere.
        first, second = sorted((a, b), key=self.out.index)
        others = [c for c in self.constraints if c != constraint]
        if second not in self.names.values() and not any(
            second in c.form.labels for c in others
        ):
            return False
        self._replace(second, first)
        self.constraints.append(constraint)
        return True

    def _replace(self, gone: Label, kept: Label) -> None:
        def name(label: Label) -> Label:
            return kept if label == gone else label

        self.names = {label: name(now) for label, now in self.names.items()}
        renamed = (constraint.renamed(name) for constraint in self.constraints)
        self.constraints = list(dict.fromkeys(renamed))

    def _eliminate(self, constraint: Constraint, read: Collection[Label]) -> bool:
        """Solve a delta for a summed label that stands in constraints alone.

        It is none at which index arrays are `read`. Its range becomes two indicators,
        which vanish where they are implied.
        """
        inside = (*self.out, *self.names.values())
        for label in solvable(constraint):
            if label not in read and label not in inside:
                value = solved(constraint.form, label)
                self.constraints = [
                    Constraint(c.kind, c.form.substituted(label, value))
                    for c in self.constraints
                    if c != constraint
                ]
                self.constraints += within(value, (ZERO, self.sizes.pop(label)))
                del self.ranges.intervals[label]
                return True
        return False

    def _solve(self) -> bool:
        """Let every summed label stand in one delta at most.

        `delta(i, k) * delta(j, k)` becomes `delta(i, j) * delta(i, k)`, so that what a
        product says of the axes of its result stands in deltas of their own; so do two
        deltas with one entry of an index array. A second round changes nothing.
        """
        lookups: set[Lookup] = {
            atom
            for c in self.constraints
            for atom, _ in c.form.terms
            if isinstance(atom, Lookup)
        }
        # The order must not depend on what an earlier round has written where.
        ordered = sorted(lookups, key=lambda atom: (atom.node.serial, atom.labels))
        summed = sorted(set(self.sizes) - set(self.out))
        before = self.constraints
        self.constraints = eliminated(self.constraints, [*summed, *ordered])
        return list(map(normal, self.constraints)) != before
