"""Names of derivatives, for what has become of them.

    d_pooled = u * y, d_attention = H @ d_pooled   ->   (H @ u) * y is d_attention too

Passes make products and sums anew, so that few nodes of a plan are those which the
calculus made, and called after what they are derivatives of. What has the same value at
a random point is the same: its axes may have another order, its sign may be turned, and
the zeros off a diagonal may be left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

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
    called = [*graph.suggestions, *graph.derived]
    alike, stated = _by_norm(graph, called), _by_norm(graph, graph.stated)
    for node in topological(roots) if alike else ():
        if node in graph.names or node in graph.suggestions or isinstance(node, Input):
            continue
        if any(_is_same(graph, node, other, 1) for other in _like(graph, node, stated)):
            continue
        for told, word in _words(graph, node, _like(graph, node, alike)):
            told.setdefault(node, word)
            break
    return roots


def _by_norm(graph: Graph, nodes: Iterable[Node]) -> dict[str, list[Node]]:
    """Nodes by what those of equal values share."""
    found: dict[str, list[Node]] = {}
    for node in nodes:
        for key in _keys(_norm(graph, node)):
            found.setdefault(key, []).append(node)
    return found


def _like(
    graph: Graph, node: Node, by_norm: Mapping[str, Sequence[Node]]
) -> Sequence[Node]:
    keys = _keys(_norm(graph, node))
    return [*dict.fromkeys(x for key in keys for x in by_norm.get(key, ()))]


def _keys(norm: float | None) -> Sequence[str]:
    """Two roundings of a norm, one of which is that of any number as near as rounding
    leaves it on another machine."""
    if norm is None:
        return ()
    near = (norm * (1 + sign * CLOSE) for sign in (-1, 1))
    return [*dict.fromkeys(f"{x:.{DIGITS}e}" for x in near)]


def _words(
    graph: Graph, node: Node, others: Sequence[Node]
) -> Iterator[tuple[dict[Node, str], str]]:
    """Yield what a node is called, and where that stands, its own sign first."""
    for sign in (1, -1):
        for other in others:
            if _is_same(graph, node, other, sign):
                known = (
                    graph.suggestions if other in graph.suggestions else graph.derived
                )
                word = known[other] if sign > 0 else negated(known[other])
                if fits(word):
                    yield known, word


def _is_same(graph: Graph, node: Node, other: Node, sign: int) -> bool:
    """Whether a node has the entries of another one, or their negatives."""
    own, theirs = _numbers(graph, node), _numbers(graph, other)[::sign] * sign
    return own.shape == theirs.shape and np.allclose(own, theirs, rtol=CLOSE, atol=0)


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
        return float(np.sqrt(np.mean(numbers**2)))

    return once(node, _norm, found)


def _numbers(graph: Graph, node: Node) -> Array:
    """The entries of a node that are not zero, in order."""

    def found() -> Array:
        value = value_of(graph, node)
        return np.sort(value[value != 0]) if value is not None else np.empty(0)

    return once(node, _numbers, found)
