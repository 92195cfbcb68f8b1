"""How many terms a product adds up once deltas and running sums are seen through."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from math import prod
from typing import NamedTuple

from tensorgen.ir.bounded_sums import box_sum, running_sum
from tensorgen.ir.constraints import solvable
from tensorgen.ir.nodes import Constraint, Label, Lookup

Part = frozenset[Label]


class Span(NamedTuple):
    """The terms that are multiplied, and those written and read through an index.

    The entries that are `masked` are multiplied or left out, one by one.
    """

    terms: float
    scattered: float = 0.0
    gathered: float = 0.0
    masked: float = 0.0


def span(
    labels: Collection[Label],
    factors: Sequence[Collection[Label]],
    constraints: Sequence[Constraint],
    keep: Collection[Label],
    numbers: Mapping[Label, float],
) -> Span:
    """The work of a product over `labels` of sizes `numbers`, of which `keep` stay.

    A delta fixes one label: one that is summed reads an array elsewhere, one that is
    kept writes elsewhere. A moving or running sum walks once along what it sums.
    """
    free = set(labels)
    parts = [frozenset(factor) for factor in factors]
    scatters = False
    looked_up: set[int] = set()
    for constraint in constraints:
        fixed = max(
            (x for x in solvable(constraint) if x in free),
            key=lambda x: (x not in keep, numbers[x], -x),  # the largest summed one
            default=None,
        )
        if fixed is None:
            continue
        form = constraint.form
        free.discard(fixed)
        others = frozenset(x for x in form.labels if x != fixed)
        if any(isinstance(atom, Lookup) for atom, _ in form.terms):
            scatters |= fixed in keep
            looked_up.update(k for k, part in enumerate(parts) if fixed in part)
        parts = [p - {fixed} | others if fixed in p else p for p in parts]
    gathered = sum(_size(parts[k], numbers) for k in looked_up)
    bounds = [
        c for c in constraints if c.kind == "ge" and free.issuperset(c.form.labels)
    ]
    walked = 0.0
    while bounds and (walk := _walk(bounds, parts, keep)):
        gone, places, limits = walk
        bounds = [c for c in bounds if c not in gone]
        inside = [parts[k] for k in places]
        parts = [p for k, p in enumerate(parts) if k not in places]
        needed = {*limits, *keep}.union(*parts, *(c.form.labels for c in bounds))
        along = frozenset().union(*inside)
        walked += _size(along & free, numbers)
        free -= along - needed
        parts.append((along & needed) | limits)
    terms = walked + _size(free, numbers)
    masked = sum(_size({*c.form.labels}, numbers) for c in bounds)
    return Span(terms, terms if scatters else 0.0, gathered, masked)


def _walk(
    bounds: Sequence[Constraint], parts: Sequence[Part], keep: Collection[Label]
) -> tuple[Collection[Constraint], Collection[int], Part] | None:
    """A moving or running sum: its indicators, its factors, what says where it is."""
    found = box_sum(bounds, parts, keep) or running_sum(bounds, parts, keep)
    return found and (found.constraints, found.inside, frozenset(found.start.labels))


def _size(labels: Collection[Label], numbers: Mapping[Label, float]) -> float:
    return prod(numbers[label] for label in labels)
