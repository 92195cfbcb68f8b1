"""Values that a name stands for up to a factor or the order of their axes.

After `t = -y * z`, the product `y * z` is `-t`; after `g[i, k] = h[k, i] + ...`, what
is stored with its axes turned is `g` too. Texts say so: a reader knows `t` and `g`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from itertools import permutations
from typing import NamedTuple

from tensorgen.ir.constraints import normal
from tensorgen.ir.nodes import Label, Node, Product

AXES = 5
"""The most labels of a product of which all orders are tried."""


class Alias(NamedTuple):
    """A value as `factor * name[...]`, whose axis k is the value's axis `axes[k]`."""

    name: str
    factor: Fraction
    axes: tuple[int, ...]


class Aliases:
    """What named values say of others."""

    def __init__(self, names: Mapping[Node, str], among: Iterable[Node]) -> None:
        """Look at the names of nodes `among` which a text is about."""
        self.names = names
        self.bases: dict[Node, Alias] = {}
        self.products: dict[tuple[int, ...], list[Product]] = {}
        self.known: dict[Node, Alias | None] = {}
        for node in among:
            if node not in names or not isinstance(node, Product):
                continue
            if (moved := turned(node)) is not None:
                base, labels = moved
                axes = tuple(map(labels.index, range(node.order)))
                self.bases.setdefault(base, Alias(names[node], Fraction(1), axes))
            elif node.factors and node.coefficient:
                self.products.setdefault(_factors(node), []).append(node)

    def find(self, node: Node) -> Alias | None:
        """Return what a node is by another's name."""
        if node in self.bases:
            return self.bases[node]
        if node not in self.known:
            self.known[node] = self._found(node) if isinstance(node, Product) else None
        return self.known[node]

    def _found(self, node: Product) -> Alias | None:
        for named in self.products.get(_factors(node), ()):
            axes = _matched(named, node)
            if axes is not None:
                ratio = node.coefficient / named.coefficient
                return Alias(self.names[named], ratio, axes)
        return None


def turned(node: Node) -> tuple[Node, tuple[Label, ...]] | None:
    """Return a node and its labels where another is that with its axes in an order."""
    if not isinstance(node, Product) or len(node.factors) != 1:
        return None
    if node.coefficient != 1 or node.constraints or node.inner:
        return None
    base, labels = node.factors[0]
    return (base, labels) if sorted(labels) == list(range(node.order)) else None


def _factors(node: Product) -> tuple[int, ...]:
    return tuple(sorted(factor.serial for factor, _ in node.factors))


def _matched(named: Product, node: Product) -> tuple[int, ...] | None:
    """Return which axes of `node` those of `named` are, up to the coefficient."""
    labels = range(len(node.sizes))
    if len(named.sizes) != len(labels) or len(labels) > AXES:
        return None
    if named.order != node.order:
        return None
    wanted = _body(node, labels)
    for outer in permutations(range(node.order)):
        for inner in permutations(range(node.order, len(labels))):
            place = (*outer, *inner)
            sizes = all(named.sizes[k] == node.sizes[p] for k, p in enumerate(place))
            if sizes and _body(named, place) == wanted:
                return outer
    return None


def _body(node: Product, place: Iterable[Label]) -> tuple[object, ...]:
    """The factors and constraints of a product in labels of other names."""
    name = dict(enumerate(place)).__getitem__
    factors = sorted((f.serial, *map(name, labels)) for f, labels in node.factors)
    return factors, frozenset(normal(c.renamed(name)) for c in node.constraints)
