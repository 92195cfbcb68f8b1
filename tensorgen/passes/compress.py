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

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import (
    Node,
    Product,
    Size,
    Sum,
    children,
    constant_value,
    is_zero,
    topological,
)
from tensorgen.passes.cost import CostModel
from tensorgen.passes.factor_sums import factor_sum
from tensorgen.passes.views import (
    Factor,
    Name,
    Triple,
    View,
    is_sparse,
    labels_of,
)

EXACT = 6
"""Terms of at most this many factors try every grouping (203 of them)."""

KEPT = 12
"""How many groupings are built to see which arrays are the same."""

TERMS = 64
"""The most terms that a term may be spread into."""

DEPTH = 4
"""How deep products of products are looked into."""


@dataclass(frozen=True)
class Tie:
    """The delta `axis `second` == axis `first` + offset`, with first < second."""

    first: int
    second: int
    offset: Dim


@dataclass(frozen=True)
class StoredTerm:
    """`coefficient * prod(factors) * prod(ties)`, each factor an array that is kept.

    Labels that are integers are axes of the tensor; others are summed. No factor has
    the second axis of a tie. `scale` are numbers made of sizes, which nobody keeps.
    """

    coefficient: Fraction
    factors: tuple[Factor, ...]
    ties: tuple[Tie, ...]
    scale: tuple[Node, ...] = ()

    @property
    def summed(self) -> tuple[Name, ...]:
        """The summed labels, in order."""
        labels = (x for _, xs in self.factors for x in xs if not _is_axis(x))
        return tuple(dict.fromkeys(labels))


@dataclass(frozen=True)
class Compressed:
    """A derivative tensor of dims `dims` as a sum of stored terms."""

    dims: tuple[Dim, ...]
    terms: tuple[StoredTerm, ...]

    @property
    def arrays(self) -> tuple[Node, ...]:
        """The stored arrays, each once, in order."""
        return tuple({node: None for term in self.terms for node, _ in term.factors})

    @property
    def vanishes(self) -> bool:
        """Whether the tensor is zero, whatever the arguments."""
        return not any(term.coefficient for term in self.terms)

    @property
    def is_dense(self) -> bool:
        """Whether one array with all axes is all there is."""
        first, *rest = self.terms
        axes = tuple(range(len(self.dims)))
        return not rest and [xs for _, xs in first.factors] == [axes]

    def node(self, graph: Graph, stored: Mapping[Node, Node]) -> Node:
        """The whole tensor over other nodes in place of the stored arrays."""
        return self.contracted(graph, stored, range(len(self.dims)), ())

    def contracted(
        self,
        graph: Graph,
        stored: Mapping[Node, Node],
        out: Sequence[Name],
        others: Sequence[Factor],
        rename: Mapping[int, Name] | None = None,
    ) -> Node:
        """The tensor times `others`, with the labels `out` kept.

        The tensor's axes have the labels 0, 1, ..., or what `rename` makes of them.
        """
        names: dict[Name, Name] = {k: name for k, name in (rename or {}).items()}
        sizes: dict[Name, Dim] = {names.get(k, k): d for k, d in enumerate(self.dims)}
        for node, labels in others:
            sizes.update(zip(labels, node.dims, strict=True))
        terms = []
        for term in self.terms:
            factors: list[Factor] = [
                (stored[node], tuple(names.get(x, x) for x in labels))
                for node, labels in term.factors
            ]
            factors += [(node, ()) for node in term.scale]
            constraints: list[Triple] = []
            for tie in term.ties:
                first, second = (names.get(x, x) for x in (tie.first, tie.second))
                # Tied axes may have been given one label: then the tie holds or not.
                both: dict[Name, int] = {first: 1}
                both[second] = both.get(second, 0) - 1
                constraints.append(("eq", both, tie.offset))
            node = graph.product(
                out,
                [*factors, *others],
                coefficient=term.coefficient,
                constraints=constraints,
                sizes=sizes,
            )
            terms.append((1, node, out))
        return graph.sum(out, terms, {x: sizes[x] for x in out})


