"""Ranges: a sum over a part of an axis is one of functions of that part.

`sum((cos(x) * y)[1:])` is the sum of `cos(x) * y * [0 < i]`, a product with an
indicator. As `sum(cos(x[1:]) * y[1:])` nothing is computed that the range leaves out,
and nothing has to be kept from derivatives there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from tensorgen.ir.constraints import Ranges
from tensorgen.ir.dims import ZERO, Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import (
    Constraint,
    Label,
    Lookup,
    Map,
    Node,
    Product,
    Ref,
    Sum,
    affine,
    delta,
)
from tensorgen.ir.rebuild import rebuild


def narrowed(graph: Graph, root: Node, facts: Sequence[Dim]) -> Node:
    """Return a node in which sums of functions keep to ranges of their labels.

    `facts` are nonnegative. Ends: each sum has an indicator of one label less.
    """
    known = Ranges({}, facts)

    def visit(node: Node) -> Node:
        if isinstance(node, Product):
            for label in range(node.order, len(node.sizes)):
                part = _range(node, label, known)
                if part is not None and _is_of_functions(node, label):
                    return visit(_Part(graph, *part).of_product(node, label))
        return node

    (found,) = rebuild(graph, [root], visit)
    return found


def _range(node: Product, label: Label, known: Ranges) -> tuple[Dim, Dim] | None:
    """The first place of a label and how many there are, where indicators say so."""
    low, high = ZERO, node.sizes[label]
    for kind, form in node.constraints:
        if kind != "ge" or [atom for atom, _ in form.terms] != [label]:
            continue
        ((_, sign),) = form.terms
        if sign == 1 and known.holds(-form.const - low):
            low = -form.const
        elif sign == -1 and known.holds(high - form.const - 1):
            high = form.const + 1
        else:
            return None
    whole = (low, high) == (ZERO, node.sizes[label])
    return None if whole or not known.holds(high - low) else (low, high - low)


def _is_of_functions(node: Product, label: Label) -> bool:
    """Whether a label is an axis of functions."""
    if not _is_plain(node, label):
        return False
    inside = (ref.node for ref in node.factors if label in ref.labels)
    return any(isinstance(x, Map | Sum | Product) for x in inside)


def _is_plain(node: Product, label: Label) -> bool:
    """Whether a label stands once in each factor, and at no index array."""
    atoms = [atom for c in node.constraints for atom, _ in c.form.terms]
    looked_up = (x.labels for x in atoms if isinstance(x, Lookup))
    factors = (ref.labels for ref in node.factors)
    return all(label not in x for x in looked_up) and all(
        labels.count(label) < 2 for labels in factors
    )


@dataclass(frozen=True)
class _Part:
    """So many places of an axis from the first one on, of whatever has that axis."""

    graph: Graph
    low: Dim
    size: Dim
    known: dict[tuple[Node, int], Node] = field(default_factory=dict)

    def of(self, node: Node, axis: int) -> Node:
        """The places of an axis of a node, of what functions are applied to."""
        if (node, axis) not in self.known:
            self.known[node, axis] = self._made(node, axis)
        return self.known[node, axis]

    def _made(self, node: Node, axis: int) -> Node:
        graph, out = self.graph, range(node.order)
        sizes = {**dict(enumerate(node.dims)), axis: self.size}
        if isinstance(node, Map):
            return graph.map(node.function, out, self._refs(node.args, axis), sizes)
        if isinstance(node, Sum):
            parts = self._refs([term.ref for term in node.terms], axis)
            pairs = zip(node.terms, parts, strict=True)
            return graph.sum(out, [(t.coefficient, *part) for t, part in pairs], sizes)
        if isinstance(node, Product) and _is_plain(node, axis):
            return self.of_product(node, axis)
        whole = [node.order if k == axis else k for k in out]
        place = delta({node.order: 1, axis: -1}, -self.low)
        sizes = {**sizes, node.order: node.dims[axis]}
        return graph.product(out, [(node, whole)], constraints=[place], sizes=sizes)

    def of_product(self, node: Product, label: Label) -> Node:
        """A product over the places of a label alone, which is an axis or summed."""
        place = affine([(label, 1)], self.low)
        constraints = [
            Constraint(kind, form.substituted(label, place))
            for kind, form in node.constraints
        ]
        return self.graph.product(
            range(node.order),
            self._refs(node.factors, label),
            coefficient=node.coefficient,
            constraints=constraints,
            sizes={**dict(enumerate(node.sizes)), label: self.size},
        )

    def _refs(self, refs: Iterable[Ref], label: Label) -> list[Ref]:
        """The places of a label in operands that have it."""
        return [
            (
                Ref(self.of(node, labels.index(label)), labels)
                if label in labels
                else Ref(node, labels)
            )
            for node, labels in refs
        ]
