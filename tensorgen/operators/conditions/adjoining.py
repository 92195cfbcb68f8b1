"""Ranges that adjoin: what is written beside a range of an array belongs to it.

    A[i]*[1 <= i] + A[0]*delta(i, 0) = A[i]

Derivatives of what treats a first or last step apart are such sums.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Constraint, Label, Node, Product, Term, delta


def joined(graph: Graph, terms: Sequence[Term]) -> list[Term] | None:
    """Return terms of which one is the range of another and the place beside it.

    None where there are none.
    """
    known = {(x.ref, x.coefficient): k for k, x in enumerate(terms)}
    for k, term in enumerate(terms):
        for one, label, place, wider in _ends(term.node):
            forms = _beside(graph, term.node, one, label, place)
            refs = (term._replace(node=beside).ref for beside in forms)
            found = (known.get((ref, term.coefficient)) for ref in refs)
            other = next((x for x in found if x is not None and x != k), None)
            if other is not None:
                whole = _under(graph, term.node, one, wider)
                rest = [x for n, x in enumerate(terms) if n not in (k, other)]
                return [*rest, term._replace(node=whole)]
    return None


def _ends(node: Node) -> Iterator[tuple[Constraint, Label, Dim, Constraint]]:
    """The bounds of axes, with the place beyond each and the bound that has it too."""
    if not isinstance(node, Product):
        return
    for one in node.constraints:
        if one.kind != "ge" or len(one.form.terms) != 1:
            continue
        ((label, sign),) = one.form.terms
        if isinstance(label, int) and label < node.order and abs(sign) == 1:
            wider = one.form._replace(const=one.form.const + 1)
            place = (one.form.const + 1) * -sign
            yield one, label, place, one._replace(form=wider)


def _beside(
    graph: Graph, node: Node, one: Constraint, label: Label, place: Dim
) -> Iterator[Node]:
    """What a product is at the place beyond a bound: as it stands, and read there."""
    assert isinstance(node, Product)
    tied = delta({label: 1}, -place)
    yield _under(graph, node, one, tied)
    apart = len(node.sizes)

    def name(other: Label) -> Label:
        return apart if other == label else other

    yield graph.product(
        range(node.order),
        [(x, [*map(name, labels)]) for x, labels in node.factors],
        coefficient=node.coefficient,
        constraints=[
            tied,
            delta({apart: 1}, -place),
            *(x.renamed(name) for x in node.constraints if x != one),
        ],
        sizes=dict(enumerate((*node.sizes, node.sizes[label]))),
    )


def _under(graph: Graph, node: Node, one: Constraint, other: Constraint) -> Node:
    assert isinstance(node, Product)
    return graph.product(
        range(node.order),
        node.factors,
        coefficient=node.coefficient,
        constraints=[other if x == one else x for x in node.constraints],
        sizes=dict(enumerate(node.sizes)),
    )
