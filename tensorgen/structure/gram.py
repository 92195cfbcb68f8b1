"""Products of a sparse matrix and its transpose: `A' diag(s) A`, of which s is held.

The matrix itself multiplies faster than all pairs of entries of its rows, of which
there are many more than entries. Its product is made where entries are asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from tensorgen.ir.constraints import index_bound
from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import (
    Constraint,
    Input,
    Label,
    Lookup,
    Node,
    Product,
    affine,
    delta,
)
from tensorgen.ir.rebuild import terms_of
from tensorgen.ir.views import Name
from tensorgen.passes.matrices.join_entries import compared
from tensorgen.structure.stored import LaidOut, StoredTerm
from tensorgen.structure.take_apart import deep

WEIGHT = "weight"


@dataclass(frozen=True)
class Gram(LaidOut):
    """The number of a row of a sparse matrix, or of a column of one that is transposed.

    An array s along it is `A' diag(s) A`, or `A diag(s) A'`.
    """

    name: str
    values: Node
    rows: Node
    columns: Node
    transposed: bool
    axes: tuple[Name, ...] = (0, 1)

    @property
    def by(self) -> tuple[Node, ...]:
        """The entries of the matrix, and where they stand."""
        return self.values, self.rows, self.columns

    def laid_out(self, graph: Graph, node: Node, by: Sequence[Node] = ()) -> Node:
        """The sum over two entries that stand in one row."""
        values, shared, places = by
        if self.transposed:
            shared, places = places, shared
        first, second = (Lookup(places, (x,)) for x in "ef")
        same = [Lookup(shared, (x,)) for x in "ef"]
        return graph.product(
            "ij",
            [(node, (WEIGHT,)), (values, "e"), (values, "f")],
            constraints=[
                delta({"i": 1, first: -1}),
                delta({"j": 1, second: -1}),
                *(delta({WEIGHT: 1, entry: -1}) for entry in same),
            ],
            sizes={
                **dict.fromkeys("ij", self.shape[1 - self.transposed]),
                **dict.fromkeys("ef", self.values.dims[0]),
                WEIGHT: node.dims[0],
            },
        )

    @property
    def shape(self) -> tuple[Dim, Dim]:
        """The shape of the matrix."""
        return _bound(self.rows), _bound(self.columns)


def gram(term: StoredTerm) -> Gram | None:
    """The matrix of a term that is such a product."""
    labels = (xs[0] for _, xs in term.factors if xs)
    return next((x for x in labels if isinstance(x, Gram)), None)


def grams(terms: Sequence[StoredTerm]) -> Iterator[Gram]:
    """The matrices of all terms that are such products."""
    return filter(None, map(gram, terms))


def attribute(name: str) -> str:
    """What objects call a matrix."""
    return f"_{name}_matrix"


def take_grams(graph: Graph, node: Node) -> tuple[list[StoredTerm], Node] | None:
    """A matrix as such products, and the sum of its other terms; None if it has none.

    Terms of one matrix are added up.
    """
    if node.order != 2 or not graph.pairs:
        return None
    found: dict[Gram, list[Node]] = {}
    rest: list[Node] = []
    for term in terms_of(graph, node):
        own = _weighted(graph, term)
        if own is None:
            rest.append(term)
        else:
            found.setdefault(own[0], []).append(own[1])
    if not found:
        return None
    terms = [
        StoredTerm(Fraction(1), ((graph.add(*parts), (label,)),), ())
        for label, parts in found.items()
    ]
    sizes = dict(enumerate(node.dims))
    others = graph.sum((0, 1), [(1, term, (0, 1)) for term in rest], sizes)
    return terms, others


def _weighted(graph: Graph, term: Node) -> tuple[Gram, Node] | None:
    """A term as the matrix and s, if it is such a product."""
    whole = deep(term).product(graph, (0, 1))
    pairs = [*compared(graph, whole)] if isinstance(whole, Product) else []
    if not isinstance(whole, Product) or len(pairs) != 1:
        return None
    first, second = pairs[0]
    ends = first.labels, second.labels
    given = {c: _end(c, ends) for c in whole.constraints}
    places = {axis: entry for end in given.values() if end for axis, entry in [end]}
    if {entry.labels for entry in places.values()} != {*ends}:
        return None
    label = _matrix(whole, first.node, [entry.node for entry in places.values()], ends)
    # What is left knows of the two entries in which row they are.
    row = affine([(WEIGHT, 1)])
    rest = [
        Constraint(c.kind, c.form.substituted(first, row).substituted(second, row))
        for c, end in given.items()
        if end is None
    ]
    factors = [f for f in whole.factors if f.labels not in ends]
    gone = {0, 1, *ends[0], *ends[1]}
    left = {x for c in rest for x in c.form.labels} | {x for f in factors for x in f[1]}
    if label is None or gone & left:
        return None
    sizes: dict[Name, Dim] = {
        x: dim for x, dim in enumerate(whole.sizes) if x not in gone
    }
    weights = graph.product(
        (WEIGHT,),
        factors,
        coefficient=whole.coefficient,
        constraints=[c for c in rest if c.form.terms],
        sizes={**sizes, WEIGHT: _bound(first.node)},
    )
    return label, weights


def _end(
    constraint: Constraint, ends: Sequence[tuple[Label, ...]]
) -> tuple[Label, Lookup] | None:
    """The axis that one of two entries gives, if that is what a delta says."""
    equal = constraint.equal_atoms
    axes = [x for x in equal if not isinstance(x, Lookup) and x in (0, 1)]
    entries = [x for x in equal if isinstance(x, Lookup) and x.labels in ends]
    return (axes[0], entries[0]) if axes and entries else None


def _matrix(
    whole: Product,
    shared: Node,
    places: Sequence[Node],
    ends: Sequence[tuple[Label, ...]],
) -> Gram | None:
    """The matrix that two entries are of, by the names of its parts."""
    values = [node for node, labels in whole.factors if labels in ends]
    named = [x.name for x in (*values, shared, *places) if isinstance(x, Input)]
    if len(named) != 5 or len({*values}) > 1 or len({*places}) > 1:
        return None
    name = named[0].removesuffix("_values")
    sides = dict(zip(named[2:4], (shared, places[0]), strict=True))
    rows, columns = (sides.get(f"{name}_{side}") for side in ("rows", "columns"))
    if rows is None or columns is None:
        return None
    return Gram(name, values[0], rows, columns, shared is columns)


def _bound(places: Node) -> Dim:
    """How many rows or columns there are, of which an index array tells."""
    bound = index_bound(places)
    assert bound is not None
    return bound
