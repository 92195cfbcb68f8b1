"""Rebuilding a graph bottom-up: the frame that the passes share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import assert_never

from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import (
    Call,
    Constant,
    Constraint,
    Input,
    Iota,
    Lookup,
    Map,
    Node,
    Product,
    Ref,
    Size,
    Sum,
    affine,
    children,
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
    keeps what was replaced for the next call with the same `visit`; what has got a name
    since then gives it on.
    """
    new: dict[Node, Node] = {} if memo is None else memo
    for node in topological(roots):
        found = new.get(node)
        if found is None:
            found = new[node] = visit(with_operands(graph, node, new))
        if found is not node:
            carry_names(graph, node, found)
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


def _over(constraint: Constraint, new: Mapping[Node, Node]) -> Constraint:
    """A constraint with other index arrays."""
    terms = (
        (_looked_up(atom, new) if isinstance(atom, Lookup) else atom, c)
        for atom, c in constraint.form.terms
    )
    return Constraint(constraint.kind, affine(terms, constraint.form.const))


def _looked_up(atom: Lookup, new: Mapping[Node, Node]) -> Lookup:
    # Passes that rewrite no index array do not say what becomes of it.
    return atom._replace(node=new.get(atom.node, atom.node))


def with_operands(graph: Graph, node: Node, new: dict[Node, Node]) -> Node:
    """Return a node with its operands replaced; itself if none changed."""
    # Of a node that stands, nothing is made anew to see that: most nodes do.
    for operand in node.operands:
        if new.get(operand) is not operand:
            break
    else:
        return node
    match node:
        case Product():
            refs = [Ref(new[operand], labels) for operand, labels in node.factors]
            looked_up = children(node)[len(refs) :] if node.constraints else ()
            if all(new.get(one, one) is one for one in looked_up):
                return with_factors(graph, node, refs)
            return graph.product(
                range(node.order),
                refs,
                coefficient=node.coefficient,
                constraints=[_over(constraint, new) for constraint in node.constraints],
                sizes=dict(enumerate(node.sizes)),
            )
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
