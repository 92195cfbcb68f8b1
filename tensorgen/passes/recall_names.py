"""Names of derivatives, for what has become of them.

    d_pooled = u * y, d_attention = H @ d_pooled   ->   (H @ u) * y is d_attention too

Passes make products and sums anew, so that few nodes of a plan are those which the
calculus made, and called after what they are derivatives of. What has the same value at
a random point is the same: its axes may have another order, its sign may be turned, and
the zeros off a diagonal may be left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Input, Node, once, topological
from tensorgen.operators.word_shapes import fits, negated
from tensorgen.passes.context import Context
from tensorgen.passes.sampled_values import Array, value_of

CLOSE = 1e-9
"""How far apart two computations of one value may be."""
DIGITS = 6
"""Of norms, by which equals are looked for."""
SMALLEST, LARGEST = 1e-9, 1e9
"""Between them are numbers that rounding has left as they are."""


def recall_names(context: Context, roots: Sequence[Node]) -> Sequence[Node]:
    """Call nodes below `roots` what nodes of equal values are called; return `roots`.

    Their negatives are called so.

    Ends: nothing is made but names.
    """
    graph = context.graph
    if graph.effort.hurried:
        return roots
    alike: dict[float, list[Node]] = {}
    for node in {**graph.suggestions, **graph.derived}:
        if (norm := _norm(graph, node)) is not None:
            alike.setdefault(norm, []).append(node)
    for node in topological(roots) if alike else ():
        called = node in graph.names or node in graph.suggestions
        if called or node in graph.stated or isinstance(node, Input):
            continue
        for told, word in _words(graph, node, alike):
            told.setdefault(node, word)
            break
    return roots


def _words(
    graph: Graph, node: Node, alike: dict[float, list[Node]]
) -> Iterator[tuple[dict[Node, str], str]]:
    """Yield what a node is called, and where that stands, its own sign first."""
    norm = _norm(graph, node)
    own = _numbers(graph, node)
    others = [] if norm is None else alike.get(norm, [])
    for turned in (False, True):
        for other in others:
            numbers = (
                -_numbers(graph, other)[::-1] if turned else _numbers(graph, other)
            )
            if numbers.shape != own.shape or not np.allclose(
                numbers, own, rtol=CLOSE, atol=0
            ):
                continue
            told = graph.suggestions if other in graph.suggestions else graph.derived
            word = negated(told[other]) if turned else told[other]
            if fits(word):
                yield told, word


def _norm(graph: Graph, node: Node) -> float | None:
    """A number that nodes share which have the same entries but for signs.

    None where there is nothing to tell a node by: where all entries are one number, or
    one is lost in rounding.
    """

    def found() -> float | None:
        numbers = _numbers(graph, node)
        sizes = np.abs(numbers)
        if not numbers.size or not SMALLEST < sizes.min() <= sizes.max() < LARGEST:
            return None
        if numbers.size > 1 and np.ptp(numbers) == 0:
            return None
        return float(f"{np.sqrt(np.mean(numbers**2)):.{DIGITS}e}")

    return once(node, _norm, found)


def _numbers(graph: Graph, node: Node) -> Array:
    """The entries of a node that are not zero, in order."""

    def found() -> Array:
        value = value_of(graph, node)
        return np.sort(value[value != 0]) if value is not None else np.empty(0)

    return once(node, _numbers, found)
