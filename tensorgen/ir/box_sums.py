"""Box sums: products in which two indicators keep a summed label to a window.

In `sum_j [i - 3 <= j] [j <= i + 3] x[j]` as many terms are summed wherever the window
starts, and those of neighbouring windows are the same but for their ends.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import combinations
from typing import NamedTuple

from tensorgen.ir.constraints import solved
from tensorgen.ir.dims import Dim
from tensorgen.ir.nodes import Affine, Constraint, Label, affine


class BoxSum(NamedTuple):
    """The indicators `start <= summed < start + length`.

    The factors at the positions `inside` are those that are summed.
    """

    constraints: tuple[Constraint, Constraint]
    summed: Label
    start: Affine
    length: Dim
    inside: tuple[int, ...]


def box_sum(
    constraints: Sequence[Constraint],
    factors: Sequence[Collection[Label]],
    keep: Collection[Label],
) -> BoxSum | None:
    """A box sum in a product of factors with these labels, of which `keep` stay.

    The summed label stands in nothing else that ties it to where windows start:
    neither in a factor that does nor in another constraint.
    """
    for pair in combinations(constraints, 2):
        if any(c.kind != "ge" or len(c.form.terms) < 2 for c in pair):
            continue
        one, other = (c.form for c in pair)
        both = affine([*one.terms, *other.terms], one.const + other.const)
        if both.terms:
            continue
        others = {x for c in constraints if c not in pair for x in c.form.labels}
        for atom, c in one.terms:
            if not isinstance(atom, int) or abs(c) != 1 or atom in {*keep, *others}:
                continue
            low = one if c > 0 else other
            start = solved(low, atom)
            inside = tuple(k for k, labels in enumerate(factors) if atom in labels)
            apart = not any({*start.labels} & {*factors[k]} for k in inside)
            if inside and apart and atom not in start.labels:
                return BoxSum(pair, atom, start, both.const + 1, inside)
    return None
