"""Names of derivatives, for what has become of them.

    d_pooled = u * y, d_attention = H @ d_pooled   ->   (H @ u) * y is d_attention too

Passes make products and sums anew, so that few nodes of a plan are those which the
calculus made, and called after what they are derivatives of. What has the same value at
a random point is the same: its axes may have another order, its sign may be turned, and
the zeros off a diagonal may be left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import cast

import numpy as np

from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Input, Node, Size, once, topological
from tensorgen.operators.references import Array
from tensorgen.operators.word_shapes import MULTIPLES, fits, is_derivative, multiple
from tensorgen.passes.context import Context
from tensorgen.passes.sampled_values import value_of

CLOSE = 1e-9
"""How far apart two computations of one value may be."""
DIGITS = 6
"""Of norms, by which equals are looked for."""
SMALLEST, LARGEST = 1e-9, 1e9
"""Between them are numbers that rounding has left as they are."""


def recall_names(context: Context, roots: Sequence[Node]) -> Sequence[Node]:
    """Call nodes below `roots` what nodes of equal values are called; return `roots`.

    Their negatives are called so, and what is twice or half of them, or of derivatives
    a multiple by a size or a scalar input: what a mean divides by comes last.

    Ends: nothing is made but names.
    """
    graph = context.graph
    if graph.effort.hurried:
        return roots
    called = [*graph.suggestions, *graph.derived]
    alike, stated = _by_norm(graph, called), _by_norm(graph, graph.stated)
    along: dict[str, list[Node]] = {}
    for node in dict.fromkeys([*graph.suggestions, *graph.derived]):
        if is_derivative(_told(graph, node)):
            for key in _keys(_direction(graph, node)):
                along.setdefault(key, []).append(node)
    for node in topological(roots) if alike else ():
        if node in graph.names or node in graph.suggestions or isinstance(node, Input):
            continue
        if any(_is_same(graph, node, other, 1) for other in _like(graph, node, stated)):
            continue
        for told, word in _words(graph, node, alike):
            told.setdefault(node, word)
            break
        else:
            for word in _of_multiples(graph, node, along):
                graph.derived.setdefault(node, word)
                break
    return roots


def _by_norm(graph: Graph, nodes: Iterable[Node]) -> dict[str, list[Node]]:
    """Nodes by what those of equal values share."""
    found: dict[str, list[Node]] = {}
    for node in nodes:
        own = once(node, _by_norm, lambda: _keys(_norm(graph, node)))  # noqa: B023
        for key in own:
            found.setdefault(key, []).append(node)
    return found


def _like(
    graph: Graph, node: Node, by_norm: Mapping[str, Sequence[Node]], times: float = 1
) -> Sequence[Node]:
    """Nodes whose entries may be those of a node, or so many times less."""
    norm = _norm(graph, node)
    keys = _keys(norm / times if norm is not None else None)
    return [*dict.fromkeys(x for key in keys for x in by_norm.get(key, ()))]


def _keys(norm: float | None) -> Sequence[str]:
    """Two roundings of a norm, one of which is that of any number as near as rounding
    leaves it on another machine."""
    if norm is None:
        return ()
    near = (norm * (1 + sign * CLOSE) for sign in (-1, 1))
    return [*dict.fromkeys(f"{x:.{DIGITS}e}" for x in near)]


def _words(
    graph: Graph, node: Node, by_norm: Mapping[str, Sequence[Node]]
) -> Iterator[tuple[dict[Node, str], str]]:
    """Yield what a node is called, and where that stands, its own value first."""
    for times in MULTIPLES:
        for other in _like(graph, node, by_norm, float(abs(times))):
            if _is_same(graph, node, other, float(times)):
                known = (
                    graph.suggestions if other in graph.suggestions else graph.derived
                )
                word = multiple(known[other], times)
                if times != 1:
                    known = graph.derived  # words that say all come first
                if word and fits(word):
                    yield known, word


def _of_multiples(
    graph: Graph, node: Node, along: Mapping[str, Sequence[Node]]
) -> Iterator[str]:
    """Yield words for a derivative times a size or a scalar input, or over one."""
    keys = _keys(_direction(graph, node))
    for other in dict.fromkeys(x for key in keys for x in along.get(key, ())):
        ratio = _norm(graph, node), _norm(graph, other)
        if None in ratio or node.dims != other.dims:
            continue
        size = cast(float, ratio[0]) / cast(float, ratio[1])
        times = size if _is_same(graph, node, other, size) else -size
        if not _is_same(graph, node, other, times):
            continue
        of = _told(graph, other)
        for name, value in _scalars(graph, other).items():
            for form, whole in (
                ("{}_{}", times / value),
                ("{1}_over_{0}", times * value),
            ):
                plain = Fraction(whole).limit_denominator(2)
                word = multiple(form.format(name, of), plain)
                if word and fits(word) and abs(whole - plain) < CLOSE:
                    yield word


def _told(graph: Graph, node: Node) -> str:
    return graph.suggestions.get(node) or graph.derived.get(node) or ""


def _scalars(graph: Graph, node: Node) -> dict[str, float]:
    """The values of sizes and scalar inputs that a node depends on, by their names.

    Of sizes that are the same at the point nobody knows which one it is.
    """

    def found() -> dict[str, float]:
        values: dict[str, float] = {}
        for one in topological([node]):
            if isinstance(one, Size) or (isinstance(one, Input) and not one.order):
                name = one.name if isinstance(one, Input) else str(one.value)
                value = value_of(graph, one)
                if value is not None and name.isidentifier():
                    values[name] = float(value)
        several = Counter(values.values())
        return {x: value for x, value in values.items() if several[value] == 1}

    return once(node, _scalars, found)


def _direction(graph: Graph, node: Node) -> float | None:
    """A number that nodes share of which one is a multiple of the other."""
    norm = _norm(graph, node)
    if norm is None or not node.order:
        return None
    return float(np.abs(_numbers(graph, node)).max()) / norm


def _is_same(graph: Graph, node: Node, other: Node, times: float) -> bool:
    """Whether a node has the entries of another one, so many times.

    Along axes of theirs: entries that an index array permutes are no others there.
    """
    if not ({*node.dims} <= {*other.dims} or {*other.dims} <= {*node.dims}):
        return False
    own, theirs = _numbers(graph, node), _numbers(graph, other)
    theirs = (theirs if times > 0 else theirs[::-1]) * times
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
