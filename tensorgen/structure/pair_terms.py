"""Pair: what two terms of one pattern do not share is added up into one array."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations

from tensorgen.ir.graph import Graph
from tensorgen.passes.cost import CostModel
from tensorgen.prices.limits import TERMS_THAT_SHARE
from tensorgen.structure.groupings import held, place
from tensorgen.structure.stored import Element, StoredTerm, is_axis, kept


def paired(
    graph: Graph, terms: Sequence[StoredTerm], cost: CostModel
) -> list[StoredTerm]:
    """Add up what two terms of one pattern do not share, where that holds less.

    `a[i] * h[j] + b[i] * h[j]` becomes `(a[i] + b[i]) * h[j]`.
    """
    if len(terms) > TERMS_THAT_SHARE:
        return list(terms)
    before = held(kept(terms), cost)
    for first, second in combinations(terms, 2):
        whole = _added(graph, first, second)
        if whole is not None:
            found = [*(t for t in terms if t not in (first, second)), whole]
            if held(kept(found), cost) < before:
                return paired(graph, found, cost)
    return list(terms)


def _added(graph: Graph, first: StoredTerm, second: StoredTerm) -> StoredTerm | None:
    """Two terms as one: their common factors, and an array of their other ones.

    None where these have no or different axes.
    """
    common = list((Counter(first.factors) & Counter(second.factors)).elements())
    parts = []
    for term in (first, second):
        rest = list((Counter(term.factors) - Counter(common)).elements())
        parts.append((term, rest, {x for _, xs in rest for x in xs}))
    labels = parts[0][2]
    if not common or not labels or labels != parts[1][2]:
        return None
    if not all(is_axis(x) or isinstance(x, Element) for x in labels):
        return None
    own = sorted(labels, key=place)
    sums = [
        (
            term.coefficient,
            graph.product(own, [*rest, *((node, ()) for node in term.scale)]),
            own,
        )
        for term, rest, _ in parts
    ]
    core = (graph.sum(own, sums), tuple(own))
    return replace(first, coefficient=Fraction(1), factors=(core, *common), scale=())
