"""Nest bounds: a sum under two bounds is one under the tighter of them.

    sum_i v[i] * [j <= i] * [k <= i]
        = where(k <= j, sum_i v[i] * [j <= i], sum_i v[i] * [k <= i])

which are running sums, read at the larger of j and k. So are Hessians over running
sums: a random walk's, an arm's, that of a cumulative hazard.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Constraint, Node, Product, Ref, indicator
from tensorgen.ir.rebuild import rebuild
from tensorgen.operators.scalar import apply, holds
from tensorgen.passes.context import Context


def nest_bounds(context: Context, roots: Sequence[Node]) -> list[Node]:
    """Return `roots` in which no sum over a label has two bounds by axes of its result.

    Must not fire where what is summed has these axes: then both sums are as large as
    the one was. Ends: each sum has a bound less.
    """
    graph = context.graph

    def nested(node: Node) -> Node:
        found = _nested(graph, node) if isinstance(node, Product) else None
        return node if found is None else found

    return rebuild(graph, roots, nested)


class _Bound(NamedTuple):
    """A bound of a summed label by an axis: `sign * (label - axis) + const >= 0`."""

    own: Constraint
    label: int
    axis: int
    sign: int
    const: Dim


class _Summed(NamedTuple):
    """What is summed under two bounds over labels, and what else a product has."""

    labels: set[int]
    factors: list[Ref]
    constraints: list[Constraint]
    beside: list[Ref]
    held: list[Constraint]


def _nested(graph: Graph, node: Product) -> Node | None:
    """The product as two, whose sums have a bound less."""
    for one, other in combinations(_bounds(node), 2):
        if (one.label, one.sign) != (other.label, other.sign) or one.axis == other.axis:
            continue
        parts = _summed(node, one, other)
        if {one.axis, other.axis}.isdisjoint(_labels(parts)):
            # Of lower bounds the larger one is tighter, of upper ones the smaller.
            ahead = {one.axis: one.sign, other.axis: -one.sign}
            tighter = indicator(ahead, other.const - one.const)
            condition = holds(graph, tighter, {x: node.sizes[x] for x in ahead})
            sums = (_under(graph, node, parts, bound) for bound in (one, other))
            chosen = apply(graph, "where", condition, *sums)
            return graph.product(
                range(node.order),
                [chosen, *parts.beside],
                coefficient=node.coefficient,
                constraints=parts.held,
                sizes={x: d for x, d in enumerate(node.sizes) if x not in parts.labels},
            )
    return None


def _bounds(node: Product) -> Iterator[_Bound]:
    for own in node.constraints:
        if own.kind == "ge" and len(own.form.terms) == 2:
            for (label, sign), (axis, other) in (own.form.terms, own.form.terms[::-1]):
                plain = isinstance(label, int) and isinstance(axis, int)
                if plain and axis < node.order <= label and sign == -other in (1, -1):
                    yield _Bound(own, label, axis, sign, own.form.const)


def _summed(node: Product, one: _Bound, other: _Bound) -> _Summed:
    """All that is tied to the label of two bounds by labels that are summed."""
    rest = [x for x in node.constraints if x not in (one.own, other.own)]
    every = [*(x.labels for x in node.factors), *(x.form.labels for x in rest)]
    found, before = {one.label}, set[int]()
    while found != before:
        before = {*found}
        for labels in every:
            if not found.isdisjoint(labels):
                found |= {x for x in labels if x >= node.order}
    return _Summed(
        found,
        [x for x in node.factors if not found.isdisjoint(x.labels)],
        [x for x in rest if not found.isdisjoint(x.form.labels)],
        [x for x in node.factors if found.isdisjoint(x.labels)],
        [x for x in rest if found.isdisjoint(x.form.labels)],
    )


def _labels(parts: _Summed) -> set[int]:
    """The labels of what is summed."""
    of_factors = (x for factor in parts.factors for x in factor.labels)
    return {*of_factors, *(x for one in parts.constraints for x in one.form.labels)}


def _under(graph: Graph, node: Product, parts: _Summed, bound: _Bound) -> Ref:
    """What is summed under one of the bounds alone."""
    labels = {*_labels(parts), *parts.labels, bound.axis}
    out = tuple(sorted(x for x in labels if x < node.order))
    found = graph.product(
        out,
        parts.factors,
        constraints=[bound.own, *parts.constraints],
        sizes={x: node.sizes[x] for x in labels},
    )
    return Ref(found, out)
