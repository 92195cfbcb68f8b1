"""Rebuilding a graph bottom-up: the frame that the passes share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import assert_never

from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import (
    Call,
    Constant,
    Input,
    Iota,
    Map,
    Node,
    Product,
    Ref,
    Size,
    Sum,
    topological,
)


def rebuild(
    graph: Graph,
    roots: Sequence[Node],
    visit: Callable[[Node], Node],
    memo: dict[Node, Node] | None = None,
) -> list[Node]:
    """Return `roots` with every node replaced by `visit` of it, operands first.

    `visit` sees nodes whose operands are replaced already. Names move along. A `memo`
    keeps what was replaced for the next call with the same `visit`.
    """
    new: dict[Node, Node] = {} if memo is None else memo
    for node in topological(roots, new):
        new[node] = visit(with_operands(graph, node, new))
        carry_names(graph, node, new[node])
    return [new[root] for root in roots]


def carry_names(graph: Graph, old: Node, new: Node) -> None:
    """Call a node what the one was called that it replaces."""
    if old in graph.names:
        graph.names.setdefault(new, graph.names[old])
    if old in graph.suggestions:
        graph.suggest(new, graph.suggestions[old])


def with_factors(graph: Graph, node: Product, factors: Sequence[Ref]) -> Node:
    """Return a product with other factors over its labels; itself if none changed."""
    if tuple(factors) == node.factors:
        return node
    return graph.product(
        range(node.order),
        factors,
        coefficient=node.coefficient,
        constraints=node.constraints,
        sizes=dict(enumerate(node.sizes)),
    )


def with_operands(graph: Graph, node: Node, new: dict[Node, Node]) -> Node:
    """Return a node with its operands replaced; itself if none changed."""
    match node:
        case Product():
            refs = [Ref(new[ref.node], ref.labels) for ref in node.factors]
            return with_factors(graph, node, refs)
        case Sum():
            if all(new[term.node] is term.node for term in node.terms):
                return node
            terms = [(t.coefficient, new[t.node], t.labels) for t in node.terms]
            return graph.sum(range(node.order), terms)
        case Map():
            if all(new[ref.node] is ref.node for ref in node.args):
                return node
            args = [(new[ref.node], ref.labels) for ref in node.args]
            return graph.map(node.function, range(node.order), args)
        case Call():
            if all(new[arg] is arg for arg in node.args):
                return node
            params = dict(node.params)
            args_new = [new[arg] for arg in node.args]
            return graph.call(node.operator, args_new, node.dims, **params)
        case Input() | Constant() | Size() | Iota():
            return node
        case _:
            assert_never(node)
