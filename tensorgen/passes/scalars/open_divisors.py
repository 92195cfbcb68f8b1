"""Open numbers with names that are over sizes, where something divides by them.

    x / (r / n)   ->   n * x / r, a mean r / n

Rules leave them whole, which reads better. What follows is more, or less, than what
follows of their factors, whose powers meet those of others.

Ends: no such divisor is left.
"""

from __future__ import annotations

from collections.abc import Sequence

from tensorgen.ir.nodes import Map, Node
from tensorgen.ir.rebuild import rebuild
from tensorgen.operators.stable.powers import over_factors
from tensorgen.passes.context import Context


def open_divisors(context: Context, roots: Sequence[Node]) -> list[Node]:
    """Return `roots` in which what divides is opened."""
    graph = context.graph

    def visit(node: Node) -> Node:
        found = over_factors(graph, node) if isinstance(node, Map) else None
        return node if found is None else found.node

    return rebuild(graph, roots, visit)
