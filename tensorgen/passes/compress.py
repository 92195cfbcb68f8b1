"""Compress: a derivative as its last sum of products, and what of it is stored.

`compress` leaves the deltas of a Jacobian, a Hessian or a higher derivative alone and
groups the factors beside them: factors are contracted where the result is smaller than
what it is made of, and kept apart where it would grow. What comes out is the structure:

- one factor with a delta for every axis: a diagonal;
- deltas for some axes: blocks, one a value of the tied axes;
- factors that share no axis: a Kronecker product, or a product with outer vectors;
- two factors joined by a summed label: low rank;
- deltas with offsets: bands;
- deltas with entries of index arrays: a block for each element of a graph or a mesh;
- one factor with all axes: a dense array, where nothing is smaller.

The paper moves the unit tensor of the first partial to the end for the same effect
(Laue et al. 2020, section 3.3).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations

from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import (
    Map,
    Node,
    Product,
    Size,
    children,
    constant_value,
    is_zero,
    topological,
)
from tensorgen.operators.elementwise import ELEMENTWISE
from tensorgen.passes.cost import CostModel
from tensorgen.passes.factor_sums import factor_sum
from tensorgen.passes.limits import (
    GROUPED_FACTORS,
    GROUPINGS_BUILT,
    SPREAD_FACTORS,
    TERMS_OF_A_PATTERN,
    TERMS_SPREAD_IN_ALL,
    TERMS_THAT_SHARE,
)
from tensorgen.passes.link_elements import linked_terms
from tensorgen.passes.mirror_terms import Permutation, mirror_terms
from tensorgen.passes.structure import (
    Compressed,
    Element,
    Link,
    StoredTerm,
    Tie,
    is_axis,
    kept,
)
from tensorgen.passes.take_apart import Parts, spread, take_apart, terms_of
from tensorgen.passes.views import Factor, Name, Triple, labels_of


def compress(
    graph: Graph,
    node: Node,
    cost: CostModel,
    symmetries: Sequence[Permutation] = (),
    derived: Node | None = None,
) -> Compressed:
    """Return what to store of a flattened derivative tensor.

    Dense, if the structure would hold as much. By `symmetries` of its axes the tensor
    stays what it is. `derived` is the tensor as it was before it was flattened: a sum
    over elements is still one there.
    """
    axes = tuple(range(node.order))
    dense = Compressed(node.dims, (StoredTerm(Fraction(1), ((node, axes),), ()),))
    if is_zero(node) and axes:
        # One number is kept, so that the object has a dtype.
        number: Factor = (graph.constant(1), ())
        return Compressed(node.dims, (StoredTerm(Fraction(0), (number,), ()),))
    if node.order < 2:
        return dense
    common = factor_sum(
        graph, node, cost, lambda term: isinstance(term, Product), root=True
    )
    terms = terms_of(graph, node)
    forms = [terms_of(graph, common)]
    loose = _all_spread(graph, terms, large=False)
    if loose is not None:
        forms.insert(0, loose)
    looser = loose and _all_spread(graph, terms, large=True)
    if looser and all(
        len(take_apart(graph, x).factors) <= SPREAD_FACTORS for x in looser
    ):
        forms.append(looser)
    choices = [[[take_apart(graph, x)] for x in form] for form in forms]
    few = [form for form in forms if len(form) <= TERMS_THAT_SHARE]
    choices += linked_terms(graph, derived or node, few)
    found = [_compressed(graph, node.dims, c, cost, symmetries) for c in choices]
    return min([dense, *found], key=lambda form: _held(form.arrays, cost))


def _all_spread(graph: Graph, terms: Sequence[Node], large: bool) -> list[Node] | None:
    """All that terms are sums of; None where it is too much to look at."""
    found: list[Node] = []
    for k, term in enumerate(terms):
        found += spread(graph, term, large)
        if len(found) + len(terms) - k - 1 > TERMS_SPREAD_IN_ALL:
            return None
    return found


def _compressed(
    graph: Graph,
    dims: tuple[Dim, ...],
    views: Sequence[Sequence[Parts]],
    cost: CostModel,
    symmetries: Sequence[Permutation],
) -> Compressed:
    """The terms grouped and added up; of each the ways to take it apart are given."""
    patterns = [_pattern(ways[0]) for ways in views]
    choices = [
        [
            grouping
            for way in ways
            for grouping in _groupings(
                graph, way, cost, whole=patterns.count(pattern) > TERMS_OF_A_PATTERN
            )
        ]
        for ways, pattern in zip(views, patterns, strict=True)
    ]
    merged = _merged(graph, _chosen(choices, cost), dims, cost)
    return Compressed(dims, tuple(mirror_terms(merged, symmetries)))


Pattern = tuple[frozenset[Tie], frozenset[Link]]


def _pattern(term: Parts | StoredTerm) -> Pattern:
    """The deltas of a term: which entries of the tensor it has."""
    return frozenset(term.ties), frozenset(term.links)


def _chosen(
    choices: Sequence[Sequence[StoredTerm]], cost: CostModel
) -> list[StoredTerm]:
    """A grouping for each term: the smallest, but for arrays that other terms hold."""

    def alone(term: StoredTerm) -> float:
        return _held(kept([term]), cost)

    chosen = [min(groupings, key=alone) for groupings in choices]
    if len(chosen) > TERMS_THAT_SHARE:
        return chosen
    for k, groupings in enumerate(choices):
        rest = [term for m, term in enumerate(chosen) if m != k]

        def total(term: StoredTerm, rest: Sequence[StoredTerm] = rest) -> float:
            return _held(kept([*rest, term]), cost)

        chosen[k] = min(groupings, key=total)
    return chosen


def _groupings(
    graph: Graph, term: Parts, cost: CostModel, whole: bool = False
) -> list[StoredTerm]:
    """What a term may be stored as, the least first; or only as a `whole`."""
    scale = tuple(node for node, _ in term.factors if _is_made_of_sizes(node))
    term.factors = [f for f in term.factors if not _is_made_of_sizes(f[0])]
    everything = [list(range(len(term.factors)))] if term.factors else []
    partitions = [everything] if whole else _candidates(term, cost)
    candidates = [_stored(graph, term, partition) for partition in partitions]
    # Among equals the fewest arrays, then the first.
    candidates.sort(
        key=lambda factors: (_held([node for node, _ in factors], cost), len(factors))
    )
    found = []
    for factors in candidates:
        scaled = [_scaled(graph, term, factors, scale)] * (len(factors) < 2)
        plain = StoredTerm(
            term.coefficient, tuple(factors), term.ties, scale, term.links
        )
        # The ends of an element share its array up to the sign, which stays apart.
        found += scaled if not term.links else []
        found += [plain] * bool(factors)
        found += scaled if term.links else []
    return found


def _scaled(
    graph: Graph, term: Parts, factors: Sequence[Factor], scale: Sequence[Node]
) -> StoredTerm:
    """A term of one array at most, with all numbers in the array."""
    node, labels = factors[0] if factors else (graph.constant(1), ())
    scaled = graph.product(
        labels,
        [(node, labels), *((number, ()) for number in scale)],
        coefficient=term.coefficient,
    )
    return StoredTerm(Fraction(1), ((scaled, labels),), term.ties, (), term.links)


def _is_made_of_sizes(node: Node) -> bool:
    """Whether a node is a number that follows from sizes alone, at no cost."""
    nodes = topological([node])
    if any(isinstance(n, Map) and ELEMENTWISE[n.function].requires for n in nodes):
        return False
    return not node.order and all(
        isinstance(n, Size) or constant_value(n) is not None
        for n in nodes
        if not children(n)
    )


Partition = list[list[int]]


def _candidates(term: Parts, cost: CostModel) -> list[Partition]:
    """The groupings that look best by the sizes of their labels, and no grouping.

    Which arrays are the same shows only when they are built, so several are kept.
    """
    count = len(term.factors)
    pool = list(_partitions(count) if count <= GROUPED_FACTORS else _greedy(term, cost))
    pieces = _pieces(term)
    if count > GROUPED_FACTORS >= len(pieces):
        pool += [
            [[x for k in group for x in pieces[k]] for group in partition]
            for partition in _partitions(len(pieces))
        ]
    pool.sort(key=lambda partition: _estimate(term, partition, cost))
    return [[[k] for k in range(count)], *pool[:GROUPINGS_BUILT]]


def _pieces(term: Parts) -> list[list[int]]:
    """The factors that summed labels join."""
    found: list[tuple[set[Name], list[int]]] = []
    for k, (_, labels) in enumerate(term.factors):
        own = {x for x in labels if not is_axis(x)}
        joined = [piece for piece in found if piece[0] & own]
        found = [piece for piece in found if not piece[0] & own]
        places = sorted([k, *(m for _, ms in joined for m in ms)])
        found.append((own.union(*(xs for xs, _ in joined)), places))
    return [places for _, places in found]


def _estimate(term: Parts, partition: Partition, cost: CostModel) -> float:
    """How many numbers a grouping holds, if no two arrays that it makes are equal."""
    labels = [{x for k in group for x in term.factors[k][1]} for group in partition]
    linked = _of_links(term)
    held: dict[object, float] = {}
    for k, own in enumerate(labels):
        others = linked.union(*labels[:k], *labels[k + 1 :])
        size = cost.size(term.sizes[x] for x in own if is_axis(x) or x in others)
        alone = len(partition[k]) == 1
        held[term.factors[partition[k][0]][0] if alone else k] = size
    return sum(held.values())


def _of_links(term: Parts) -> set[Name]:
    """The labels of the index arrays that a term keeps apart."""
    return {x for link in term.links for x in link.labels}


def _greedy(term: Parts, cost: CostModel) -> Iterator[Partition]:
    """The groupings on the way from no grouping to one, by the best merge each."""
    partition: Partition = [[k] for k in range(len(term.factors))]
    yield partition
    while len(partition) > 1:
        merges = [
            [*(g for k, g in enumerate(partition) if k not in (i, j)), left + right]
            for i, left in enumerate(partition)
            for j, right in enumerate(partition[:i])
        ]
        partition = min(merges, key=lambda p: _estimate(term, p, cost))
        yield partition


def _partitions(count: int) -> Iterator[Partition]:
    """Every way to group `count` factors."""
    if not count:
        yield []
        return
    last = count - 1
    for smaller in _partitions(last):
        for k, group in enumerate(smaller):
            yield [*smaller[:k], [*group, last], *smaller[k + 1 :]]
        yield [*smaller, [last]]


def _stored(graph: Graph, term: Parts, partition: list[list[int]]) -> list[Factor]:
    """The arrays that a grouping stores, with their labels.

    A delta on summed labels (a slice) belongs to the group that has the label.
    """
    groups = []
    for group in partition:
        factors = [term.factors[k] for k in group]
        labels = {x: None for _, xs in factors for x in xs}
        mine: list[Triple] = []
        waiting = list(term.inner)
        while touching := [
            c
            for c in waiting
            if any(x in labels for x in labels_of(c) if not is_axis(x))
        ]:
            waiting = [c for c in waiting if c not in touching]
            mine += touching
            for constraint in touching:
                labels.update(dict.fromkeys(labels_of(constraint)))
        groups.append((factors, labels, mine))
    found = []
    for k, (factors, labels, mine) in enumerate(groups):
        others = {x for m, g in enumerate(groups) if m != k for x in g[1]}
        others |= _of_links(term)
        own = [x for x in labels if is_axis(x) or x in others]
        if len(factors) == 1 and not mine and len(own) == len(factors[0][1]):
            found.append(factors[0])  # as it lies, rather than transposed
            continue
        own.sort(key=_place)
        sizes = {x: term.sizes[x] for x in labels}
        node = graph.product(own, factors, constraints=mine, sizes=sizes)
        found.append((node, tuple(own)))
    return found


def _place(label: Name) -> tuple[int, int, str]:
    """Elements first, then axes in order, then other summed labels."""
    if isinstance(label, int):
        return 1, label, ""
    return (0, label.number, "") if isinstance(label, Element) else (2, 0, str(label))


def _held(arrays: Sequence[Node], cost: CostModel) -> float:
    """How many numbers some stored arrays hold, each array once."""
    return sum(cost.size(node.dims) for node in dict.fromkeys(arrays))


def _collected(terms: Sequence[StoredTerm]) -> list[StoredTerm]:
    """Add up terms that are multiples of one another."""
    found: dict[StoredTerm, Fraction] = {}
    for term in terms:
        unit = replace(term, coefficient=Fraction(1))
        found[unit] = found.get(unit, Fraction()) + term.coefficient
    return [replace(unit, coefficient=total) for unit, total in found.items()]


def _merged(
    graph: Graph, terms: Sequence[StoredTerm], dims: Sequence[Dim], cost: CostModel
) -> list[StoredTerm]:
    """Add terms of one pattern up into one array, where that holds no more."""
    patterns: dict[Pattern, list[StoredTerm]] = {}
    for term in _collected(terms):
        patterns.setdefault(_pattern(term), []).append(term)
    merged = []
    for group in patterns.values():
        apart = _held([node for term in group for node, _ in term.factors], cost)
        elements = group[0].elements
        used = {x for term in group for _, xs in term.factors for x in xs}
        labels = sorted((x for x in used if is_axis(x) or x in elements), key=_place)
        sizes = {x: dims[x] if isinstance(x, int) else elements[x] for x in labels}
        # Along deltas one array is simpler, and worth a little more than its parts.
        sparse = group[0].ties or group[0].links
        limit = apart * len(group) if sparse and len(group) > 2 else apart
        limit = float("inf") if len(group) > TERMS_OF_A_PATTERN else limit
        if len(group) == 1 or cost.size(sizes.values()) > limit:
            merged += _paired(graph, group, cost)
            continue
        parts = []
        for term in group:
            own = [x for x in labels if any(x in xs for _, xs in term.factors)]
            factors = [*term.factors, *((node, ()) for node in term.scale)]
            parts.append((term.coefficient, graph.product(own, factors), own))
        core = graph.sum(labels, parts, sizes)
        merged.append(
            StoredTerm(
                Fraction(1),
                ((core, tuple(labels)),),
                group[0].ties,
                (),
                group[0].links,
            )
        )
    return merged


def _paired(
    graph: Graph, terms: Sequence[StoredTerm], cost: CostModel
) -> list[StoredTerm]:
    """Add up what two terms of one pattern do not share, where that holds less.

    `a[i] * h[j] + b[i] * h[j]` becomes `(a[i] + b[i]) * h[j]`.
    """
    if len(terms) > TERMS_THAT_SHARE:
        return list(terms)
    before = _held(kept(terms), cost)
    for first, second in combinations(terms, 2):
        whole = _added(graph, first, second)
        if whole is not None:
            found = [*(t for t in terms if t not in (first, second)), whole]
            if _held(kept(found), cost) < before:
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
    if not all(is_axis(x) or isinstance(x, Element) for x in labels):
        return None
    own = sorted(labels, key=_place)
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
