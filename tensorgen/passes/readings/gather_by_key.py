"""Gather by key: entries of index arrays that are to be equal meet at what they are.

`sum_k w[k] * delta(g[i], g[k])` compares all pairs. What has one key is added up once,
`G[a] = sum_k w[k] * delta(a, g[k])`, and read where it is needed, `G[g[i]]`; or
multiplied by what else is added up, `sum_a G[a] * H[a]`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass

from tensorgen.ir.constraints import index_bound
from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.groups import connected
from tensorgen.ir.nodes import (
    Atom,
    Constraint,
    Label,
    Lookup,
    Node,
    Product,
    Ref,
    affine,
    delta,
    labels_of,
)
from tensorgen.ir.rebuild import with_parts
from tensorgen.ir.views import Name
from tensorgen.operators.scans.ranks import order_of
from tensorgen.passes.cost import CostModel

KEY = "key"

Gathered = tuple[Node, Callable[[Node], Node]]
"""What is added up by key, and the product that reads it, whoever computes it."""


@dataclass(frozen=True)
class _Keys:
    """Entries and labels that deltas of a product say are one key below `size`.

    `apart` are the constraints on anything else.
    """

    entries: tuple[Lookup, ...]
    labels: tuple[Label, ...]
    size: Dim
    apart: tuple[Constraint, ...]

    @property
    def name(self) -> Name:
        """The axis that the key is, or a label of its own."""
        return self.labels[0] if self.labels else KEY


def gather_by_key(graph: Graph, node: Product, cost: CostModel) -> Gathered | None:
    """Return what is added up by key, and what reads it; None without keys.

    Fires where the labels of one of several entries are summed, no factor has them and
    those of another entry, and it is known how many keys there are. Ends: the product
    compares an entry less.
    """
    for keys in _keys(node, cost):
        for own in reversed(keys.entries):
            others = [x for e in keys.entries if e != own for x in e.labels]
            labels = _apart(node, keys, own.labels, others)
            if labels is not None:
                return _gathered(graph, node, keys, own, labels)
    return None


def _keys(node: Product, cost: CostModel) -> Iterator[_Keys]:
    """What a product says of several entries that are equal."""
    plain = [c for c in node.constraints if c.equal_atoms]
    atoms: list[set[Atom]] = [{*c.equal_atoms} for c in plain]
    for _, places in connected(atoms):
        own = [plain[k] for k in places]
        equal = dict.fromkeys(atom for c in own for atom in c.equal_atoms)
        entries = tuple(atom for atom in equal if isinstance(atom, Lookup))
        labels = tuple(atom for atom in equal if not isinstance(atom, Lookup))
        sizes = {index_bound(entry.node) for entry in entries}
        size = sizes.pop() if len(sizes) == 1 else None
        if len(entries) < 2 or size is None or not cost.knows(size):
            continue
        if all(node.sizes[x] == size for x in labels):
            apart = tuple(c for c in node.constraints if c not in own)
            yield _Keys(entries, tuple(sorted(labels)), size, apart)


def _apart(
    node: Product, keys: _Keys, own: Collection[Label], others: Collection[Label] = ()
) -> set[Label] | None:
    """The labels that are summed by key: all that deltas join to those of an entry.

    None where one is not summed, or where it is joined to `others` or to keys.
    """
    labels: set[Label] = set(own)
    rest = [set(c.form.labels) for c in keys.apart]
    while joined := [x for x in rest if not x.isdisjoint(labels)]:
        labels.update(*joined)
        rest = [x for x in rest if x not in joined]
    if min(labels, default=0) < node.order or not labels.isdisjoint(keys.labels):
        return None
    return None if _meets(node, labels, others) else labels


def gather_by_limit(graph: Graph, node: Product, cost: CostModel) -> Gathered | None:
    """The same where an entry of an index array bounds a label, or is bounded by it.

    `sum_j z[j] * [j <= last[i]]` is a running sum of z, read at `last[i]`; and
    `sum_i w[i] * [j <= last[i]]` one of what is added up by where it ends.
    """
    for limit in node.constraints:
        rest = tuple(c for c in node.constraints if c is not limit)
        for own, other in limit.compared("ge"):
            size = index_bound(own.node) if isinstance(own, Lookup) else None
            if not isinstance(own, Lookup) or size is None or not cost.knows(size):
                continue
            bound = Constraint("ge", limit.form.substituted(own, affine([(KEY, 1)])))
            beside = labels_of(other)
            ends = _apart(node, _Keys((), (), size, rest), own.labels, beside)
            if ends is not None:
                keys = _Keys((own,), (), size, (*rest, bound))
                return _gathered(graph, node, keys, own, ends)
            summed = _apart(node, _Keys((), (), size, rest), beside, own.labels)
            factors = (ref.labels for ref in node.factors)
            if summed is not None and not summed.isdisjoint(
                x for f in factors for x in f
            ):
                keys, read = _Keys((), (), size, rest), delta({KEY: 1, own: -1})
                return _split(graph, node, keys, summed, [bound], [read])
    return None


def _meets(node: Product, labels: set[Label], others: Collection[Label]) -> bool:
    """Whether a factor of some labels has one of others, or they are among these."""
    inside = (ref.labels for ref in node.factors if not labels.isdisjoint(ref.labels))
    return any(not {*found}.isdisjoint(others) for found in (labels, *inside))


def _gathered(
    graph: Graph, node: Product, keys: _Keys, own: Lookup, labels: set[Label]
) -> Gathered:
    """The sums by key of the factors that have some labels, and what is left."""
    key = keys.name
    alike: list[Atom] = [e for e in keys.entries if e != own]
    alike += keys.labels[1:]
    beside = [delta({key: 1, atom: -1}) for atom in alike]
    order = order_of(own.node)
    # Each place has one entry in order: nothing is added up.
    at = delta({own.labels[0]: 1, Lookup(order, (key,)): -1}) if order else None
    inside = at or delta({key: 1, own: -1})
    return _split(graph, node, keys, labels, [inside], beside)


def _split(
    graph: Graph,
    node: Product,
    keys: _Keys,
    labels: set[Label],
    within: list[Constraint],
    beside: list[Constraint],
) -> Gathered:
    """What has some labels, with the key for an axis, and what reads it.

    `within` are further constraints of the one, `beside` of the other.
    """

    def has(xs: Sequence[Label]) -> bool:
        return not labels.isdisjoint(xs)

    key = keys.name
    inside = [ref for ref in node.factors if has(ref.labels)]
    outside = [ref for ref in node.factors if not has(ref.labels)]
    taken = _contracted(node, inside, outside)
    inside += [ref for ref in outside if ref in taken]
    outside = [ref for ref in outside if ref not in taken]
    within = [*(c for c in keys.apart if has(c.form.labels)), *within]
    beside = [*(c for c in keys.apart if not has(c.form.labels)), *beside]
    needed: set[Name] = {*range(node.order)}
    needed.update(*(ref.labels for ref in outside), *(c.form.labels for c in beside))
    present: set[Label] = {x for ref in inside for x in ref.labels}
    kept = [key, *(x for x in sorted(present) if x in needed and x != key)]
    everything: dict[Name, Dim] = {**dict(enumerate(node.sizes)), key: keys.size}
    used = {x for c in within for x in c.form.labels} | {*present, key}
    sums = graph.product(
        kept,
        inside,
        constraints=within,
        sizes={x: d for x, d in everything.items() if x in used},
    )

    def reading(sums: Node) -> Node:
        return with_parts(graph, node, [*outside, (sums, kept)], beside)

    return sums, reading


def _contracted(
    node: Product, inside: Sequence[Ref], outside: Sequence[Ref]
) -> list[Ref]:
    """What only multiplies factors from inside, over labels that are summed.

    With it they are as many axes fewer when they are added up.
    """
    own = {x for ref in inside for x in ref.labels}
    beyond = {*range(node.order), *(x for c in node.constraints for x in c.form.labels)}
    return [
        outside[k]
        for labels, places in connected([{*ref.labels} for ref in outside])
        if labels.isdisjoint(beyond) and not labels.isdisjoint(own)
        for k in places
    ]
