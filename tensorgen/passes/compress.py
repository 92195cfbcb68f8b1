"""Compress: a derivative as its last sum of products, and what of it is stored.

`compress` leaves the deltas of a Jacobian, a Hessian or a higher derivative alone and
groups the factors beside them: factors are contracted where the result is smaller than
what it is made of, and kept apart where it would grow. What comes out is the structure:

- one factor with a delta for every axis: a diagonal;
- deltas for some axes: blocks, one a value of the tied axes;
- factors that share no axis: a Kronecker product, or a product with outer vectors;
- two factors joined by a summed label: low rank;
- deltas with offsets: bands;
- one factor with all axes: a dense array, where nothing is smaller.

The paper moves the unit tensor of the first partial to the end for the same effect
(Laue et al. 2020, section 3.3).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Node, Sum
from tensorgen.passes.cost import CostModel
from tensorgen.passes.views import Factor, Name, Triple, View, labels_of

EXACT = 7
"""Terms of at most this many factors try every grouping (877 of them)."""


@dataclass(frozen=True)
class StoredTerm:
    """`coefficient * prod(factors) * prod(deltas)`; labels below `order` are axes.

    Labels that are no axes are summed. Each factor is stored as an array.
    """

    coefficient: Fraction
    factors: tuple[Factor, ...]
    constraints: tuple[Triple, ...] = ()
    sizes: dict[Name, Dim] = field(default_factory=dict)

    @property
    def ties(self) -> frozenset[object]:
        """What the deltas say, to tell whether two terms have one pattern."""
        return frozenset(
            (kind, frozenset(terms.items()), const)
            for kind, terms, const in self.constraints
        )


@dataclass(frozen=True)
class Compressed:
    """A derivative tensor of dims `dims` as a sum of stored terms."""

    dims: tuple[Dim, ...]
    terms: tuple[StoredTerm, ...]

    @property
    def arrays(self) -> tuple[Node, ...]:
        """The stored arrays, each once, in order."""
        found = {node: None for term in self.terms for node, _ in term.factors}
        return tuple(found)

    def node(self, graph: Graph, stored: dict[Node, Node]) -> Node:
        """The whole tensor over other nodes in place of the stored arrays."""
        axes = range(len(self.dims))
        terms = []
        for term in self.terms:
            view = View(
                term.coefficient,
                [(stored[node], labels) for node, labels in term.factors],
                list(term.constraints),
                dict(term.sizes),
            )
            terms.append((1, view.product(graph, axes), axes))
        return graph.sum(axes, terms, dict(enumerate(self.dims)))


def compress(graph: Graph, node: Node, cost: CostModel) -> Compressed:
    """Return what to store of a flattened derivative tensor.

    Dense, if the structure would hold as much.
    """
    views = [_view(term) for term in _terms(graph, node)]
    merged = _merged(graph, [_grouped(graph, view, cost) for view in views], cost)
    held = _held([f for term in merged for f in term.factors], cost)
    axes = tuple(range(node.order))
    whole = StoredTerm(Fraction(1), ((node, axes),), (), dict(enumerate(node.dims)))
    if held < cost.size(node.dims):
        return Compressed(node.dims, tuple(merged))
    return Compressed(node.dims, (whole,))


def _terms(graph: Graph, node: Node) -> list[Node]:
    """The terms of the last sum, aligned with the result's axes."""
    if not isinstance(node, Sum):
        return [node]
    axes = range(node.order)
    sizes = dict(enumerate(node.dims))
    return [
        graph.product(
            axes, [(t.node, t.labels)], coefficient=t.coefficient, sizes=sizes
        )
        for t in node.terms
    ]


def _view(node: Node) -> View:
    """A term n-ary: products of products down to what is not a product."""
    view = View(sizes=dict(enumerate(node.dims)))
    view.add(node, range(node.order), ("term", 0))
    for depth in range(1, 4):
        factors, view.factors = view.factors, []
        for k, (inner, labels) in enumerate(factors):
            view.add(inner, labels, (depth, k))
    return view


