"""Masks as clauses: where a node is read, in the axes of that node."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import (
    Constraint,
    Label,
    Map,
    Node,
    Product,
    Ref,
    constant_value,
    triples,
)
from tensorgen.operators.elementwise import ELEMENTWISE


class Clause(NamedTuple):
    """A mask that holds wherever a node is read.

    `axes` are the axes of the node that the mask's axes are. Inputs in `spared` are
    read where the mask fails as well, so it excludes nothing of them.
    """

    mask: Node
    axes: tuple[int, ...]
    spared: frozenset[Node] = frozenset()


Context = tuple[Clause, ...]
"""Masks that all hold."""


def of_operand(context: Context, labels: Sequence[Label]) -> Context:
    """The masks that an operand with these labels can tell apart, in its axes."""
    return tuple(
        Clause(mask, tuple(labels.index(a) for a in axes), spared)
        for mask, axes, spared in context
        if set(axes) <= set(labels)
    )


def excludes(node: Node) -> bool:
    """Whether a node leaves something out that stands below it."""
    if isinstance(node, Product):
        return any(c.kind == "ge" for c in node.constraints)
    return isinstance(node, Map) and node.function == "where"


def clauses(graph: Graph, condition: Ref) -> Iterator[Clause]:
    """The masks that all hold where a condition does."""
    node, labels = condition
    parts: list[Ref] = []
    if isinstance(node, Map) and node.function == "logical_and":
        parts = list(node.args)
    elif isinstance(node, Product) and node.coefficient == 1 and not node.inner:
        parts = [*node.factors, *map(Ref._make, ranges(graph, node).values())]
    elif constant_value(node) is None:
        yield Clause(node, labels)
    for inner, axes in parts:
        mine = Ref(inner, tuple(labels[axis] for axis in axes))
        plain = isinstance(inner, Product) and not inner.factors
        yield from [Clause(*mine)] if plain else clauses(graph, mine)


def ranges(graph: Graph, node: Product) -> dict[Constraint, tuple[Node, tuple[int, ...]]]:
    """The constraints of a product as masks, with its labels for axes."""
    found = {}
    for constraint in node.constraints:
        labels = tuple(sorted(set(constraint.form.labels)))
        sizes = {label: node.sizes[label] for label in labels}
        mask = graph.product(
            labels, [], constraints=triples([constraint]), sizes=sizes
        )
        found[constraint] = (mask, labels)
    return found


def absorbed(graph: Graph, pair: tuple[Ref, ...]) -> list[Ref] | None:
    """A condition beside what is 0 wherever it fails, or beside itself."""
    condition, other = pair
    node, labels = condition
    if not (isinstance(node, Map) and ELEMENTWISE[node.function].boolean):
        return None
    if condition == other:
        return [other]
    inner = other
    if isinstance(inner.node, Map) and inner.node.function == "pow":
        exponent = constant_value(inner.node.args[1].node)
        if exponent is None or exponent <= 0:
            return None
        inner = _used(inner.node.args[0], inner.labels)
    match inner.node:
        case Map(function="where", args=(mask, _, rest)):
            if constant_value(rest.node) == 0:
                whole = clauses(graph, _used(mask, inner.labels))
                if any(clause[:2] == (node, labels) for clause in whole):
                    return [other]
    return None


def _used(arg: Ref, labels: Sequence[Label]) -> Ref:
    """An argument of a map under the labels of the map's use."""
    return Ref(arg.node, tuple(labels[axis] for axis in arg.labels))
