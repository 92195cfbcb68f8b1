"""Mask late: terms of a sum that are read under one condition are masked together.

`triu(A) - triu(B)` is `triu(A - B)`. Who reads the sum under the same condition, as
derivatives of sums over `i < j` do, then masks nothing again.
"""

from __future__ import annotations

from collections.abc import Sequence

from tensorgen.ir.constraints import normal
from tensorgen.ir.nodes import Constraint, Label, Node, Product, Sum, Term, use_counts
from tensorgen.ir.rebuild import rebuild
from tensorgen.passes.context import Context


def mask_late(context: Context, roots: Sequence[Node]) -> list[Node]:
    """Return `roots` with indicators that all terms of a sum have outside of it.

    Fires on what compares axes, in terms that nothing else needs; ranges of one axis
    say where entries are written. Ends: each sum is looked at once.
    """
    graph, uses = context.graph, use_counts(roots)

    def visit(node: Node) -> Node:
        if not isinstance(node, Sum):
            return node
        common, inside = _common(node.terms), [term.node for term in node.terms]
        if not common or any(uses[x] > 1 or x in graph.names for x in inside):
            return node
        axes, sizes = range(node.order), dict(enumerate(node.dims))
        terms = []
        for coefficient, inner, labels in node.terms:
            assert isinstance(inner, Product)
            left = [c for c in inner.constraints if _under(c, labels) not in common]
            part = graph.product(
                range(inner.order),
                inner.factors,
                coefficient=inner.coefficient,
                constraints=left,
                sizes=dict(enumerate(inner.sizes)),
            )
            terms.append((coefficient, part, labels))
        whole = graph.sum(axes, terms, sizes)
        return graph.product(axes, [(whole, axes)], constraints=common, sizes=sizes)

    return rebuild(graph, roots, visit)


def _under(one: Constraint, labels: Sequence[Label]) -> Constraint:
    """A constraint of a term over the axes of a sum; those summed have other names."""
    axes = dict(enumerate(labels))
    return normal(one.renamed(lambda x: axes.get(x, -1 - x)))


def _common(terms: Sequence[Term]) -> list[Constraint]:
    """The indicators of several axes that all terms have, over those of the sum."""
    found: list[Constraint] | None = None
    for term in terms:
        own = []
        if isinstance(term.node, Product) and term.node.factors:
            for one in term.node.constraints:
                inside = max(one.form.labels, default=0) < term.node.order
                if one.kind == "ge" and inside and len(one.form.labels) > 1:
                    own.append(_under(one, term.labels))
        found = own if found is None else [one for one in found if one in own]
    return found or []