def _grouped(
    graph: Graph, view: View, cost: CostModel
) -> StoredTerm:
    """Group the factors of a term so that the least is stored."""
    ties = [c for c in view.constraints if _on_axes(c)]
    candidates = [
        _stored(graph, view, partition)
        for partition in _partitions(len(view.factors))
    ]
    # Among equals the fewest arrays, then the first.
    factors = min(candidates, key=lambda found: (_held(found, cost), len(found)))
    coefficient = view.coefficient
    if len(factors) == 1 and coefficient != 1:
        (node, labels), *_ = factors
        factors = [(graph.scale(node, coefficient), labels)]
        coefficient = Fraction(1)
    return StoredTerm(coefficient, tuple(factors), tuple(ties), dict(view.sizes))


def _on_axes(constraint: Triple) -> bool:
    return all(map(_is_axis, labels_of(constraint)))


def _partitions(count: int) -> Iterator[list[list[int]]]:
    """Every way to group `count` factors; beyond `EXACT` only the two extremes."""
    if count > EXACT:
        yield [[k] for k in range(count)]
        yield [list(range(count))]
        return
    if not count:
        yield []
        return
    last = count - 1
    for smaller in _partitions(last):
        for k, group in enumerate(smaller):
            yield [*smaller[:k], [*group, last], *smaller[k + 1 :]]
        yield [*smaller, [last]]


def _stored(graph: Graph, view: View, partition: list[list[int]]) -> list[Factor]:
    """The arrays that a grouping stores, with their labels.

    A delta on summed labels (a slice) belongs to the group that has the label.
    """
    inner = [c for c in view.constraints if not _on_axes(c)]
    groups = []
    for group in partition:
        factors = [view.factors[k] for k in group]
        labels = {x: None for _, xs in factors for x in xs}
        mine = [
            c
            for c in inner
            if any(x in labels for x in labels_of(c) if not _is_axis(x))
        ]
        for constraint in mine:
            labels.update(dict.fromkeys(labels_of(constraint)))
        groups.append((factors, labels, mine))
    found = []
    for k, (factors, labels, mine) in enumerate(groups):
        others = {x for m, g in enumerate(groups) if m != k for x in g[1]}
        kept = sorted(
            (x for x in labels if _is_axis(x) or x in others),
            key=lambda x: (not _is_axis(x), str(x)),
        )
        sizes = {x: view.sizes[x] for x in labels}
        node = graph.product(kept, factors, constraints=mine, sizes=sizes)
        found.append((node, tuple(kept)))
    return found


def _is_axis(label: Name) -> bool:
    return isinstance(label, int)


def _held(factors: Sequence[Factor], cost: CostModel) -> float:
    """How many numbers some stored arrays hold, each array once."""
    return sum(cost.size(node.dims) for node in {node: None for node, _ in factors})


def _merged(
    graph: Graph, terms: Sequence[StoredTerm], cost: CostModel
) -> list[StoredTerm]:
    """Add terms of one pattern up into one array, where that holds no more."""
    patterns: dict[frozenset[object], list[StoredTerm]] = {}
    for term in terms:
        patterns.setdefault(term.ties, []).append(term)
    merged = []
    for group in patterns.values():
        apart = _held([f for term in group for f in term.factors], cost)
        labels = sorted(
            {x for term in group for _, xs in term.factors for x in xs if _is_axis(x)},
            key=str,
        )
        sizes = {x: d for term in group for x, d in term.sizes.items()}
        if len(group) == 1 or cost.size(sizes[x] for x in labels) > apart:
            merged += group
            continue
        parts = [
            (
                term.coefficient,
                graph.product(labels, term.factors, sizes=term.sizes),
                labels,
            )
            for term in group
        ]
        core = graph.sum(labels, parts, {x: sizes[x] for x in labels})
        first = group[0]
        merged.append(
            StoredTerm(
                Fraction(1), ((core, tuple(labels)),), first.constraints, first.sizes
            )
        )
    return merged
