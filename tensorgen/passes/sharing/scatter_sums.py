"""What several terms add where an index array says is added up there once.

    d[i] * sum_l u[l] * delta(i, a[l]) + sum_l w[l] * delta(i, a[l])
        = sum_l (d[a[l]] * u[l] + w[l]) * delta(i, a[l])

A derivative by `v[a[l]]` has both: what is read at `a[l]` to be added to entry `a[l]`
is known as entry i, and stands outside.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import (
    Constraint,
    Label,
    Lookup,
    Node,
    Product,
    Sum,
    Term,
    delta,
)
from tensorgen.ir.rebuild import rebuild
from tensorgen.passes.context import Context
from tensorgen.passes.order.factor_sums import pays

Place = tuple[int, Node]
"""The axis of a sum that an index array says the entry of, and that array."""
Row = tuple[Term, Label]
"""A term, and the label of the index array's places in it."""


def scatter_sums(context: Context, roots: Sequence[Node]) -> list[Node]:
    """Return `roots` with terms of sums that are scattered alike scattered once.

    Fires where the modelled cost falls. Terms of matrices and larger tensors share
    more than what they are scattered by, and stay apart. Ends: a sum has fewer terms.
    """
    graph = context.graph

    def visit(node: Node) -> Node:
        if not isinstance(node, Sum) or node.order != 1:
            return node
        for place, terms in _groups(node).items():
            found = _together(graph, node, place, terms)
            if pays(graph, node, found, context.cost, 1.0):
                return visit(found)
        return node

    return rebuild(graph, roots, visit)


def _groups(node: Sum) -> dict[Place, list[Row]]:
    """Two terms or more for each place at which they are scattered."""
    found: dict[Place, list[Row]] = {}
    for term in node.terms:
        inner = term.node
        if not isinstance(inner, Product) or len(term.labels) < node.order:
            continue
        for one in inner.constraints:
            if (at := _scatters(inner, one)) is not None:
                axis, (key, (row,)) = at
                found.setdefault((term.labels[axis], key), []).append((term, row))
    return {place: rows for place, rows in found.items() if len(rows) > 1}


def _scatters(node: Product, one: Constraint) -> tuple[int, Lookup] | None:
    """The axis that is compared with an entry of a vector of indices, added over."""
    axes = [x for x in one.equal_atoms if not isinstance(x, Lookup)]
    entries = [x for x in one.equal_atoms if isinstance(x, Lookup)]
    if len(axes) != 1 or len(entries) != 1:
        return None
    (axis,), (entry,) = axes, entries
    added = len(entry.labels) == 1 and entry.labels[0] >= node.order
    alone = sum(axis in other.form.labels for other in node.constraints) == 1
    return (axis, entry) if axis < node.order and added and alone else None


def _together(graph: Graph, node: Sum, place: Place, found: list[Row]) -> Node:
    """The sum with some terms as one, which is scattered."""
    axis, key = place
    axes = range(node.order)
    rows = []
    for term, row in found:
        product = term.node
        assert isinstance(product, Product)
        own = [row if x == axis else k for k, x in enumerate(term.labels)]
        part = graph.product(
            own,
            product.factors,
            coefficient=product.coefficient,
            constraints=product.constraints,
            sizes=dict(enumerate(product.sizes)),
        )
        rows.append((term.coefficient, part, term.labels))
    sizes = dict(enumerate(node.dims))
    added = graph.sum(axes, rows, {**sizes, axis: key.dims[0]})
    at = delta({axis: 1, Lookup(key, ("row",)): -1})
    labels = ["row" if x == axis else x for x in axes]
    scattered = graph.product(axes, [(added, labels)], constraints=[at], sizes=sizes)
    taken = {term for term, _ in found}
    others = [term for term in node.terms if term not in taken]
    return graph.sum(axes, [*others, Term(Fraction(1), scattered, tuple(axes))], sizes)
