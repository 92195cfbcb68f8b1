"""Transposes: an array that is another one with its axes permuted is not made.

`B[j, i] = A[i, j] - v[j]` beside `C[i, j] = A[i, j] - v[j]` is C with its axes
exchanged. Derivatives by one variable after the other are full of such sums. Products
are left to their order, which decides what of them is an array at all; pairs are such.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

from tensorgen.ir.nodes import Map, Node, Product, Sum
from tensorgen.ir.rebuild import rebuild
from tensorgen.passes.context import Context


def share_transposes(context: Context, roots: Sequence[Node]) -> list[Node]:
    """Return `roots` with sums and maps that are transposes of one another as one.

    Ends: each node is looked at once.
    """
    return _shared(context, roots, lambda node: isinstance(node, Sum | Map))


def share_turned_pairs(context: Context, roots: Sequence[Node]) -> list[Node]:
    """Return `roots` with pairs that are transposes of one another as one."""
    return _shared(context, roots, _is_pair)


def _shared(
    context: Context, roots: Sequence[Node], looks_at: Callable[[Node], bool]
) -> list[Node]:
    graph = context.graph
    made: dict[Hashable, tuple[Node, tuple[int, ...]]] = {}

    def visit(node: Node) -> Node:
        if node.order < 2 or not looks_at(node):
            return node
        assert isinstance(node, Sum | Map | Product)
        pattern, axes = _pattern(node)
        first, own = made.setdefault(pattern, (node, axes))
        if first is node:
            return node
        at = [axes.index(number) for number in own]
        return graph.product(range(node.order), [(first, at)])

    return rebuild(graph, roots, visit)


def _is_pair(node: Node) -> bool:
    """Whether a node is a contraction of two arrays, as it is computed."""
    return (
        isinstance(node, Product)
        and len(node.factors) == 2
        and bool(node.inner)
        and not node.constraints
    )


def _pattern(node: Sum | Map | Product) -> tuple[Hashable, tuple[int, ...]]:
    """What an array and its transposes have in common, and the numbers of its axes."""
    if isinstance(node, Sum):
        terms = sorted(node.terms, key=lambda t: (t.node.serial, t.coefficient))
        refs = [term.ref for term in terms]
        what: Hashable = tuple(term.coefficient for term in terms)
    elif isinstance(node, Product):
        refs, what = sorted(node.factors, key=lambda f: f.node.serial), node.coefficient
    else:
        refs, what = list(node.args), node.function
    every = [x for _, labels in refs for x in labels]
    number = {x: k for k, x in enumerate(dict.fromkeys([*every, *range(node.order)]))}
    parts = tuple((ref.node, *(number[x] for x in ref.labels)) for ref in refs)
    axes = tuple(number[x] for x in range(node.order))
    sizes = frozenset(zip(axes, node.dims, strict=True))
    return (what, parts, sizes), axes
