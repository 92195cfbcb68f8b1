"""Join: two entries of one row or column of a sparse matrix are one pair of entries.

`sum_e,f v[e] * w[f] * delta(i, c[e]) * delta(j, c[f]) * delta(r[e], r[f])` compares all
entries. The pairs that have one `r` are known: `sum_p v[a[p]] * w[b[p]] * delta(i, c[a[p]])
* delta(j, c[b[p]])`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations

from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import (
    Affine,
    Constraint,
    Label,
    Lookup,
    Node,
    Product,
    affine,
    delta,
)
from tensorgen.passes.rounds import Round
from tensorgen.passes.views import Name

PAIR = "pair"


def join_entries(known: Round, node: Node) -> Node:
    """Return a product over the pairs of entries that it compares.

    Fires where both entries give an axis of the result: else what has one row is added
    up first. Ends: the product has an index array less at which entries are compared.
    """
    graph = known.context.graph
    if not isinstance(node, Product):
        return node
    for first, second in _compared(graph, node):
        if _gives_axis(node, first) and _gives_axis(node, second):
            return _joined(graph, node, first, second)
    return node


def _compared(graph: Graph, node: Product) -> Iterator[tuple[Lookup, Lookup]]:
    """Two entries of one index array that deltas say are equal."""
    entries: dict[tuple[object, ...], list[Lookup]] = {}
    for kind, (terms, const) in node.constraints:
        if kind != "eq" or len(terms) != 2 or const != 0:
            continue
        (x, c), (y, d) = terms
        if c + d != 0:
            continue
        for atom, other in ((x, y), (y, x)):
            if not isinstance(atom, Lookup) or atom.node not in graph.pairs:
                continue
            if isinstance(other, Lookup):
                if other.node is atom.node:
                    yield atom, other
                    break
            else:
                entries.setdefault((atom.node, other), []).append(atom)
    for found in entries.values():
        yield from combinations(found, 2)


def _gives_axis(node: Product, entry: Lookup) -> bool:
    """Whether the place of an entry is, or gives, an axis of the result."""
    (place,) = entry.labels
    return place < node.order or any(
        constraint.kind == "eq" and place in constraint.form.labels
        for constraint in node.constraints
        if any(x < node.order for x in _plain(constraint.form))
        and not any(atom == entry for atom, _ in constraint.form.terms)
    )


def _plain(form: Affine) -> list[Label]:
    return [atom for atom, _ in form.terms if not isinstance(atom, Lookup)]


def _joined(graph: Graph, node: Product, first: Lookup, second: Lookup) -> Node:
    """The sum over pairs: an entry's place is what the pair says."""
    inputs = list(graph.pairs[first.node])
    (size,) = inputs[0].dims
    places = {
        entry.labels[0]: pair
        for entry, pair in zip((first, second), inputs, strict=True)
    }
    sizes: dict[Name, Dim] = {**dict(enumerate(node.sizes)), PAIR: size}

    def at_pair(form: Affine) -> Affine:
        form = form.substituted(second, affine([(first, 1)]))
        for atom, _ in form.terms:
            if isinstance(atom, Lookup) and places.keys() & {*atom.labels}:
                entry = _read(graph, atom, places)
                form = form.substituted(atom, affine([(entry, 1)]))
        return form

    forms = dict.fromkeys(
        Constraint(kind, at_pair(form)) for kind, form in node.constraints
    )
    forms |= dict.fromkeys(
        delta({place: 1, Lookup(pair, (PAIR,)): -1}) for place, pair in places.items()
    )
    return graph.product(
        range(node.order),
        node.factors,
        coefficient=node.coefficient,
        constraints=[c for c in forms if c.form.terms],
        sizes=sizes,
    )


def _read(graph: Graph, entry: Lookup, places: Mapping[Label, Node]) -> Lookup:
    """An entry at the places of a pair, as one of an array of pairs."""
    own = [PAIR, *(x for x in entry.labels if x not in places)]
    given = [
        delta({x: 1, Lookup(places[x], (PAIR,)): -1})
        for x in entry.labels
        if x in places
    ]
    dims = dict(zip(entry.labels, entry.node.dims, strict=True))
    (size,) = next(iter(places.values())).dims
    sizes: dict[Name, Dim] = {**dims, PAIR: size}
    factors = [(entry.node, entry.labels)]
    return Lookup(graph.product(own, factors, constraints=given, sizes=sizes), (*own,))
