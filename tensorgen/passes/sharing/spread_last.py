"""What vectors do to an array that is spread from vectors, they do before it is spread.

    d[i] * (a[i] - b[i] * c[j]) + e[i] = (d * a + e)[i] - (d * b)[i] * c[j]

Each operation with the whole array is a pass over it, each with a vector is none.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from fractions import Fraction

from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import (
    Label,
    Node,
    Product,
    Ref,
    Sum,
    Term,
    only_below,
    use_counts,
)
from tensorgen.ir.rebuild import renew
from tensorgen.passes.context import Context
from tensorgen.passes.views import compares_parts

Outer = tuple[Ref, ...]
"""Factors with axes that vectors lack."""
Vectors = dict[Outer, list[Term]]
"""The vectors that are added up and multiplied by each."""


def spread_last(context: Context, roots: Sequence[Node]) -> list[Node]:
    """Return `roots` with sums of outer products whose vectors are computed first.

    Must not fire on a difference that is spread, `a[i] - b[j]`, which has more digits
    than that of multiples. Ends: what replaces an array takes less.
    """
    graph, uses = context.graph, use_counts(roots)
    private: set[Node] = set()

    def visit(old: Node, node: Node) -> Node:
        if isinstance(node, Sum | Product) and node.order > 1:
            node, made = _spread_last(context, node, private)
            private.update(one for one in made if one not in uses)
        if uses[old] == 1 and old not in graph.names:
            private.add(node)
        return node

    return renew(graph, roots, visit)


def _spread_last(
    context: Context, node: Sum | Product, private: Collection[Node]
) -> tuple[Node, Sequence[Node]]:
    """What replaces a node, and what is new in it."""
    graph, work = context.graph, context.work
    refs = node.factors if isinstance(node, Product) else node.terms
    narrow = [frozenset(ref.labels) for ref in refs if len(ref.labels) < node.order]
    for axes in dict.fromkeys(narrow):
        if len(narrow) == len(refs):
            break  # it is spread
        vectors = _Opened(graph, node, axes, private).vectors(node, range(node.order))
        if vectors is None:
            continue
        with graph.without_rewrites():
            after = _spread(graph, node, vectors)
        gone, new = only_below(node, after)
        if sum(map(work, new)) < sum(map(work, gone)):
            return after, new
    return node, ()


class _Opened:
    """A node as a sum of outer products of vectors along some axes."""

    def __init__(
        self, graph: Graph, whole: Node, axes: frozenset[int], private: Collection[Node]
    ) -> None:
        """Open what is `private`: it has no name, and nobody else reads it."""
        self.graph, self.whole, self.axes, self.private = graph, whole, axes, private
        self.one = graph.constant(1)

    def vectors(self, node: Node, labels: Sequence[Label]) -> Vectors | None:
        """The vectors; None where an array is no sum of such products."""
        if self.axes.issuperset(labels):
            return {(): [Term(Fraction(1), node, tuple(labels))]}
        if node.order < self.whole.order:
            return {(Ref(node, tuple(labels)),): [Term(Fraction(1), self.one, ())]}
        if node is not self.whole and node not in self.private:
            return None
        match node:
            case Sum(terms=terms) if not compares_parts(node, terms):
                return self._added(terms, labels)
            case Product(inner=(), constraints=()):
                return self._multiplied(node, labels)
            case _:
                return None

    def _added(self, terms: Sequence[Term], labels: Sequence[Label]) -> Vectors | None:
        found: Vectors = {}
        for term in terms:
            own = self.vectors(term.node, [labels[x] for x in term.labels])
            if own is None:
                return None
            for outer, vectors in own.items():
                scaled = [v._replace(coefficient=v[0] * term[0]) for v in vectors]
                found.setdefault(outer, []).extend(scaled)
        return found

    def _multiplied(self, node: Product, labels: Sequence[Label]) -> Vectors | None:
        found: Vectors = {(): [Term(node.coefficient, self.one, ())]}
        for ref in node.factors:
            own = self.vectors(ref.node, [labels[x] for x in ref.labels])
            if own is None or min(len(own), len(found)) > 1:
                return None
            pairs = [(x, y) for x in found.items() for y in own.items()]
            found = {
                tuple(
                    sorted((*p, *q), key=lambda ref: (ref.node.serial, ref.labels))
                ): [_product(self.graph, _sum(self.graph, v), _sum(self.graph, w))]
                for (p, v), (q, w) in pairs
            }
        return found


def _sum(graph: Graph, terms: Sequence[Term]) -> Term:
    if len(terms) == 1:
        return terms[0]
    labels = tuple(sorted({label for term in terms for label in term.labels}))
    return Term(Fraction(1), graph.sum(labels, terms), labels)


def _product(graph: Graph, first: Term, second: Term) -> Term:
    labels = tuple(sorted({*first.labels, *second.labels}))
    product = graph.product(labels, [first.ref, second.ref])
    return Term(first.coefficient * second.coefficient, product, labels)


def _spread(graph: Graph, node: Node, vectors: Vectors) -> Node:
    """The sum of outer products."""
    terms: list[Term] = []
    for outer, own in vectors.items():
        term = _sum(graph, own)
        for ref in outer:
            term = _product(graph, term, Term(Fraction(1), *ref))
        terms.append(term)
    sizes = dict(enumerate(node.dims))
    return graph.sum(range(node.order), terms, sizes)
