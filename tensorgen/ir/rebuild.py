"""Rebuilding a graph bottom-up: the frame that the passes share."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, assert_never

from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import (
    Call,
    Constant,
    Constraint,
    Input,
    Iota,
    Map,
    Node,
    Product,
    Ref,
    Size,
    Sum,
    Term,
    children,
    topological,
)

Use = tuple[Node, Sequence[Hashable]]
"""An operand, and the labels of its axes, which may have any names."""


def rebuild(
    graph: Graph,
    roots: Sequence[Node],
    visit: Callable[[Node], Node],
    memo: dict[Node, Node] | None = None,
    *,
    plain: bool = False,
    anew: bool = True,
) -> list[Node]:
    """Return `roots` with every node replaced by `visit` of it, operands first.

    `visit` sees nodes whose operands are replaced already; where that is `plain`,
    nothing is recognised in them. Names move along. A `memo` keeps what was replaced
    for the next call with the same `visit`; what has got a name since then gives it
    on, unless nothing is looked at `anew`.
    """
    return renew(graph, roots, lambda _, own: visit(own), memo, plain=plain, anew=anew)


def renew(
    graph: Graph,
    roots: Sequence[Node],
    visit: Callable[[Node, Node], Node],
    memo: dict[Node, Node] | None = None,
    *,
    plain: bool = False,
    anew: bool = True,
) -> list[Node]:
    """Do so with what `visit` makes of a node, and of it over new operands."""
    new: dict[Node, Node] = {} if memo is None else memo
    made = _plainly if plain else with_operands
    for node in topological(roots, {} if anew else new):
        found = new.get(node)
        if found is None:
            own = made(graph, node, new)
            found = new[node] = visit(node, own)
        if found is not node:
            carry_names(graph, node, found)
    return [new[root] for root in roots]


def _plainly(graph: Graph, node: Node, new: dict[Node, Node]) -> Node:
    with graph.without_rewrites():
        return with_operands(graph, node, new)


def substituted(
    graph: Graph, roots: Iterable[Node], known: Mapping[Node, Node]
) -> list[Node]:
    """Return nodes with others in place of those that are `known`."""
    return rebuild(graph, [*roots], lambda node: node, {**known}, anew=False)


@contextmanager
def without_words(graph: Graph, but_new: bool = False) -> Iterator[None]:
    """Give no words, or to new nodes alone: others are more than they are here."""
    before = [(told, len(told)) for told in (graph.suggestions, graph.derived)]
    made = graph.serial
    try:
        yield
    finally:
        for told, known in before:
            for node in [*told][known:]:
                if not but_new or node.serial < made:
                    del told[node]


def carry_names(graph: Graph, old: Node, new: Node) -> None:
    """Call a node what the one was called that it replaces; tell of it the same."""
    if old in graph.names:
        graph.names.setdefault(new, graph.names[old])
    if old in graph.suggestions:
        graph.suggest(new, graph.suggestions[old])
    if old in graph.derived:
        graph.derived.setdefault(new, graph.derived[old])
    for remark in graph.remarks.get(old, ()):
        graph.remark(new, remark)


def with_factors(graph: Graph, node: Product, factors: Sequence[Ref]) -> Node:
    """Return a product with other factors over its labels; itself if none changed."""
    if tuple(factors) == node.factors:
        return node
    out, sizes = range(node.order), sizes_of(node)
    return of_others(graph, node, out, factors, sizes, node.constraints)


def with_operands(graph: Graph, node: Node, new: dict[Node, Node]) -> Node:
    """Return a node with its operands replaced; itself if none changed."""
    # Of a node that stands, nothing is made anew to see that: most nodes do.
    for operand in node.operands:
        if new.get(operand) is not operand:
            break
    else:
        return node
    match node:
        case Call():
            args = [new[arg] for arg in node.args]
            return graph.call(node.operator, args, node.dims, **dict(node.params))
        case Product() | Sum() | Map():
            refs = [Ref(new[operand], labels) for operand, labels in refs_of(node)]
            constraints: Sequence[Constraint] = ()
            if isinstance(node, Product):
                looked_up = children(node)[len(refs) :] if node.constraints else ()
                if all(new.get(one, one) is one for one in looked_up):
                    return with_factors(graph, node, refs)
                # Passes that rewrite no index array do not say what becomes of it.
                constraints = [
                    one.over(lambda at: at._replace(node=new.get(at.node, at.node)))
                    for one in node.constraints
                ]
            out = range(node.order)
            return of_others(graph, node, out, refs, sizes_of(node), constraints)
        case Input() | Constant() | Size() | Iota():
            return node
        case _:
            assert_never(node)


def with_parts(
    graph: Graph,
    node: Product,
    factors: Iterable[Use],
    constraints: Iterable[Constraint],
) -> Node:
    """Return a product of other factors and constraints over its labels.

    Summed labels that none of them mentions are gone with what gave them a value.
    """
    uses, ties = [*factors], [*constraints]
    used: set[Hashable] = {*range(node.order)}
    used.update(*(labels for _, labels in uses), *(one.form.labels for one in ties))
    sizes = {x: dim for x, dim in enumerate(node.sizes) if x in used}
    return of_others(graph, node, range(node.order), uses, sizes, ties)


# The same of other operands, over other labels


def refs_of(node: Product | Sum | Map) -> Sequence[Ref]:
    """The operands of a node that have labels of it."""
    match node:
        case Product():
            return node.factors
        case Sum():
            return [term.ref for term in node.terms]
        case Map():
            return node.args


def sizes_of(node: Product | Sum | Map) -> dict[Any, Dim]:
    """The dims of the labels of a node."""
    return dict(enumerate(node.sizes if isinstance(node, Product) else node.dims))


def of_others(
    graph: Graph,
    node: Product | Sum | Map,
    out: Sequence[Hashable],
    uses: Iterable[Use],
    sizes: Mapping[Any, Dim],
    constraints: Iterable[Constraint] = (),
) -> Node:
    """Return what a node is of other operands, over labels of any names.

    Operands are in the order of `refs_of`. A product is given its `constraints`, and
    may be given factors more.
    """
    match node:
        case Product():
            return graph.product(
                out,
                uses,
                coefficient=node.coefficient,
                constraints=constraints,
                sizes=sizes,
            )
        case Sum(terms=terms):
            pairs = zip(terms, uses, strict=True)
            own = {x: sizes[x] for x in out if x in sizes}
            return graph.sum(out, [(t.coefficient, *use) for t, use in pairs], own)
        case Map():
            own = {x: sizes[x] for x in out if x in sizes}
            return graph.map(node.function, out, uses, own)


# Sums


def terms_of(graph: Graph, node: Node) -> list[Node]:
    """The terms of a sum, each with all axes; else the node."""
    if not isinstance(node, Sum):
        return [node]
    axes, sizes = range(node.order), sizes_of(node)
    return [
        graph.product(axes, [t.ref], coefficient=t.coefficient, sizes=sizes)
        for t in node.terms
    ]


def merged(graph: Graph, node: Sum, opens: Callable[[Sum], bool]) -> Node:
    """A sum with the terms of those of its terms that are sums, and `opens` says so."""
    terms: list[Term] = []
    for term in node.terms:
        inner = term.node
        if isinstance(inner, Sum) and opens(inner):
            terms += [
                Term(term.coefficient * t.coefficient, *t.ref.under(term.ref))
                for t in inner.terms
            ]
        else:
            terms.append(term)
    return graph.sum(range(node.order), terms, sizes_of(node))
