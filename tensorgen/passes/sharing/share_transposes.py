"""Transposes: an array that is another one with its axes permuted is not made.

`B[j, i] = A[i, j] - v[j]` beside `C[i, j] = A[i, j] - v[j]` is C with its axes
exchanged. Derivatives by one variable after the other are full of such sums. Products
are left to their order, which decides what of them is an array at all.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from tensorgen.ir.nodes import Map, Node, Sum
from tensorgen.ir.rebuild import rebuild
from tensorgen.passes.context import Context


def share_transposes(context: Context, roots: Sequence[Node]) -> list[Node]:
    """Return `roots` with sums and maps that are transposes of one another as one.

    Ends: each node is looked at once.
    """
    graph = context.graph
    made: dict[Hashable, tuple[Node, tuple[int, ...]]] = {}

    def visit(node: Node) -> Node:
        if node.order < 2 or not isinstance(node, Sum | Map):
            return node
        pattern, axes = _pattern(node)
        first, own = made.setdefault(pattern, (node, axes))
        if first is node:
            return node
        at = [axes.index(number) for number in own]
        return graph.product(range(node.order), [(first, at)])

    return rebuild(graph, roots, visit)


def _pattern(node: Sum | Map) -> tuple[Hashable, tuple[int, ...]]:
    """What an array and its transposes have in common, and the numbers of its axes."""
    if isinstance(node, Sum):
        terms = sorted(node.terms, key=lambda t: (t.node.serial, t.coefficient))
        refs = [term.ref for term in terms]
        what: Hashable = tuple(term.coefficient for term in terms)
    else:
        refs, what = list(node.args), node.function
    every = [x for _, labels in refs for x in labels]
    number = {x: k for k, x in enumerate(dict.fromkeys([*every, *range(node.order)]))}
    parts = tuple((ref.node, *(number[x] for x in ref.labels)) for ref in refs)
    axes = tuple(number[x] for x in range(node.order))
    sizes = frozenset(zip(axes, node.dims, strict=True))
    return (what, parts, sizes), axes
