"""Sums: signs, common coefficients, and entries added in place."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from math import inf

from tensorgen.arrays.arrays import array
from tensorgen.arrays.operations import Copy, Fill
from tensorgen.ir.nodes import Input, Label, Ref, Sum, Term
from tensorgen.lower.axes import aligned, natural_order
from tensorgen.lower.concatenations import chains, concatenated
from tensorgen.lower.elementwise_products import Factor, multiply
from tensorgen.lower.operands import Operand, as_float, product, total
from tensorgen.lower.results import full
from tensorgen.lower.scatter import Write, is_plain
from tensorgen.lower.values import Values
from tensorgen.passes.cost import CostModel


def lower_sum(known: Values, node: Sum, want: Sequence[Label] | None = None) -> Operand:
    """The text of a sum; the name of a new array if entries are added in place."""
    spread = [term for term in node.terms if term.node in known.writes]
    dense = [term for term in node.terms if term.node not in known.writes]
    if not spread:
        return add(known, dense, want)
    axes = tuple(range(node.order))
    writes = _together(known, node, spread)
    if not dense and len(writes) > 1 and (whole := concatenated(writes)) is not None:
        return whole
    if not dense and (rolled := chains(writes)):
        parts = [(int(c), whole) for c, whole in rolled if abs(c) == 1]
        if len(parts) == len(rolled):
            return total(sorted(parts, key=lambda part: part[0] < 0))
    added, writes = _by_key(known, writes, fresh=not dense)
    if not writes:
        return add(known, dense, want, added)
    if dense or added:
        start = full(add(known, dense, axes, added), node.dims)
        # What another variable holds must not be changed.
        first = start.array if start.base is None else array(Copy(), start.array)
    else:
        first = array(Fill(node.dims, 0))
    if not (dense or added):
        writes = _in_order(writes)
    filled = known.draft.filled(node, first)
    for k, (coefficient, write) in enumerate(writes):
        fresh = all(write.is_apart(other) for _, other in writes[:k])
        write.onto(filled, coefficient, fresh=not (dense or added) and fresh)
    return Operand(filled, axes)


def _by_key(
    known: Values, writes: Sequence[tuple[Fraction, Write]], fresh: bool
) -> tuple[list[tuple[Fraction, Operand]], list[tuple[Fraction, Write]]]:
    """What is added as arrays of sums by key, and what is added in place.

    An array of sums pays where as many entries are added up as it has; where none does,
    the first one of a `fresh` array costs nothing more.
    """
    cost = CostModel(known.plan.hints)
    pays = [cost.size(own.dims) <= cost.size(own.lengths) for _, own in writes]
    if fresh and True not in pays:
        pays[0] = True
    sums: list[tuple[Fraction, Operand]] = []
    rest: list[tuple[Fraction, Write]] = []
    for (coefficient, write), whole in zip(writes, pays, strict=True):
        found = write.by_key() if whole else None
        if found is None:
            rest.append((coefficient, write))
            continue
        sums.append((coefficient, found))
        if write.node is not None:
            known.draft.value(write.node, found.array)
    return sums, rest


def _in_order(writes: list[tuple[Fraction, Write]]) -> list[tuple[Fraction, Write]]:
    """Entries by their places, but of one value together, where none meets another."""
    if not all(a.is_apart(b) for (_, a), (_, b) in combinations(writes, 2)):
        return writes
    placed = sorted(writes, key=lambda pair: pair[1].numbers)
    first: dict[Hashable, int] = {}
    for coefficient, write in placed:
        first.setdefault((coefficient, write.core), len(first))
    return sorted(placed, key=lambda pair: first[pair[0], pair[1].core])


def spread_sum(known: Values, node: Sum) -> tuple[Write, ...]:
    """A sum of entries that are written to the same places of zeros, or to one each."""
    if any(term.node not in known.writes for term in node.terms):
        return ()
    found = _together(known, node, node.terms)
    at_one = all(is_plain(write.forms) for _, write in found) and (
        len(found) == 1 or all(write.is_at_one_place for _, write in found)
    )
    if not at_one:
        return ()
    return tuple(
        replace(write, core=multiply([Factor(as_float(write.core))], scale))
        for scale, write in found
    )


def _together(
    known: Values, node: Sum, terms: Sequence[Term]
) -> list[tuple[Fraction, Write]]:
    """Terms as writes, those to the same places as one, of the sum of their entries."""
    groups: dict[object, list[tuple[Fraction, Write]]] = {}
    for coefficient, inner, labels in terms:
        for write in known.writes[inner]:
            own = write.permuted(labels, node.dims).canonical()
            key = own.forms, tuple(own.indexer.ranges.intervals.items())
            groups.setdefault(key, []).append((coefficient, own))
    return [_joined(group) for group in groups.values()]


def _joined(group: Sequence[tuple[Fraction, Write]]) -> tuple[Fraction, Write]:
    if len(group) == 1:
        return group[0]
    group = sorted(group, key=lambda pair: pair[0] < 0)
    sizes = {abs(coefficient) for coefficient, _ in group}
    common = sizes.pop() if len(sizes) == 1 else Fraction(1)
    common = -common if group[0][0] < 0 else common
    cores = [as_float(write.core) for _, write in group]
    target = natural_order(cores, None)
    parts: list[tuple[int, Operand]] = []
    for (coefficient, _), core in zip(group, cores, strict=True):
        size = coefficient / common
        scaled = multiply([Factor(core)], abs(size), target)
        parts.append((1 if size > 0 else -1, aligned(scaled, target)))
    joint = total(parts)
    labels = tuple(x for x in target if any(x in core.labels for core in cores))
    return common, replace(group[0][1], core=joint.bearing(labels), node=None)


def add(
    known: Values,
    terms: Sequence[Term],
    want: Sequence[Label] | None,
    more: Sequence[tuple[Fraction, Operand]] = (),
) -> Operand:
    """The sum of terms, and `more`: what is positive and large first, numbers last."""
    operands = [as_float(known.operand(Ref(term.node, term.labels))) for term in terms]
    ranked = [
        (_rank(term, operand), term.coefficient, operand)
        for term, operand in zip(terms, operands, strict=True)
    ]
    for coefficient, operand in more:
        computed = (coefficient < 0, False, -len(operand.labels), False, inf)
        ranked.append((computed, coefficient, operand))
    ranked.sort(key=lambda entry: entry[0])
    operands += [operand for _, operand in more]
    target = natural_order(operands, want)
    entries = _alike([(coefficient, operand) for _, coefficient, operand in ranked])
    sizes = {abs(coefficient) for coefficient, _ in entries}
    common = sizes.pop() if len(sizes) == 1 and len(entries) > 1 else Fraction(1)
    positive = any(coefficient > 0 for coefficient, _ in entries)
    if not positive and common != 1:
        common = -common
    parts: list[tuple[int, Operand]] = []
    for coefficient, operand in entries:
        coefficient /= common
        sign = 1 if coefficient > 0 else -1
        scaled = multiply([Factor(operand)], abs(coefficient), target)
        parts.append((sign, aligned(scaled, target)))
    joint = total(parts)
    if common != 1:
        joint = product(common, [joint])
    labels = tuple(
        label for label in target if any(label in e.labels for e in operands)
    )
    return joint.bearing(labels)


def _alike(entries: list[tuple[Fraction, Operand]]) -> list[tuple[Fraction, Operand]]:
    """Terms of which nodes that differ have come to one array added up."""
    found: dict[Operand, Fraction] = {}
    for coefficient, operand in entries:
        found[operand] = found.get(operand, Fraction(0)) + coefficient
    if not all(found.values()):
        return entries
    return [(coefficient, operand) for operand, coefficient in found.items()]


def _rank(term: Term, operand: Operand) -> tuple[object, ...]:
    """Positive before negative, arrays before numbers, computed before given."""
    given = isinstance(term.node, Input)
    size = -len(operand.labels)
    return (term.coefficient < 0, operand.weak, size, given, term.node.serial)