def compress(graph: Graph, node: Node, cost: CostModel) -> Compressed:
    """Return what to store of a flattened derivative tensor.

    Dense, if the structure would hold as much.
    """
    axes = tuple(range(node.order))
    dense = Compressed(node.dims, (StoredTerm(Fraction(1), ((node, axes),), ()),))
    if is_zero(node):
        # One number is kept, so that the object has a dtype.
        number: Factor = (graph.constant(1), ())
        return Compressed(node.dims, (StoredTerm(Fraction(0), (number,), ()),))
    if node.order < 2:
        return dense
    common = factor_sum(
        graph, node, cost, lambda term: isinstance(term, Product), root=True
    )
    spread = [part for term in _terms(graph, node) for part in _spread(graph, term)]
    found = [
        _compressed(graph, node.dims, terms, cost)
        for terms in (spread, _terms(graph, common))
    ]
    return min([dense, *found], key=lambda form: _total(form, cost))


def _compressed(
    graph: Graph, dims: tuple[Dim, ...], terms: Sequence[Node], cost: CostModel
) -> Compressed:
    stored = [_grouped(graph, _view(graph, term), cost) for term in terms]
    return Compressed(dims, tuple(_merged(graph, stored, dims, cost)))


def _spread(graph: Graph, node: Node) -> list[Node]:
    """A term as a sum over what its sparse factors are sums of: no delta is hidden."""
    whole = _deep(node)
    for place, (factor, labels) in enumerate(whole.factors):
        if not isinstance(factor, Sum) or not is_sparse(factor):
            continue
        found: list[Node] = []
        for term in factor.terms:
            view = View(
                whole.coefficient * term.coefficient,
                [f for k, f in enumerate(whole.factors) if k != place],
                list(whole.constraints),
                dict(whole.sizes),
            )
            view.add(term.node, [labels[a] for a in term.labels])
            found += _spread(graph, view.product(graph, range(node.order)))
        return found if len(found) <= TERMS else [node]
    return [node]


def _deep(node: Node) -> View:
    """A term n-ary: products of products down to what is not a product."""
    view = View(sizes=dict(enumerate(node.dims)))
    view.add(node, range(node.order), ("term", 0))
    for depth in range(1, DEPTH):
        factors, view.factors = view.factors, []
        for k, (inner, labels) in enumerate(factors):
            view.add(inner, labels, (depth, k))
    return view


def _total(form: Compressed, cost: CostModel) -> float:
    """How many numbers a form holds."""
    return _held([f for term in form.terms for f in term.factors], cost)


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


@dataclass
class _Term:
    """A term taken apart: factors over labels, ties between axes, inner deltas."""

    coefficient: Fraction
    factors: list[Factor]
    ties: tuple[Tie, ...]
    inner: list[Triple]
    sizes: dict[Name, Dim]


def _view(graph: Graph, node: Node) -> _Term:
    """A term as factors, ties and what else its deltas say."""
    view = _deep(node)
    ties: list[Tie] = []
    rest: list[Triple] = []
    for constraint in _with_pairs(view.constraints, node.dims):
        tie = _tie(constraint)
        if tie is None:
            rest.append(constraint)
        else:
            ties.append(tie)
    term = _Term(view.coefficient, view.factors, _rooted(ties, rest), [], view.sizes)
    for constraint in rest:
        # What is no tie is part of an array: a mask, if no factor has a summed label.
        labels = tuple(dict.fromkeys(labels_of(constraint)))
        present = {x for _, xs in term.factors for x in xs if not _is_axis(x)}
        if present.isdisjoint(labels):
            sizes = {x: view.sizes[x] for x in labels}
            mask = graph.product(labels, [], constraints=[constraint], sizes=sizes)
            term.factors.append((mask, labels))
        else:
            term.inner.append(constraint)
    _use_first_axes(term)
    return term


