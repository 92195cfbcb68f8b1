"""Forward mode: tangents from inputs to outputs (Theorems 5, 6 and 7)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tensorgen.calculus.partials import partials, sizes_of, transfers
from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Node, is_zero, topological


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
        for call, arg, rule in transfers(node):
            if arg in stored:
                terms.append((1, rule.forward(graph, call, stored[arg], extra), out))
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
