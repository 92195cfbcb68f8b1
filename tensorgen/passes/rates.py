"""Rates: how often what a node computes changes when a function is bound to its data.

A problem keeps the data, is asked at one point after another, and multiplies by many
directions at one point. What changes less often need not be computed as often.
"""

from __future__ import annotations

from collections.abc import Collection
from enum import IntEnum

from tensorgen.ir.dims import Dim
from tensorgen.ir.nodes import Input, Node, Product, Size, children


class Rate(IntEnum):
    """When a value changes: never while the data stay, or with what."""

    DATA = 0
    POINT = 1
    DIRECTION = 2


class Rates:
    """The rate of every node, from those of the inputs."""

    def __init__(
        self,
        variables: Collection[Node],
        directions: Collection[Node] = (),
        sizes: Collection[str] | None = None,
    ) -> None:
        """Say what changes; `sizes` are the dim symbols known from the data alone."""
        self._sizes = sizes
        self._rates = dict.fromkeys(variables, Rate.POINT)
        self._rates |= dict.fromkeys(directions, Rate.DIRECTION)

    def of(self, node: Node) -> Rate:
        """The rate of a node: the highest below it."""
        waiting = [node]
        while waiting:
            inner = waiting[-1]
            below = [c for c in children(inner) if c not in self._rates]
            waiting += below
            if not below:
                waiting.pop()
                if inner not in self._rates:
                    found = [self._rates[child] for child in children(inner)]
                    self._rates[inner] = max([self._own(inner), *found])
        return self._rates[node]

    def _own(self, node: Node) -> Rate:
        """That of a node's sizes, which may follow from the point alone."""
        if isinstance(node, Input):
            # Pairs are many, and made when they are first asked for.
            return Rate.DATA if node.of is None else Rate.POINT
        if self._sizes is None:
            return Rate.DATA
        known = all(symbol in self._sizes for symbol in sizes_in(node))
        return Rate.DATA if known else Rate.POINT


def sizes_in(node: Node) -> list[str]:
    """Return the dim symbols that a node is made with, operands aside."""
    dims: list[Dim] = list(node.dims)
    if isinstance(node, Product):
        dims += [*node.inner, *(c.form.const for c in node.constraints)]
    elif isinstance(node, Size):
        dims.append(node.value)
    return [symbol for dim in dims for symbol in dim.sources]
