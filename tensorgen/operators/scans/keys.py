"""What index arrays give one key: reductions over all entries that have it.

`max(x[i], i, key[i] == q)` looks at each x once. Of the exponents of
`sum_j exp(u[j]) * delta(g[i], g[j])` the largest is that of a key, found once for all
that have it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple

from tensorgen.ir.constraints import index_bound
from tensorgen.ir.dims import ZERO, Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import (
    Atom,
    Call,
    Constraint,
    Iota,
    Label,
    Lookup,
    Map,
    Node,
    Product,
    Ref,
    delta,
    labels_of,
)
from tensorgen.operators.conditions.positions import is_indicator
from tensorgen.operators.promise_calls import stopped
from tensorgen.operators.scalar import apply, holds, ref
from tensorgen.operators.scans.monoids import MONOIDS
from tensorgen.operators.scans.ranks import tied

Keys = tuple[Lookup, Lookup]

Reduced = Callable[[Node, tuple[int, ...]], Node]
"""A reduction over some axes."""


# What says that entries have a key


class Keyed(NamedTuple):
    """The delta `own == at + shift` of a label or of an entry of another index array.

    The entries of `own` are below `size`, and so is what they equal.
    """

    own: Lookup
    at: Atom
    shift: Dim
    size: Dim


def compared(mask: Ref) -> Keys | None:
    """The two entries that are equal where a mask holds, if it is that of a delta."""
    node = mask.node
    if not is_indicator(node) or len(node.constraints) != 1:
        return None
    return equated(node.constraints[0].renamed(mask.labels.__getitem__))


def same_key(graph: Graph, mask: Ref) -> Ref | None:
    """A comparison of an entry of an index array with another, or a place, as a delta.

    So `where(row[k] == i, ...)` says what a condition `row[k] == i` does.
    """
    node = mask.node
    if not (isinstance(node, Map) and node.function == "equal"):
        return None
    first, second = (_atom(arg.under(mask)) for arg in node.args)
    if first is None or second is None or first == second:
        return None
    dims = dict(zip(mask.labels, node.dims, strict=True))
    return holds(graph, delta({first: 1, second: -1}), dims)


def _atom(ref: Ref) -> Atom | None:
    """What an index array, or the places along an axis, are at labels."""
    if isinstance(ref.node, Iota):
        return ref.labels[0]
    return Lookup(*ref) if index_bound(ref.node) is not None else None


def equated(constraint: Constraint) -> Keys | None:
    """The two entries, below one bound, that a delta says are equal."""
    entries = [x for x in constraint.equal_atoms if isinstance(x, Lookup)]
    if len(entries) < 2:
        return None
    first, second = entries
    alike = index_bound(first.node) == index_bound(second.node)
    return (first, second) if alike else None


def keyed(constraint: Constraint, dims: Mapping[Label, Dim]) -> list[Keyed]:
    """What a delta says of an entry, of which it is known that it stays below a bound.

    `dims` are those of all labels.
    """
    found = []
    for own, at in constraint.compared("eq"):
        size = index_bound(own.node) if isinstance(own, Lookup) else None
        if size is None or len({*own.labels}) < len(own.labels):
            continue
        shift = constraint.form.const * -constraint.form.coefficient(own)
        if isinstance(at, Lookup):
            fits = equated(constraint) is not None
        else:
            fits = within(dims[at], shift, size)
        if fits:
            found.append(Keyed(own, at, shift, size))
    return found


def within(size: Dim, shift: Dim, length: Dim) -> bool:
    """Whether the entries `shift … size - 1 + shift` are those of an axis."""
    return shift.is_nonnegative() and (length - size - shift).is_nonnegative()


# Reductions by key


class _Chosen(NamedTuple):
    """Entries `z`, of which a reduction by key takes in all; its labels are axes."""

    key: Keyed
    z: Ref


def by_key(
    graph: Graph, operator: str, x: Node, axes: Sequence[int], reduced: Reduced
) -> Node | None:
    """Return a reduction over axes of `where(key[i] == q, z[i], neutral)` by key.

    What else a condition says selects entries of z. Must not fire where z has the axis
    q: it is a table of pairs then; nor where q is an entry of a given index array, as
    callers would have to say how many keys there are. `reduced` reduces over what is no
    axis of the key.
    """
    known = MONOIDS.get(operator)
    if known is None or not known.keyed:
        return None
    found = _chosen(graph, x, axes, known.neutral(graph))
    if found is None:
        return None
    (own, at, shift, size), z = found
    if isinstance(at, Lookup) and not isinstance(at.node, Call):
        return None
    others = tuple(a for a in axes if a not in own.labels)
    if others and operator in ("max", "min"):
        # Ties share equally, those of one entry of the key and those of others.
        own = _spread(graph, own, others, x)
    elif others:
        over = tuple(a for a, axis in enumerate(z.labels) if axis in others)
        kept = tuple(axis for axis in z.labels if axis not in others)
        z = Ref(reduced(z.node, over), kept)
    made = _made(graph, operator, z, own, size)
    out = tuple(axis for axis in range(x.order) if axis not in axes)
    return made.at(graph, out, at, shift, dict(enumerate(x.dims))).node


class _ByKey(NamedTuple):
    """A reduction by key, which stands in front of the labels of its other axes."""

    node: Node
    labels: tuple[Label, ...]

    def at(
        self,
        graph: Graph,
        labels: tuple[Label, ...],
        at: Atom,
        shift: Dim,
        sizes: Mapping[Label, Dim],
    ) -> Ref:
        """What it is at the key `at + shift`."""
        found = graph.product(
            labels,
            [(self.node, ("key", *self.labels))],
            constraints=[delta({"key": 1, at: -1}, -shift)],
            sizes={x: sizes[x] for x in labels},
        )
        return Ref(found, labels)


def _made(graph: Graph, operator: str, x: Ref, own: Lookup, size: Dim) -> _ByKey:
    """Reduce the entries of x that an entry of an index array gives one key."""
    turned, rest = _turned(graph, x, own)
    shape = (size, *turned.dims[len(own.labels) :])
    args = [turned, own.node]
    return _ByKey(graph.call(f"{operator}_by_key", args, shape, shape=shape), rest)


def _turned(graph: Graph, x: Ref, own: Lookup) -> tuple[Node, tuple[Label, ...]]:
    """The entries of x with the axes of a key in front, and its other labels."""
    rest = tuple(label for label in x.labels if label not in own.labels)
    sizes = dict(zip(x.labels, x.node.dims, strict=True))
    return graph.product((*own.labels, *rest), [x], sizes=sizes), rest


def _spread(graph: Graph, own: Lookup, others: Sequence[int], x: Node) -> Lookup:
    """An entry of an index array with more labels, along which it stays as it is."""
    labels = (*own.labels, *others)
    sizes = {axis: x.dims[axis] for axis in labels}
    return Lookup(graph.product(labels, [own], sizes=sizes), labels)


def _chosen(graph: Graph, x: Node, axes: Sequence[int], fill: Node) -> _Chosen | None:
    """What stands at each key in `where(mask, z, fill)`."""
    whole = turned(x)
    if not (isinstance(whole.node, Map) and whole.node.function == "where"):
        return None
    mask, z, rest = (arg.under(whole) for arg in whole.node.args)
    if rest.node is not fill:
        return None
    constraints, conditions = _parts(graph, mask, axes)
    dims = dict(enumerate(x.dims))
    for constraint in constraints:
        # Of a key that entries along axes have, and that others read.
        key = next(
            (
                key
                for key in keyed(constraint, dims)
                if {*labels_of(key.at)}.isdisjoint(axes)
                and {*key.own.labels} <= {*axes}
            ),
            None,
        )
        if key is None:
            continue
        left = [c for c in constraints if c is not constraint]
        used = {x for c in left for x in c.form.labels}
        used.update(x for ref in conditions for x in ref.labels)
        if left or conditions:
            labels = tuple(sorted(used))
            chosen = graph.product(
                labels,
                conditions,
                constraints=left,
                sizes={axis: dims[axis] for axis in used},
            )
            z = apply(graph, "where", Ref(chosen, labels), z, rest)
        if not {*labels_of(key.at)}.isdisjoint(z.labels):
            return None
        every = tuple(sorted({*z.labels, *axes}))
        if every != z.labels:
            sizes = {axis: dims[axis] for axis in every}
            z = Ref(graph.product(every, [z], sizes=sizes), every)
        return _Chosen(key, z)
    return None


def _parts(
    graph: Graph, mask: Ref, axes: Collection[int]
) -> tuple[list[Constraint], list[Ref]]:
    """The constraints and the conditions that all hold where a mask does."""
    mask = same_key(graph, mask) or tied(graph, mask, axes) or mask
    node = mask.node
    if not isinstance(node, Product) or node.inner or node.coefficient != 1:
        return [], [mask]
    constraints = [c.renamed(mask.labels.__getitem__) for c in node.constraints]
    conditions: list[Ref] = []
    for factor in node.factors:
        more, others = _parts(graph, factor.under(mask), axes)
        constraints += more
        conditions += others
    return constraints, conditions


def over_keys(graph: Graph, x: Node, axes: Sequence[int]) -> Node | None:
    """Return logsumexp over axes of `where(a[i] == b[j], z[j], -inf)` as one by key.

    Or with a label in place of b[j]. Must not fire where z has the axis i: it is a
    table of pairs then.
    """
    minus = MONOIDS["logsumexp"].neutral(graph)
    out = [axis for axis in range(x.order) if axis not in axes]
    found = _chosen(graph, x, axes, minus)
    if found is None:
        return None
    (own, at, shift, _), z = found
    tie = delta({own: 1, at: -1}, -shift)
    sums = graph.product(
        out, [apply(graph, "exp", z)], constraints=[tie], sizes=dict(enumerate(x.dims))
    )
    return apply(graph, "log", Ref(sums, tuple(range(len(out))))).node


def turned(x: Node) -> Ref:
    """An array, or what it has with axes in another order, in its own axes."""
    if isinstance(x, Product) and x.coefficient == 1 and len(x.factors) == 1:
        (factor,) = x.factors
        if sorted(factor.labels) == [*range(x.order)] and not x.constraints:
            return factor
    return Ref(x, tuple(range(x.order)))


# Levels of sums of exponentials


def levels(
    graph: Graph, x: Ref, key: Keyed, dims: Mapping[Label, Dim]
) -> tuple[Ref, Ref, Ref]:
    """Return levels: the largest entries of x at keys, and at the entries of the key.

    Labels are those of x, with dims; in the first the one that reads the key stands in
    place of its entries. The last are the first as they are, -inf where there is no
    entry, as constants too.
    """
    own, at, shift, size = key
    top = _made(graph, "max", x, own, size)
    level = top._replace(node=apply(graph, "level", ref(top.node)).node)
    floor = top._replace(node=stopped(graph, top.node))
    labels = (*labels_of(at), *top.labels)
    return (
        level.at(graph, labels, at, shift, dims),
        level.at(graph, x.labels, own, ZERO, dims),
        floor.at(graph, labels, at, shift, dims),
    )


def levels_of_pairs(
    graph: Graph, x: Ref, own: Lookup, read: Lookup
) -> tuple[Ref, Ref, Ref | None]:
    """Return levels: the largest entries of x at keys that are read, and at its own.

    Labels are those of x, with those of what is read in the place of those of `own`.
    The last are the first as they are, as constants too, if a key may have no entry.
    """
    turned, rest = _turned(graph, x, own)

    def largest(at: Lookup) -> Ref:
        args = [turned, own.node, at.node]
        node = graph.call("max_of_alike", args, (*at.node.dims, *turned.dims[1:]))
        return Ref(node, (*at.labels, *rest))

    top = largest(read)
    floor = None if own.node is read.node else Ref(stopped(graph, top.node), top.labels)
    return apply(graph, "level", top), apply(graph, "level", largest(own)), floor