def _with_pairs(constraints: Sequence[Triple], dims: Sequence[Dim]) -> list[Triple]:
    """Two axes of one symbolic dim that are both fixed are tied as well.

    `delta(i, n - 1) * delta(k, n - 1)` says that k is i, besides where both are: so an
    equation at a boundary has the pattern of those inside.
    """
    fixed: dict[Name, Dim] = {}
    for kind, terms, const in constraints:
        for label, c in terms.items():
            if kind == "eq" and len(terms) == 1 and _is_axis(label) and abs(c) == 1:
                fixed[label] = const * -c
    half = len(dims) // 2
    found: list[Triple] = []
    for constraint in constraints:
        kind, terms, _ = constraint
        label = next(iter(terms), None)
        if kind == "eq" and len(terms) == 1 and isinstance(label, int):
            first = label - half
            paired = label in fixed and first in fixed and dims[first] == dims[label]
            if paired and dims[first].constant is None and 2 * half == len(dims):
                shift = fixed[first] - fixed[label]
                constraint = ("eq", {label: 1, first: -1}, shift)
        found.append(constraint)
    return found


def _tie(constraint: Triple) -> Tie | None:
    kind, terms, const = constraint
    if kind != "eq" or len(terms) != 2 or not all(map(_is_axis, terms)):
        return None
    (first, c), (second, d) = sorted(terms.items())
    if (c, d) not in ((1, -1), (-1, 1)):
        return None
    return Tie(first, second, const * c)


def _use_first_axes(term: _Term) -> None:
    """Write `x[second]` as `x[first + offset]`, padded where that leaves the axis."""
    for tie in term.ties:
        term.inner = [_on_first(constraint, tie) for constraint in term.inner]
        shifted: Name = ("shifted", tie.second)
        used = False
        factors: list[Factor] = []
        for node, labels in term.factors:
            used |= tie.second in labels
            moved = tuple(shifted if x == tie.second else x for x in labels)
            factors.append((node, moved))
        if used:
            term.factors = factors
            term.sizes[shifted] = term.sizes[tie.second]
            form = {tie.first: 1, shifted: -1}
            term.inner.append(("eq", form, tie.offset))


def _rooted(ties: Sequence[Tie], rest: list[Triple]) -> tuple[Tie, ...]:
    """Every tied axis tied to the first of its kind, whatever chain led there.

    What two chains say of the same axes, beyond being equal, joins `rest`.
    """
    root: dict[int, tuple[int, Dim]] = {}

    def found(axis: int) -> tuple[int, Dim]:
        above, offset = root.get(axis, (axis, Dim()))
        if above == axis:
            return axis, offset
        top, more = found(above)
        return top, offset + more

    for tie in ties:
        (a, p), (b, q) = found(tie.first), found(tie.second)
        # second = first + offset, with first = a + p and second = b + q.
        distance = p + tie.offset - q
        if a == b:
            if distance != 0:
                rest.append(("eq", {}, distance))
        elif a < b:
            root[b] = (a, distance)
        else:
            root[a] = (b, -distance)
    return tuple(Tie(found(axis)[0], axis, found(axis)[1]) for axis in sorted(root))


def _on_first(constraint: Triple, tie: Tie) -> Triple:
    """A constraint with the second axis of a tie written as the first."""
    kind, terms, const = constraint
    if tie.second not in terms:
        return constraint
    moved = {atom: c for atom, c in terms.items() if atom != tie.second}
    c = terms[tie.second]
    moved[tie.first] = moved.get(tie.first, 0) + c
    return kind, moved, const + tie.offset * c


def _grouped(graph: Graph, term: _Term, cost: CostModel) -> StoredTerm:
    """Group the factors of a term so that the least is stored."""
    scale = tuple(node for node, _ in term.factors if _is_made_of_sizes(node))
    term.factors = [f for f in term.factors if not _is_made_of_sizes(f[0])]
    candidates = [
        _stored(graph, term, partition) for partition in _candidates(term, cost)
    ]
    # Among equals the fewest arrays, then the first.
    factors = min(candidates, key=lambda found: (_held(found, cost), len(found)))
    if len(factors) > 1:
        return StoredTerm(term.coefficient, tuple(factors), term.ties, scale)
    node, labels = factors[0] if factors else (graph.constant(1), ())
    scaled = graph.product(
        labels,
        [(node, labels), *((number, ()) for number in scale)],
        coefficient=term.coefficient,
    )
    return StoredTerm(Fraction(1), ((scaled, labels),), term.ties)


