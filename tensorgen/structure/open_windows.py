"""Windows that two axes share as bands: one for each distance of their entries.

In `sum_k e[k] * [k <= i] [i <= k + 6] [k <= j] [j <= k + 6]`, as the Hessian of a
function of moving sums has it, no i is farther than 6 from a j. With `i = j + o` each
of these bands is a moving sum itself, over a window that is shorter by |o|.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import NamedTuple

from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Constraint, Label, Node, Product, delta, indicator
from tensorgen.ir.rebuild import rebuild
from tensorgen.prices.limits import BANDS_OF_A_WINDOW


class _Window(NamedTuple):
    """The indicators `low <= axis - summed <= high`, all that hold of both."""

    low: int
    high: int


def open_windows(graph: Graph, node: Node) -> Node:
    """Return a derivative with windows of fixed length that two axes share as bands.

    Itself, where there are none, or too many bands.
    """

    def visit(node: Node) -> Node:
        bands = _bands(graph, node)
        if not bands:
            return node
        axes = tuple(range(node.order))
        sizes = dict(enumerate(node.dims))
        return graph.sum(axes, [(1, band, axes) for band in bands], sizes)

    (found,) = rebuild(graph, [node], visit)
    return found


def _bands(graph: Graph, term: Node) -> list[Node]:
    """The bands of a product; none where no two axes share a window."""
    if not isinstance(term, Product):
        return []
    for summed in range(term.order, term.order + len(term.inner)):
        windows = {
            axis: window
            for axis in range(term.order)
            if (window := _window(term, axis, summed)) is not None
        }
        for one, other in combinations(windows, 2):
            first, second = windows[one], windows[other]
            least, most = first.low - second.high, first.high - second.low
            if most - least < BANDS_OF_A_WINDOW:
                offsets = range(least, most + 1)
                pair = (one, other)
                return [_band(graph, term, pair, summed, windows, o) for o in offsets]
    return []


def _window(term: Product, axis: Label, summed: Label) -> _Window | None:
    """The window of fixed length around a summed label that an axis stays in."""
    low, high = [], []
    for constraint in term.constraints:
        const = constraint.form.const.constant
        if not _bounds(constraint, axis, summed) or const is None:
            continue
        if constraint.form.coefficient(axis) > 0:
            low.append(-const)
        else:
            high.append(const)
    return _Window(max(low), min(high)) if low and high else None


def _bounds(constraint: Constraint, axis: Label, summed: Label) -> bool:
    """Whether a constraint is an indicator of the distance of two labels alone."""
    terms = dict(constraint.form.terms)
    return constraint.kind == "ge" and (
        terms in ({axis: 1, summed: -1}, {axis: -1, summed: 1})
    )


def _band(
    graph: Graph,
    term: Product,
    axes: tuple[int, int],
    summed: Label,
    windows: Mapping[int, _Window],
    offset: int,
) -> Node:
    """The entries of a product where the first of two axes is the other plus `offset`.

    What holds of the second then holds of the first, and both hold in one window.
    """
    first, second = axes
    own, other = windows[first], windows[second]
    low, high = max(own.low, other.low + offset), min(own.high, other.high + offset)
    kept = [
        c
        for c in term.constraints
        if not any(_bounds(c, axis, summed) for axis in axes)
    ]
    kept += [
        indicator({first: 1, summed: -1}, -low),
        indicator({first: -1, summed: 1}, high),
        delta({first: 1, second: -1}, -offset),
    ]
    return graph.product(
        range(term.order),
        term.factors,
        coefficient=term.coefficient,
        constraints=kept,
        sizes=dict(enumerate(term.sizes)),
    )
