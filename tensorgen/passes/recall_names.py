"""Names of derivatives, for what has become of them.

    d_pooled = u * y, d_attention = H @ d_pooled   ->   (H @ u) * y is d_attention too

The order of a product is searched for anew, so that the node which the calculus made,
and called after what it is a derivative of, is in no plan. What has its value is: the
same factors, however they are grouped.
"""

from __future__ import annotations

from collections.abc import Sequence

from tensorgen.ir.nodes import Node, topological
from tensorgen.operators.words import fits, negated
from tensorgen.passes.context import Context
from tensorgen.passes.flat import alike, are_alike, flat_number, flat_pattern


def recall_names(context: Context, roots: Sequence[Node]) -> Sequence[Node]:
    """Call nodes below `roots` what nodes of equal values are called; return `roots`.

    Their negatives are called so.

    Ends: nothing is made but names.
    """
    graph = context.graph
    called = {**graph.derived, **graph.suggestions}
    known = alike([*called])
    for node in topological(roots) if known else ():
        others = known.get(flat_number(node), ())
        if others and node not in graph.names and node not in called:
            pattern, scale = flat_pattern(graph, node)
            for other in others:
                same, own = flat_pattern(graph, other)
                word = called[other] if scale == own else negated(called[other])
                if are_alike(pattern, same) and abs(scale) == abs(own) and fits(word):
                    graph.derived.setdefault(node, word)
                    break
    return roots
