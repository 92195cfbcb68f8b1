"""Reverse mode: cotangents from outputs to inputs (Theorems 8, 9 and 10)."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from functools import partial

from tensorgen.calculus.partials import partials, sizes_of, transfers
from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Call, Node, children, is_zero, topological
from tensorgen.operators.table import Transfer


def pullback(
    graph: Graph,
    cotangents: Mapping[Node, Node],
    inputs: Sequence[Node],
    extra: Sequence[Dim],
) -> list[Node]:
    """Return the cotangents of `inputs`, of dims `extra + input.dims`.

    `cotangents` gives those of the outputs, of dims `extra + output.dims`: the
    constant 1 for a gradient, a unit tensor for a Jacobian, `ct` for a product.
    """
    rows = tuple(("row", k) for k in range(len(extra)))
    pending: dict[Node, list[tuple[int, Node, Sequence[Hashable]]]] = {}
    order = topological(cotangents)
    for output, seed in cotangents.items():
        pending.setdefault(output, []).append((1, seed, (*rows, *range(output.order))))
    relevant = _depending(order, inputs)
    finished: dict[Node, Node] = {}
    for node in reversed(order):
        if node not in pending or node not in relevant:
            continue
        out = (*rows, *range(node.order))
        sizes: dict[Hashable, Dim] = dict(zip(rows, extra, strict=True))
        sizes.update(enumerate(node.dims))
        cotangent = graph.sum(out, pending.pop(node), sizes)
        finished[node] = cotangent
        if node in graph.names and not extra:
            graph.suggest(cotangent, f"d_{graph.names[node]}")
        if is_zero(cotangent):
            continue
        for call, arg, rule in transfers(node):
            if arg in relevant:
                reverse = rule.reverse or partial(_transposed, arg, rule)
                carried = reverse(graph, call, cotangent, extra)
                axes = (*rows, *range(arg.order))
                pending.setdefault(arg, []).append((1, carried, axes))
        for p in partials(graph, node):
            if p.operand not in relevant:
                continue
            term = graph.product(
                (*rows, *p.labels),
                [(cotangent, out), *p.factors],
                coefficient=p.coefficient,
                constraints=p.constraints,
                sizes={**sizes, **sizes_of(node)},
            )
            axes = (*rows, *range(p.operand.order))
            pending.setdefault(p.operand, []).append((1, term, axes))
    return [finished.get(x, graph.zeros((*extra, *x.dims))) for x in inputs]


def _transposed(
    arg: Node,
    rule: Transfer,
    graph: Graph,
    call: Call,
    cotangent: Node,
    extra: Sequence[Dim],
) -> Node:
    """Return what the transpose of a linear `forward` makes of a cotangent.

    It is linear in its tangent, so its derivative by that does not hold the tangent.
    """
    tangent = graph.input("the tangent", arg.dims)
    carried = rule.forward(graph, call, tangent, ())
    return pullback(graph, {carried: cotangent}, [tangent], extra)[0]


def _depending(order: Sequence[Node], inputs: Sequence[Node]) -> set[Node]:
    """The nodes of `order` (operands first) that depend on `inputs`."""
    found = set(inputs)
    for node in order:
        if any(child in found for child in children(node)):
            found.add(node)
    return found
