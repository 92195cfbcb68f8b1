"""Symmetric matrices count as their transposes, once differentiation is over.

A use `S[j, i]` of a symmetric S becomes `S[i, j]`, so that a matrix and its transpose
are one node: `inv(S).T @ y` is `inv(S) @ y` and is computed once, and the transpose of
`X.T @ X` is no other array. Before derivatives are taken this must not be done, since
entries of a symmetric input are independent.
Each use is turned at most once, so the pass ends after one round. Where both axes are
summed, `u[r] * S[r, s] * w[s]` and `w[r] * S[r, s] * u[s]` are one node.
"""

from __future__ import annotations

from collections.abc import Sequence

from tensorgen.ir.nodes import Label, Map, Node, Product, Ref, Sum
from tensorgen.ir.rebuild import of_others, rebuild, refs_of, sizes_of, with_factors
from tensorgen.operators.matrices.symmetry import Symmetry
from tensorgen.passes.context import Context


def use_symmetry(context: Context, roots: Sequence[Node]) -> list[Node]:
    """Return `roots` with symmetric matrices used in one order of their axes."""
    graph, symmetry = context.graph, Symmetry(promised=True)

    def turned(node: Node, labels: tuple[Label, ...]) -> tuple[Label, ...]:
        if len(labels) < 2 or labels[-2] <= labels[-1]:
            return labels
        if symmetry.parity(node, (node.order - 2, node.order - 1)) != 1:
            return labels
        return (*labels[:-2], labels[-1], labels[-2])

    def one_of_two(node: Product) -> Node:
        best: Node = node
        for k, (factor, labels) in enumerate(node.factors):
            summed = [x for x in labels[-2:] if x >= node.order]
            if len({*summed}) < 2 or len(node.factors) < 3:
                continue
            if symmetry.parity(factor, (factor.order - 2, factor.order - 1)) == 1:
                mirrored = list(node.factors)
                mirrored[k] = Ref(factor, (*labels[:-2], *labels[:-3:-1]))
                best = min(
                    best,
                    with_factors(graph, node, mirrored),
                    key=lambda n: n.serial,
                )
        return best

    def visit(node: Node) -> Node:
        if not isinstance(node, Product | Sum | Map):
            return node
        refs = [Ref(x, turned(x, labels)) for x, labels in refs_of(node)]
        if isinstance(node, Product):
            found = with_factors(graph, node, refs)
            return one_of_two(found) if isinstance(found, Product) else found
        if refs == [*refs_of(node)]:
            return node
        return of_others(graph, node, range(node.order), refs, sizes_of(node))

    return rebuild(graph, roots, visit)
