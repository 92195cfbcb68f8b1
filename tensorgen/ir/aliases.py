"""Values that a name stands for up to a factor or the order of their axes.

After `t = -y * z`, the product `y * z` is `-t`; after `g[i, k] = h[k, i] + ...`, what
is stored with its axes turned is `g` too. Texts say so: a reader knows `t` and `g`.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from fractions import Fraction
from typing import NamedTuple

from tensorgen.ir.nodes import Label, Node, Product
from tensorgen.ir.patterns import pattern_of


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
        self.products: dict[Hashable, Product] = {}
        self.known: dict[Node, Alias | None] = {}
        for node in among:
            if node not in names or not isinstance(node, Product):
                continue
            if (moved := turned(node)) is not None:
                base, labels = moved
                axes = tuple(map(labels.index, range(node.order)))
                self.bases.setdefault(base, Alias(names[node], Fraction(1), axes))
            elif node.factors and node.coefficient:
                self.products.setdefault(pattern_of(node).key, node)

    def find(self, node: Node) -> Alias | None:
        """Return what a node is by another's name."""
        if node in self.bases:
            return self.bases[node]
        if node not in self.known:
            self.known[node] = self._found(node) if isinstance(node, Product) else None
        return self.known[node]

    def _found(self, node: Product) -> Alias | None:
        pattern = pattern_of(node)
        named = self.products.get(pattern.key)
        if named is None:
            return None
        ratio = node.coefficient / named.coefficient
        axes = pattern.axes_of(pattern_of(named), node.order)
        return Alias(self.names[named], ratio, axes)


def turned(node: Node) -> tuple[Node, tuple[Label, ...]] | None:
    """Return a node and its labels where another is that with its axes in an order."""
    if not isinstance(node, Product) or len(node.factors) != 1:
        return None
    if node.coefficient != 1 or node.constraints or node.inner:
        return None
    base, labels = node.factors[0]
    return (base, labels) if sorted(labels) == list(range(node.order)) else None