def _is_made_of_sizes(node: Node) -> bool:
    """Whether a node is a number that follows from sizes alone."""
    leaves = [n for n in topological([node]) if not children(n)]
    return not node.order and all(
        isinstance(n, Size) or constant_value(n) is not None for n in leaves
    )


Partition = list[list[int]]


def _candidates(term: _Term, cost: CostModel) -> list[Partition]:
    """The groupings that look best by the sizes of their labels, and no grouping.

    Which arrays are the same shows only when they are built, so several are kept.
    """
    count = len(term.factors)
    pool = list(_partitions(count) if count <= EXACT else _greedy(term, cost))
    pool.sort(key=lambda partition: _estimate(term, partition, cost))
    return [[[k] for k in range(count)], *pool[:KEPT]]


def _estimate(term: _Term, partition: Partition, cost: CostModel) -> float:
    """How many numbers a grouping holds if no two arrays are the same."""
    labels = [{x for k in group for x in term.factors[k][1]} for group in partition]
    total = 0.0
    for k, own in enumerate(labels):
        others = set().union(*labels[:k], *labels[k + 1 :])
        total += cost.size(term.sizes[x] for x in own if _is_axis(x) or x in others)
    return total


def _greedy(term: _Term, cost: CostModel) -> Iterator[Partition]:
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


def _stored(graph: Graph, term: _Term, partition: list[list[int]]) -> list[Factor]:
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
            if any(x in labels for x in labels_of(c) if not _is_axis(x))
        ]:
            waiting = [c for c in waiting if c not in touching]
            mine += touching
            for constraint in touching:
                labels.update(dict.fromkeys(labels_of(constraint)))
        groups.append((factors, labels, mine))
    found = []
    for k, (factors, labels, mine) in enumerate(groups):
        others = {x for m, g in enumerate(groups) if m != k for x in g[1]}
        kept = [x for x in labels if _is_axis(x) or x in others]
        if len(factors) == 1 and not mine and len(kept) == len(factors[0][1]):
            found.append(factors[0])  # as it lies, rather than transposed
            continue
        kept.sort(key=_place)
        sizes = {x: term.sizes[x] for x in labels}
        node = graph.product(kept, factors, constraints=mine, sizes=sizes)
        found.append((node, tuple(kept)))
    return found


def _place(label: Name) -> tuple[bool, int, str]:
    """Axes first and in order, then summed labels."""
    return (False, label, "") if isinstance(label, int) else (True, 0, str(label))


def _is_axis(label: Name) -> bool:
    return isinstance(label, int)


def _held(factors: Sequence[Factor], cost: CostModel) -> float:
    """How many numbers some stored arrays hold, each array once."""
    return sum(cost.size(node.dims) for node in {node: None for node, _ in factors})


def _merged(
    graph: Graph, terms: Sequence[StoredTerm], dims: Sequence[Dim], cost: CostModel
) -> list[StoredTerm]:
    """Add terms of one pattern up into one array, where that holds no more."""
    patterns: dict[frozenset[Tie], list[StoredTerm]] = {}
    for term in terms:
        patterns.setdefault(frozenset(term.ties), []).append(term)
    merged = []
    for group in patterns.values():
        apart = _held([f for term in group for f in term.factors], cost)
        axes = {
            x for term in group for _, xs in term.factors for x in xs if _is_axis(x)
        }
        labels = sorted(axes, key=_place)
        sizes = {x: dims[x] for x in labels if isinstance(x, int)}
        # Along deltas one array is simpler, and worth a little more than its parts.
        limit = apart * len(group) if group[0].ties and len(group) > 2 else apart
        if len(group) == 1 or cost.size(sizes.values()) > limit:
            merged += group
            continue
        parts = []
        for term in group:
            own = [x for x in labels if any(x in xs for _, xs in term.factors)]
            factors = [*term.factors, *((node, ()) for node in term.scale)]
            parts.append((term.coefficient, graph.product(own, factors), own))
        core = graph.sum(labels, parts, sizes)
        merged.append(StoredTerm(Fraction(1), ((core, tuple(labels)),), group[0].ties))
    return merged
