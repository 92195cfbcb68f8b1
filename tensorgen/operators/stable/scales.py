"""Scales that cancel: `(s * a + b) / s` is `a + b / s`, for an s of fewer axes.

Units that are multiplied by in one place and divided by in another, as temperatures
are, leave neither a pass over the array nor the rounding of two.
"""

from __future__ import annotations

from fractions import Fraction

from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Map, Node, Product, Ref, Sum
from tensorgen.ir.rebuild import with_factors
from tensorgen.operators.scalar import power, ref, times, total
from tensorgen.operators.stable.match import (
    Args,
    Weighted,
    arguments,
    as_power,
    exponent,
    terms,
)

_MOST = 100
"""So many nodes are looked through for factors at most."""


def cancelled(graph: Graph, pair: Args) -> list[Ref] | None:
    """A sum over a power of a scale that is a factor of half its terms at least."""
    inverse, whole = pair
    e = exponent(inverse)
    if e is None or e >= 0 or not isinstance(whole.node, Sum):
        return None
    if whole.node in graph.names:
        return None  # computed as it stands
    scale, _ = arguments(inverse)
    if not {*scale.labels} < {*whole.labels}:
        return None
    over = _Division(graph, scale.node, -e)
    gone: list[Weighted] = []
    left: list[Weighted] = []
    for c, part in terms(whole):
        found = over(part, scale.labels)
        if found is None:
            left.append((c, part))
        else:
            gone.append((c, found))
    if not gone or len(gone) < len(left):
        return None
    others = [(c, times(graph, part, inverse)) for c, part in left]
    return [total(graph, [*gone, *others])]


class _Division:
    """Division of what has a power of a scale as a factor, however deep."""

    def __init__(self, graph: Graph, scale: Node, e: Fraction) -> None:
        self.graph, self.scale, self.e = graph, scale, e
        self.known: dict[Ref, Node | None] = {}

    def __call__(self, ref: Ref, at: tuple[int, ...]) -> Ref | None:
        """A value over the power, its scale at the labels `at`; None if it has none."""
        if not {*at} <= {*ref.labels}:
            return None
        own = tuple(ref.labels.index(label) for label in at)
        key = Ref(ref.node, own)
        if key not in self.known and len(self.known) < _MOST:
            self.known[key] = self._divided(*key)
        found = self.known.get(key)
        return None if found is None else Ref(found, ref.labels)

    def _divided(self, node: Node, at: tuple[int, ...]) -> Node | None:
        if node is self.scale or isinstance(node, Map):
            base, own = as_power(ref(node))
            if base != Ref(self.scale, at) or own < self.e:
                return None
            return power(self.graph, base, own - self.e).node
        axes = range(node.order)
        if isinstance(node, Sum):
            parts = [self(term.ref, at) for term in node.terms]
            found = [part for part in parts if part is not None]
            if len(found) < len(parts):
                return None
            pairs = zip(node.terms, found, strict=True)
            return self.graph.sum(axes, [(term.coefficient, *x) for term, x in pairs])
        if not isinstance(node, Product):
            return None
        for k, factor in enumerate(node.factors):
            part = self(factor, at)
            if part is not None:
                return with_factors(
                    self.graph, node, [*node.factors[:k], part, *node.factors[k + 1 :]]
                )
        return None
