"""Terms become one: they are added up, or one stands in the array of another.

Terms of one pattern are multiples of one another, share factors, or are added up into
one array: `a[i] * h[j] + b[i] * h[j]` is `(a[i] + b[i]) * h[j]`. Terms of more deltas
become part of an array of fewer ones, where it has room:
`A[i, j, k] * delta(i, l) + d[i, j] * delta(i, l) * delta(j, k)` is one array: d stands
on diagonals of A. Nothing more is held for it, and d is not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from math import prod

from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Sum, is_zero
from tensorgen.ir.rebuild import merged
from tensorgen.ir.views import Factor, Name
from tensorgen.passes.cost import CostModel
from tensorgen.prices.limits import TERMS_OF_A_PATTERN, TERMS_THAT_SHARE
from tensorgen.prices.thresholds import ENTRIES_OF_A_SMALL_BLOCK
from tensorgen.structure.groupings import held, place
from tensorgen.structure.stored import LaidOut, Link, StoredTerm, Tie, is_axis, kept
from tensorgen.structure.take_apart import Parts

Pattern = tuple[frozenset[Tie], frozenset[Link]]


def most_apart(pattern: Pattern) -> int:
    """How many terms of a pattern are looked at apart: along deltas they are small."""
    return TERMS_OF_A_PATTERN if any(pattern) else TERMS_THAT_SHARE


def pattern_of(term: Parts | StoredTerm) -> Pattern:
    """The deltas of a term: which entries of the tensor it has."""
    return frozenset(term.ties), frozenset(term.links)


def merge_terms(
    graph: Graph, added: Sequence[StoredTerm], dims: Sequence[Dim], cost: CostModel
) -> list[StoredTerm]:
    """Add terms of one pattern up into one array, where that holds no more."""
    patterns: dict[Pattern, list[StoredTerm]] = {}
    for term in _collected(added):
        patterns.setdefault(pattern_of(term), []).append(term)
    merged = []
    for terms in patterns.values():
        group = _paired(graph, terms, cost)
        apart = held([node for term in group for node, _ in term.factors], cost)
        elements = group[0].elements
        used = {x for term in group for _, xs in term.factors for x in xs}
        labels = sorted((x for x in used if is_axis(x) or x in elements), key=place)
        sizes = {x: dims[x] if isinstance(x, int) else elements[x] for x in labels}
        # Along deltas one array is simpler, and worth a little more than its parts;
        # of blocks of a few entries, which grow with no size, as much as these are.
        if group[0].ties or group[0].links:
            apart *= len(group) if len(group) > 2 else 1
            apart *= block_size(sizes.values())
        limit = float("inf") if len(group) > TERMS_OF_A_PATTERN else apart
        if len(group) == 1 or cost.size(sizes.values()) > limit:
            merged += group
            continue
        parts = []
        for term in group:
            own = [x for x in labels if any(x in xs for _, xs in term.factors)]
            factors = [*term.factors, *term.numbers]
            parts.append((term.coefficient, graph.product(own, factors), own))
        core = graph.sum(labels, parts, sizes)
        if not is_zero(core):
            merged.append(_with_factors(group[0], (core, tuple(labels))))
    return merged


def block_size(dims: Iterable[Dim]) -> int:
    """The product of sizes that are numbers, 1 where it is more than a few."""
    found = prod(dim.constant for dim in dims if dim.constant is not None)
    return found if found <= ENTRIES_OF_A_SMALL_BLOCK else 1


def _with_factors(term: StoredTerm, *factors: Factor) -> StoredTerm:
    """A term with these factors in place of all that it is multiplied by."""
    return replace(term, coefficient=Fraction(1), factors=factors, scale=())


def _collected(terms: Sequence[StoredTerm]) -> list[StoredTerm]:
    """Add up terms that are multiples of one another; one that is 0 is no term."""
    found: dict[StoredTerm, Fraction] = {}
    for term in terms:
        if any(is_zero(node) for node, _ in term.factors):
            continue
        unit = replace(term, coefficient=Fraction(1))
        found[unit] = found.get(unit, Fraction()) + term.coefficient
    return [replace(unit, coefficient=c) for unit, c in found.items() if c]


def _paired(
    graph: Graph, terms: Sequence[StoredTerm], cost: CostModel
) -> list[StoredTerm]:
    """Add up what two terms of one pattern do not share, where that holds less."""
    if len(terms) > TERMS_THAT_SHARE:
        return list(terms)
    before = held(kept(terms), cost)
    for first, second in combinations(terms, 2):
        whole = _added(graph, first, second)
        if whole is not None:
            found = [*(t for t in terms if t not in (first, second)), whole]
            if held(kept(found), cost) < before:
                return _paired(graph, found, cost)
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
    if any(isinstance(x, LaidOut) for x in labels):
        return None
    own = sorted(labels, key=place)
    sums = [
        (term.coefficient, graph.product(own, [*rest, *term.numbers]), own)
        for term, rest, _ in parts
    ]
    core = (graph.sum(own, sums), tuple(own))
    return _with_factors(first, core, *common)


def absorb_terms(
    graph: Graph, terms: Sequence[StoredTerm], dims: Sequence[Dim]
) -> list[StoredTerm]:
    """The terms, without those for which an array of another one has room.

    That may hold more, where several terms share an array or would mirror one another.
    """
    left = list(terms)
    while True:
        pairs = ((x, term) for term in left for x in left if _has_room(x, term))
        wide, term = next(pairs, (None, None))
        if wide is None or term is None:
            return left
        left.remove(term)
        left[left.index(wide)] = _with(graph, wide, term, dims)


def _has_room(wide: StoredTerm, term: StoredTerm) -> bool:
    """Whether the only array of a term has all axes of another one, and of its ties."""
    if len(wide.factors) != 1 or wide.links != term.links:
        return False
    if not {*wide.ties} < {*term.ties}:
        return False
    ((_, labels),) = wide.factors
    needed = {x for _, own in term.factors for x in own}
    for tie in {*term.ties} - {*wide.ties}:
        needed |= {tie.first, tie.second}
    return needed <= {*labels}


def _with(
    graph: Graph, wide: StoredTerm, term: StoredTerm, dims: Sequence[Dim]
) -> StoredTerm:
    """A term with another one in its array."""
    ((_, labels),) = wide.factors
    sizes: dict[Name, Dim] = {x: d for x, d in enumerate(dims) if x in labels}
    parts = [
        (
            1,
            graph.product(
                labels,
                [*one.factors, *one.numbers],
                coefficient=one.coefficient,
                constraints=[t.constraint for t in one.ties if t not in wide.ties],
                sizes={**sizes, **wide.elements},
            ),
            labels,
        )
        for one in (wide, term)
    ]
    core = graph.sum(labels, parts)
    if isinstance(core, Sum):  # of all that the array has become so far
        core = merged(graph, core, lambda inner: True)
    return _with_factors(wide, (core, labels))
