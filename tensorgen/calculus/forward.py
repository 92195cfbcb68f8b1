"""Forward mode: tangents from inputs to outputs (Theorems 5, 6 and 7)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tensorgen.calculus.partials import partials, sizes_of, transfer
from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Call, Node, is_zero, topological


def pushforward(
    graph: Graph,
    roots: Sequence[Node],
    tangents: Mapping[Node, Node],
    extra: Sequence[Dim],
) -> list[Node]:
    """Return the tangents of `roots`, of dims `root.dims + extra`.

    `tangents` gives those of the inputs that vary, of dims `input.dims + extra`: a
    unit tensor for a Jacobian, a direction (with `extra` empty) for a product.
    """
    stored: dict[Node, Node] = dict(tangents)
    directions = tuple(("direction", k) for k in range(len(extra)))
    for node in topological(roots):
        if node in stored:
            continue
        out = (*range(node.order), *directions)
        sizes = sizes_of(node)
        sizes.update(zip(directions, extra, strict=True))
        terms = []
        rule = transfer(node)
        if rule is not None and isinstance(node, Call) and node.args[0] in stored:
            carried = rule.forward(graph, node, stored[node.args[0]], extra)
            terms.append((1, carried, out))
        for p in partials(graph, node):
            tangent = stored.get(p.operand)
            if tangent is None:
                continue
            term = graph.product(
                out,
                [*p.factors, (tangent, (*p.labels, *directions))],
                coefficient=p.coefficient,
                constraints=p.constraints,
                sizes=sizes,
            )
            if not is_zero(term):
                terms.append((1, term, out))
        if terms:
            stored[node] = graph.sum(out, terms, {k: sizes[k] for k in out})
            if node in graph.names:
                graph.suggest(stored[node], f"{graph.names[node]}_dot")
    return [stored.get(root, graph.zeros((*root.dims, *extra))) for root in roots]
