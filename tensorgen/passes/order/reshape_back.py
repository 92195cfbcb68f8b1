"""Reshape back: sums over merged axes of what is sparse are over the axes themselves.

Where `T` has deltas, its reshape is an array of zeros with few other entries, which no
delta between axes describes. But a reshape moves no entry: `sum_l reshape(T)[l] * v[l]`
is `sum_(a, b) T[a, b] * reshape(v)[a, b]`, in which deltas take the sums away.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence

from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.groups import connected
from tensorgen.ir.nodes import Call, Constraint, Node, Product, Ref
from tensorgen.operators.reshape import reshape, segments, split_label
from tensorgen.passes.rounds import Round
from tensorgen.passes.views import degree, reshapes_sparse


def reshape_back(known: Round, node: Node) -> Node:
    """Return a product that sums over the axes of what is sparse, not over mergers."""
    if not isinstance(node, Product) or not node.inner:
        return node
    for place, label, dims in _merged(node):
        found = _back(known.context.graph, node, place, label, dims)
        if found is not None:
            return known.again(found)
    return node


def _merged(node: Product) -> Iterator[tuple[int, int, Sequence[Dim]]]:
    """Factors that are reshapes of what is sparse, summed labels of merged axes in
    them, and the dims of these axes."""
    for place, (call, labels) in enumerate(node.factors):
        if not isinstance(call, Call) or not reshapes_sparse(call):
            continue
        (before,) = call.args
        for source, target in segments(before.dims, call.dims):
            if len(target) == 1 < len(source):
                label = labels[target[0]]
                if label >= node.order and labels.count(label) == 1:
                    yield place, label, before.dims[source.start : source.stop]


def _back(
    graph: Graph, node: Product, place: int, label: int, dims: Sequence[Dim]
) -> Node | None:
    """The product with all that is summed over `label` in parts of these dims.

    None where it would have to be larger than what it is made of.
    """
    sparse = node.factors[place]
    others = [ref for k, ref in enumerate(node.factors) if k != place]
    borders = {*range(node.order), *sparse.labels} - {label}
    inside, limits = _reached(others, node.constraints, label, borders)
    read = {x for ref in inside for x in ref.labels}
    read.update(x for limit in limits for x in limit.form.labels)
    kept = sorted(read & borders)
    if not inside or len(kept) >= max(len(set(ref.labels)) for ref in inside):
        return None
    sizes = {x: node.sizes[x] for x in read}
    whole = graph.product([label, *kept], inside, constraints=limits, sizes=sizes)
    if degree(whole.dims) > max(degree(ref.node.dims) for ref in inside):
        return None
    parts: list[Hashable] = [("part", k) for k in range(len(dims))]
    rest = reshape(graph, whole, (*dims, *whole.dims[1:]))
    left = [ref for ref in others if ref not in inside]
    split = split_label(graph, sparse, label, parts, dims)
    return graph.product(
        range(node.order),
        [*left, split, (rest, (*parts, *kept))],
        coefficient=node.coefficient,
        constraints=[c for c in node.constraints if c not in limits],
        sizes={x: d for x, d in enumerate(node.sizes) if x in borders},
    )


def _reached(
    refs: Sequence[Ref],
    constraints: Sequence[Constraint],
    label: int,
    borders: set[int],
) -> tuple[list[Ref], list[Constraint]]:
    """What reads a label, or one that such things read, as far as the borders."""
    read = [ref.labels for ref in refs] + [c.form.labels for c in constraints]
    inner = [{label}, *({*labels} - borders for labels in read)]
    places = next(own for _, own in connected(inner) if 0 in own)
    return (
        [ref for k, ref in enumerate(refs, 1) if k in places],
        [c for k, c in enumerate(constraints, 1 + len(refs)) if k in places],
    )
