"""Join: two entries of one row or column of a sparse matrix are one pair of entries.

`sum_e,f v[e] * v[f] * delta(i, c[e]) * delta(j, c[f]) * delta(r[e], r[f])` compares
all entries. The pairs p that have one r are known, as places a[p] and b[p]:
`sum_p v[a[p]] * v[b[p]] * delta(i, c[a[p]]) * delta(j, c[b[p]])`. Two entries that are
equal in rows and columns are one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from itertools import combinations

from tensorgen.ir.constraints import is_scattered, solvable
from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.groups import connected
from tensorgen.ir.nodes import (
    Affine,
    Constraint,
    Label,
    Lookup,
    Node,
    Product,
    affine,
    delta,
    topological,
)
from tensorgen.ir.rebuild import rebuild, with_parts
from tensorgen.ir.views import Name, View
from tensorgen.passes.context import Context

PAIR = "pair"


def join_entries(graph: Graph, roots: Sequence[Node]) -> list[Node]:
    """Return `roots` with products over the pairs of entries that they compare.

    Fires where both entries give an axis, of the result or of one factor: else what has
    one row is added up first. Ends: such a product compares entries of an index array
    once less.
    """
    if not graph.pairs:
        return list(roots)
    return rebuild(graph, roots, partial(_join, graph))


def _join(graph: Graph, node: Node) -> Node:
    if not isinstance(node, Product):
        return node
    pairs = [*compared(graph, node)]
    if (same := _one_entry(pairs)) is not None:
        return _join(graph, _identified(graph, node, *same))
    for first, second in pairs:
        # Entries that are compared by rows and columns are for nobody to list.
        alike = [
            {x.labels, y.labels} == {first.labels, second.labels} for x, y in pairs
        ]
        given = _gives_axis(node, first) and _gives_axis(node, second)
        if sum(alike) == 1 and (given or _meet(node, first, second)):
            return _join(graph, _joined(graph, node, first, second))
    return node


def _one_entry(pairs: Sequence[tuple[Lookup, Lookup]]) -> tuple[Label, Label] | None:
    """The places of entries of one matrix that are in one row and in one column."""
    for (first, second), (other, twin) in combinations(pairs, 2):
        places = [first.labels, second.labels]
        alike = places in ([other.labels, twin.labels], [twin.labels, other.labels])
        if (
            alike
            and other.node is not first.node
            and other.node.dims == first.node.dims
        ):
            return first.labels[0], second.labels[0]
    return None


def _identified(graph: Graph, node: Product, first: Label, second: Label) -> Node:
    """The product where two entries are the same one: a place has one at most."""
    equal = delta({first: 1, second: -1})
    return with_parts(graph, node, node.factors, [*node.constraints, equal])


def filled_in(context: Context, roots: Sequence[Node]) -> Iterator[tuple[str, bool]]:
    """What is computed of sparse matrices, but their entries.

    Also whether a root is at least as large: what is filled in is not what takes most.
    """
    axes = [Counter(root.dims) for root in roots]
    for node in topological(roots) if context.entries else ():
        if _compares_all(node, context.entries):
            yield "compare all entries of sparse matrices", False
        if node not in roots and is_scattered(node):
            atoms = (atom for c in node.constraints for atom, _ in c.form.terms)
            places = [atom.node for atom in atoms if isinstance(atom, Lookup)]
            if all(place in context.graph.pairs for place in places):
                own = Counter(node.dims)
                yield "fill in a sparse matrix", any(own <= one for one in axes)


def _compares_all(node: Node, sizes: Collection[str]) -> bool:
    """Whether a product has two labels of such sizes, of which no delta gives one."""
    if not isinstance(node, Product):
        return False
    labels = {x for x, dim in enumerate(node.sizes) if str(dim) in sizes}
    for constraint in node.constraints if len(labels) > 1 else ():
        given = [x for x in solvable(constraint) if x in labels]
        labels.difference_update(given[:1])
    return len(labels) > 1


def compared(graph: Graph, node: Product) -> Iterator[tuple[Lookup, Lookup]]:
    """Two entries of one index array that deltas say are equal."""
    equal = [x for x in (c.equal_atoms for c in node.constraints) if x]
    for _, places in connected([{*atoms} for atoms in equal]):
        atoms = dict.fromkeys(x for k in places for x in equal[k])
        entries = [x for x in atoms if isinstance(x, Lookup) and x.node in graph.pairs]
        for first, second in combinations(entries, 2):
            if first.node is second.node:
                yield first, second


def _gives_axis(node: Product, entry: Lookup) -> bool:
    """Whether the place of an entry is, or gives, an axis of the result."""
    (place,) = entry.labels
    return place < node.order or any(
        constraint.kind == "eq" and place in constraint.form.labels
        for constraint in node.constraints
        if any(x < node.order for x in _plain(constraint.form))
        and not any(atom == entry for atom, _ in constraint.form.terms)
    )


def _meet(node: Product, first: Lookup, second: Lookup) -> bool:
    """Whether a factor has one axis by an entry, and another one by the other entry."""
    one, other = (_given(node, entry) for entry in (first, second))
    return any(
        not (one - other).isdisjoint(ref.labels)
        and not (other - one).isdisjoint(ref.labels)
        for ref in node.factors
    )


def _given(node: Product, entry: Lookup) -> set[Label]:
    """The place of an entry, and the labels that deltas give by it."""
    forms = [c.form for c in node.constraints if {*entry.labels} & {*c.form.labels}]
    return {*entry.labels, *(x for form in forms for x in _plain(form))}


def _plain(form: Affine) -> list[Label]:
    return [atom for atom, _ in form.terms if not isinstance(atom, Lookup)]


def _joined(graph: Graph, node: Product, first: Lookup, second: Lookup) -> Node:
    """The sum over pairs: an entry's place is what the pair says."""
    inputs = list(graph.pairs[first.node])
    (size,) = inputs[0].dims
    places = {
        entry.labels[0]: Lookup(pair, (PAIR,))
        for entry, pair in zip((first, second), inputs, strict=True)
    }

    def at_pair(form: Affine) -> Affine:
        form = form.substituted(second, affine([(first, 1)]))
        for atom, _ in form.terms:
            if isinstance(atom, Lookup) and places.keys() & {*atom.labels}:
                entry = _read(graph, atom, places)
                form = form.substituted(atom, affine([(entry, 1)]))
        return form

    view = View(node.coefficient)
    view.sizes.update(enumerate(node.sizes))
    for k, (factor, labels) in enumerate(node.factors):
        view.add(factor, labels, k if places.keys() & {*labels} else None)
    view.constraints += node.constraints
    own: dict[Name, Name] = {place: (PAIR, place) for place in places}
    view.factors = [(f, tuple(own.get(x, x) for x in xs)) for f, xs in view.factors]
    forms = dict.fromkeys(
        Constraint(kind, at_pair(form)) for kind, form in view.constraints
    )
    for place, pair in places.items():
        axis = [place] * (place < node.order)
        forms |= {delta({x: 1, pair: -1}): None for x in (own[place], *axis)}
        view.sizes[own[place]] = view.sizes[place]
        if not axis:
            del view.sizes[place]
    view.constraints = [c for c in forms if c.form.terms]
    view.sizes[PAIR] = size
    return view.product(graph, range(node.order))


def _read(graph: Graph, entry: Lookup, places: Mapping[Label, Lookup]) -> Lookup:
    """An entry at the places of a pair, as one of an array of pairs."""
    own = [PAIR, *(x for x in entry.labels if x not in places)]
    given = [delta({x: 1, places[x]: -1}) for x in entry.labels if x in places]
    dims = dict(zip(entry.labels, entry.node.dims, strict=True))
    (size,) = next(iter(places.values())).node.dims
    sizes: dict[Name, Dim] = {**dims, PAIR: size}
    factors = [(entry.node, entry.labels)]
    return Lookup(graph.product(own, factors, constraints=given, sizes=sizes), (*own,))
