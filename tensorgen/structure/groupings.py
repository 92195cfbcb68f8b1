"""Which factors of a term are kept as they are, and which are contracted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache, partial
from math import prod

from tensorgen.ir.graph import Graph
from tensorgen.ir.groups import connected
from tensorgen.ir.nodes import (
    Constraint,
    Lookup,
    Map,
    Node,
    Size,
    children,
    constant_value,
    topological,
)
from tensorgen.ir.views import Factor, Name
from tensorgen.operators.elementwise import ELEMENTWISE
from tensorgen.passes.cost import CostModel
from tensorgen.prices.limits import GROUPED_FACTORS, GROUPINGS_BUILT
from tensorgen.structure.stored import Element, StoredTerm, is_axis
from tensorgen.structure.take_apart import Parts


def groupings(
    graph: Graph, term: Parts, cost: CostModel, whole: bool
) -> list[StoredTerm]:
    """What a term may be stored as, the least first; or only as a `whole`."""
    # Forms of one tensor have most terms in common: nine in ten.
    find = partial(_groupings, graph, term, cost, whole)
    return cost.once((_groupings, *term.key, whole), find)


def _groupings(
    graph: Graph, term: Parts, cost: CostModel, whole: bool
) -> list[StoredTerm]:
    scale = tuple(node for node, _ in term.factors if _is_made_of_sizes(node))
    others = [f for f in term.factors if not _is_made_of_sizes(f[0])]
    term = replace(term, factors=others)
    everything = [list(range(len(term.factors)))] if term.factors else []
    partitions = [everything] if whole else _candidates(term, cost)
    group = cache(partial(_group, term))  # most stand in several groupings
    grouped = ([group(tuple(places)) for places in own] for own in partitions)
    candidates = [_stored(graph, term, groups) for groups in grouped]
    # Among equals the fewest arrays, then the first.
    candidates.sort(
        key=lambda factors: (held([node for node, _ in factors], cost), len(factors))
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
    if node.order:
        return False
    nodes = topological([node])
    if any(isinstance(n, Map) and ELEMENTWISE[n.function].requires for n in nodes):
        return False
    return all(
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
    pool.sort(key=_estimate(term, cost))
    return [[[k] for k in range(count)], *pool[:GROUPINGS_BUILT]]


def _pieces(term: Parts) -> list[list[int]]:
    """The factors that summed labels join."""
    summed = [{x for x in labels if not is_axis(x)} for _, labels in term.factors]
    return [places for _, places in connected(summed)]


def _estimate(term: Parts, cost: CostModel) -> Callable[[Partition], float]:
    """How many numbers a grouping holds, if no two arrays that it makes are equal.

    What one group holds does not depend on how the others are grouped.
    """
    sizes = {x: cost.size([dim]) for x, dim in term.sizes.items()}
    labels = [dict.fromkeys(labels) for _, labels in term.factors]
    uses = Counter(x for own in labels for x in own)
    linked = _of_links(term)

    @cache
    def of(group: tuple[int, ...]) -> float:
        own = Counter(x for k in group for x in labels[k])
        return prod(
            sizes[x]
            for x, count in own.items()
            if is_axis(x) or x in linked or count < uses[x]
        )

    def estimate(partition: Partition) -> float:
        held: dict[object, float] = {}
        for k, group in enumerate(partition):
            alone = len(group) == 1
            held[term.factors[group[0]][0] if alone else k] = of(tuple(group))
        return sum(held.values())

    return estimate


def _of_links(term: Parts) -> set[Name]:
    """The labels of the index arrays that a term keeps apart."""
    return {x for link in term.links for x in link.labels}


def _greedy(term: Parts, cost: CostModel) -> Iterator[Partition]:
    """The groupings on the way from no grouping to one, by the best merge each."""
    partition: Partition = [[k] for k in range(len(term.factors))]
    estimate = _estimate(term, cost)
    yield partition
    while len(partition) > 1:
        merges = [
            [*(g for k, g in enumerate(partition) if k not in (i, j)), left + right]
            for i, left in enumerate(partition)
            for j, right in enumerate(partition[:i])
        ]
        partition = min(merges, key=estimate)
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


Group = tuple[list[Factor], dict[Name, None], list[Constraint]]


def _group(term: Parts, places: Sequence[int]) -> Group:
    """Some factors of a term, with their labels and the deltas on these.

    A delta on summed labels (a slice) belongs to the group that has the label; one with
    entries of an index array to those that have theirs, where any factor has.
    """
    factors = [term.factors[k] for k in places]
    labels = {x: None for _, xs in factors for x in xs}
    mine: list[Constraint] = []
    waiting = list(term.inner)
    while touching := [
        c
        for c in waiting
        if any(x in labels for x in c.form.labels if not is_axis(x))
        and ((read := _read_by(c)).issubset(labels) or not _has_other(term, read))
    ]:
        waiting = [c for c in waiting if c not in touching]
        mine += touching
        for constraint in touching:
            labels.update(dict.fromkeys(constraint.form.labels))
    return factors, labels, mine


def _read_by(constraint: Constraint) -> set[Name]:
    """The labels of the entries of index arrays in a delta."""
    atoms = (atom for atom, _ in constraint.form.terms)
    return {x for atom in atoms if isinstance(atom, Lookup) for x in atom.labels}


def _has_other(term: Parts, read: set[Name]) -> bool:
    """Whether any factor has all labels of entries, a summed one among them."""
    summed = not all(map(is_axis, read))
    return summed and any(read.issubset(own) for _, own in term.factors)


def _stored(graph: Graph, term: Parts, groups: Sequence[Group]) -> list[Factor]:
    found = []
    for k, (factors, labels, mine) in enumerate(groups):
        others = {x for m, g in enumerate(groups) if m != k for x in g[1]}
        others |= _of_links(term)
        own = [x for x in labels if is_axis(x) or x in others]
        if len(factors) == 1 and not mine and len(own) == len(factors[0][1]):
            found.append(factors[0])  # as it lies, rather than transposed
            continue
        own = laid_out(own)
        sizes = {x: term.sizes[x] for x in labels}
        node = graph.product(own, factors, constraints=mine, sizes=sizes)
        found.append((node, tuple(own)))
    return found


def place(label: Name) -> tuple[int, int, str]:
    """Elements first, then axes in order, then other summed labels."""
    if isinstance(label, int):
        return 1, label, ""
    return (0, label.number, "") if isinstance(label, Element) else (2, 0, str(label))


def laid_out(labels: Iterable[Name]) -> list[Name]:
    """The labels of an array that is made, in the order of `place`.

    But summed ones come first where there are several axes: a matrix for each sample.
    """
    ordered = sorted(labels, key=place)
    if sum(map(is_axis, ordered)) < 2:
        return ordered
    summed = [x for x in ordered if place(x)[0] == 2]
    return [*summed, *(x for x in ordered if x not in summed)]


def held(arrays: Sequence[Node], cost: CostModel) -> float:
    """How many numbers some stored arrays hold, each array once."""
    return sum(cost.size(node.dims) for node in dict.fromkeys(arrays))
