"""Share: a value that is there is not computed again, its factors in other groups.

    s = (a * b) @ c, t = a * (b @ c)                  ->   t = s
    F = x @ B, f = sum_k x[i, k] * B[k, 0]            ->   f = F[:, 0]

Each product is ordered for itself, and derivatives open what they differentiate. So one
value would be computed in several ways, where value and gradient have it already.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations
from typing import NamedTuple

from tensorgen.ir.nodes import Constraint, Label, Node, Product, topological
from tensorgen.ir.patterns import Pattern, product_pattern
from tensorgen.ir.rebuild import renew
from tensorgen.passes.context import Context
from tensorgen.passes.flat import alike, flat, flat_number, flat_pattern
from tensorgen.prices.thresholds import ELIDED

Way = tuple[Pattern, tuple[Constraint, ...]]


class Same(NamedTuple):
    """An array that has the entries of another: at labels, some fixed by deltas."""

    node: Node
    labels: tuple[Label, ...]
    ties: tuple[Constraint, ...]
    times: Fraction


def share_values(context: Context, roots: Sequence[Node]) -> Sequence[Node]:
    """Return `roots` with one node for all of equal values, or multiples of them.

    It is the one that was made first, so that it contains none of the others.

    Ends: nodes only go, but for multiples and entries of others.
    """
    graph = context.graph
    found = _found(context, topological(roots))
    if not found:
        return roots
    new = dict[Node, Node]()

    def visit(old: Node, node: Node) -> Node:
        if old not in found:
            return node
        other, labels, ties, times = found[old]
        factors = [(new[other], labels)]
        sizes = {
            **dict(enumerate(old.dims)),
            **dict(zip(labels, other.dims, strict=True)),
        }
        axes = range(old.order)
        return graph.product(
            axes, factors, coefficient=times, constraints=ties, sizes=sizes
        )

    first = sorted({same.node for same in found.values()}, key=_age)
    return renew(graph, [*first, *roots], visit, new)[len(first) :]


def _age(node: Node) -> int:
    return node.serial


def _found(context: Context, nodes: Sequence[Node]) -> dict[Node, Same]:
    """What was made before others, and has their values."""
    graph = context.graph
    groups = alike([node for node in nodes if not _is_large_outer(context, node)])
    entries = {n for n in groups if any(n - k in groups for k in _COUNTS)}
    wholes = {n - k for n in entries for k in _COUNTS}
    candidates = [
        node
        for number, group in groups.items()
        if len(group) > 1 or number in entries or number in wholes
        for node in group
    ]
    found: dict[Node, Same] = {}
    seen: dict[object, Node] = {}
    for node in sorted(candidates, key=_age):
        pattern, times = flat_pattern(graph, node)
        if not isinstance(pattern, Pattern) or _is_number(node):
            continue
        ways: list[Way] = [(pattern, ())]
        if flat_number(node) in entries:
            ways += _lifted(flat(graph, node))
        for way, ties in ways:
            other = seen.get(way.key)
            if other is not None and node not in graph.names:
                whole, divisor = flat_pattern(graph, other)
                assert isinstance(whole, Pattern)
                labels = way.axes_of(whole, other.order)
                found[node] = Same(other, labels, ties, times / divisor)
                break
        else:
            seen.setdefault(pattern.key, node)
    return found


def _is_large_outer(context: Context, node: Node) -> bool:
    """Whether an array is large, and larger than all that it is multiplied of.

    It takes longer to hold than to make again where it is added.
    """
    return (
        isinstance(node, Product)
        and not node.inner
        and all(len({*labels}) < node.order for _, labels in node.factors)
        and context.cost.size(node.dims) > ELIDED
    )


def _is_number(node: Node) -> bool:
    """Whether a node is one number, or that where deltas are: it costs nothing."""
    return isinstance(node, Product) and not node.factors


_COUNTS = (1, 2, 3)
"""How many indices may be fixed in what is read of a whole array."""


def _lifted(node: Node) -> Iterator[Way]:
    """Yield arrays of which a product has entries where deltas fix summed indices."""
    if not isinstance(node, Product):
        return
    fixed = {
        c: label for c in node.constraints if (label := _fixed(c, node)) is not None
    }
    factors, sizes = node.factors, dict(enumerate(node.sizes))
    for count in reversed(_COUNTS):
        for ties in combinations(fixed, count):
            labels = [fixed[tie] for tie in ties]
            kept = [*range(node.order), *labels]
            rest = [c for c in node.constraints if c not in ties]
            if len({*labels}) == count:
                yield product_pattern(factors, kept, rest, sizes), ties


def _fixed(tie: Constraint, node: Product) -> Label | None:
    """The summed label to which a delta gives one value."""
    match tie:
        case Constraint("eq", form) if len(form.terms) == 1:
            label = form.terms[0][0]
            return label if isinstance(label, int) and label >= node.order else None
    return None
