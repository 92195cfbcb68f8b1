"""Merge: a sum of sums is one sum."""

from __future__ import annotations

from tensorgen.ir.nodes import Node, Sum
from tensorgen.ir.rebuild import merged
from tensorgen.passes.rounds import Round


def merge_sums(known: Round, node: Node) -> Node:
    """Return a sum with the terms of sums that are used here alone."""
    if not isinstance(node, Sum):
        return node
    return merged(known.context.graph, node, known.private.__contains__)
