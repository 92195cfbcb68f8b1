"""Ranges: a sum over a part of an axis is one of functions of that part.

`sum((cos(x) * y)[1:])` is the sum of `cos(x) * y * [0 < i]`, a product with an
indicator. As `sum(cos(x[1:]) * y[1:])` nothing is computed that the range leaves out,
and nothing has to be kept from derivatives there.
"""

from __future__ import annotations

from collections.abc import Sequence

from tensorgen.ir.at import At
from tensorgen.ir.constraints import Ranges, looked_up
from tensorgen.ir.dims import ZERO, Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Label, Map, Node, Product, Sum, affine
from tensorgen.ir.rebuild import rebuild


def narrowed(graph: Graph, root: Node, facts: Sequence[Dim]) -> Node:
    """Return a node in which sums of functions keep to ranges of their labels.

    `facts` are nonnegative. Ends: each sum has an indicator of one label less.
    """
    known = Ranges({}, facts)

    def visit(node: Node) -> Node:
        if isinstance(node, Product):
            for label in range(node.order, len(node.sizes)):
                part = _range(node, label, known)
                if part is not None and _is_of_functions(node, label):
                    low, size = part
                    place = affine([("part", 1)], low)
                    return visit(
                        At(graph, {"part": size}).product(node, {label: place})
                    )
        return node

    (found,) = rebuild(graph, [root], visit)
    return found


def _range(node: Product, label: Label, known: Ranges) -> tuple[Dim, Dim] | None:
    """The first place of a label and how many there are, where indicators say so."""
    low, high = ZERO, node.sizes[label]
    for kind, form in node.constraints:
        if kind != "ge" or [atom for atom, _ in form.terms] != [label]:
            continue
        ((_, sign),) = form.terms
        if sign == 1 and known.holds(-form.const - low):
            low = -form.const
        elif sign == -1 and known.holds(high - form.const - 1):
            high = form.const + 1
        else:
            return None
    whole = (low, high) == (ZERO, node.sizes[label])
    return None if whole or not known.holds(high - low) else (low, high - low)


def _is_of_functions(node: Product, label: Label) -> bool:
    """Whether a label is an axis of functions, and stands at no index array.

    It stands once in each factor.
    """
    inside = [ref for ref in node.factors if label in ref.labels]
    return (
        label not in looked_up(c.form for c in node.constraints)
        and all(ref.labels.count(label) < 2 for ref in inside)
        and any(isinstance(ref.node, Map | Sum | Product) for ref in inside)
    )
