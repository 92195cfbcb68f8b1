"""Symmetric arrays count as their transposes, once differentiation is over.

A use `S[j, i]` of a symmetric S becomes `S[i, j]`, so that a matrix and its transpose
are one node: `inv(S).T @ y` is `inv(S) @ y` and is computed once, and the transpose of
`X.T @ X` is no other array. So it is with any two axes, as of the derivatives of a
covariance, a matrix for each parameter. Before derivatives are taken this must not be
done, since entries of a symmetric input are independent.
Each use is turned at most once, so the pass ends after one round. Where both axes are
summed, `u[r] * S[r, s] * w[s]` and `w[r] * S[r, s] * u[s]` are one node;
so they are where deltas say which entries of S are meant.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

from tensorgen.ir.nodes import Label, Map, Node, Product, Ref, Sum
from tensorgen.ir.rebuild import of_others, rebuild, refs_of, sizes_of, with_factors
from tensorgen.operators.matrices.symmetry import Swap, Symmetry
from tensorgen.passes.context import Context


def use_symmetry(context: Context, roots: Sequence[Node]) -> list[Node]:
    """Return `roots` with symmetric arrays used in one order of their axes."""
    graph, symmetry = context.graph, Symmetry(promised=True)

    def swaps(node: Node) -> Iterator[Swap]:
        """Axes that may be exchanged; those of matrices come first."""
        for a, b in combinations(reversed(range(node.order)), 2):
            if symmetry.parity(node, (b, a)) == 1:
                yield b, a

    def turned(node: Node, labels: tuple[Label, ...]) -> tuple[Label, ...]:
        if labels == tuple(sorted(labels)):
            return labels
        own = list(labels)
        for a, b in swaps(node):
            own[a], own[b] = sorted((own[a], own[b]))
        return tuple(own)

    def pairs(node: Product) -> dict[tuple[Label, Label], dict[int, Ref]]:
        """Pairs of summed labels, and the factors that they may be exchanged in."""
        found: dict[tuple[Label, Label], dict[int, Ref]] = {}
        for k, (factor, labels) in enumerate(node.factors):
            if sum(label >= node.order for label in {*labels}) < 2:
                continue
            for a, b in swaps(factor):
                first, second = sorted((labels[a], labels[b]))
                if node.order <= first < second:
                    own = list(labels)
                    own[a], own[b] = own[b], own[a]
                    found.setdefault((first, second), {})[k] = Ref(factor, tuple(own))
        return found

    def one_of_two(node: Product) -> Node:
        best: Node = node
        if len(node.factors) + len(node.constraints) < 3:
            return node
        for changed in pairs(node).values():
            mirrored = [changed.get(k, ref) for k, ref in enumerate(node.factors)]
            other = with_factors(graph, node, mirrored)
            best = min(best, other, key=lambda n: n.serial)
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
