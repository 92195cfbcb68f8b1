"""Derivatives of reshaped arrays: their axes in parts, along which deltas are plain.

A delta between an axis of length n*m and two of lengths n and m has no constant
coefficients. But in C order the raveled axis is the two, as rows of a matrix are
concerned: so each axis is parted as what it was made of, and shapes alone differ.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Call, Constraint, Map, Node, Product, Ref, Sum, delta
from tensorgen.ir.rebuild import Use, of_others, refs_of
from tensorgen.operators.reshape import reshape, segments


def parts(node: Node) -> tuple[tuple[Dim, ...], ...] | None:
    """What each axis of a derivative is made of; None where none has parts."""
    found = dict[int, tuple[Dim, ...]]()
    for ref in _reshapes(Ref(node, tuple(range(node.order))), set()):
        for axis, dims in _of_call(ref):
            if 0 <= axis < node.order and len(dims) > len(found.get(axis, ())):
                found[axis] = dims
    return tuple(found.get(k, (d,)) for k, d in enumerate(node.dims)) if found else None


def _reshapes(use: Ref, seen: set[Ref]) -> Iterator[Ref]:
    """The reshapes inside a sum of products; labels that are no axes are negative."""
    if use in seen:
        return
    seen.add(use)
    match use.node:
        case Product(factors=refs) as node:
            names = [*use.labels, *(-1 for _ in node.inner)]
            for ref in refs:
                inside = tuple(names[x] for x in ref.labels)
                yield from _reshapes(Ref(ref.node, inside), seen)
        case Sum(terms=terms):
            for term in terms:
                yield from _reshapes(term.ref.under(use), seen)
        case Call(operator="reshape"):
            yield use


def _of_call(use: Ref) -> Iterator[tuple[int, tuple[Dim, ...]]]:
    """What a reshape says of axes: they were several, or are tied to several."""
    node, labels = use
    assert isinstance(node, Call)
    (before,) = node.args
    groups = dict[int, range]()
    for segment in segments(before.dims, node.dims):
        if len(segment.target) == 1 < len(segment.source):
            yield labels[segment.target[0]], tuple(
                before.dims[a] for a in segment.source
            )
        if len(segment.source) == 1:
            groups[segment.source[0]] = segment.target
    for constraint in before.constraints if isinstance(before, Product) else ():
        pair = _tied(constraint)
        if pair is not None and groups.keys() >= {*pair}:
            for one, two in (pair, pair[::-1]):
                if len(groups[one]) == 1 < len(groups[two]):
                    wide = tuple(node.dims[a] for a in groups[two])
                    yield labels[groups[one][0]], wide


def _tied(constraint: Constraint) -> tuple[int, int] | None:
    """The two labels that a delta says to be equal."""
    labels = [x for x in constraint.equal_atoms if isinstance(x, int)]
    return (labels[0], labels[1]) if len(labels) == 2 else None


def parted(graph: Graph, node: Node, axes: Sequence[Sequence[Dim]]) -> Node | None:
    """An array with axes in parts, by what it is made of; None where it cannot be."""
    if all(len(dims) == 1 for dims in axes):
        return node
    if not isinstance(node, Product | Sum | Map):
        return reshape(graph, node, [dim for dims in axes for dim in dims])
    inner = node.inner if isinstance(node, Product) else ()
    every = [*axes, *((dim,) for dim in inner)]
    names = [[(k, m) for m in range(len(dims))] for k, dims in enumerate(every)]
    out = [x for own in names[: node.order] for x in own]
    sizes = {
        x: dim
        for own, dims in zip(names, every, strict=True)
        for x, dim in zip(own, dims, strict=True)
    }
    uses: list[Use] = []
    for ref in refs_of(node):
        operand = parted(graph, ref.node, [every[x] for x in ref.labels])
        if operand is None:
            return None
        uses.append((operand, [x for label in ref.labels for x in names[label]]))
    constraints = list[Constraint]()
    for constraint in node.constraints if isinstance(node, Product) else ():
        found = _parted(constraint, names, every)
        if found is None:
            return None
        constraints += found
    return of_others(graph, node, out, uses, sizes, constraints)


def _parted(
    constraint: Constraint,
    names: Sequence[Sequence[tuple[int, int]]],
    dims: Sequence[Sequence[Dim]],
) -> list[Constraint] | None:
    """What a delta or an indicator says of parts; None where it says nothing plain."""
    if all(len(names[x]) == 1 for x in constraint.form.labels):
        return [constraint.renamed(lambda x: names[x][0])]
    pair = _tied(constraint)
    if pair is None or [*dims[pair[0]]] != [*dims[pair[1]]]:
        return None
    both = zip(*(names[x] for x in pair), strict=True)
    return [delta({one: 1, two: -1}) for one, two in both]
