"""Reverse mode: cotangents from outputs to inputs (Theorems 8, 9 and 10)."""

from __future__ import annotations

from collections.abc import Container, Hashable, Iterator, Mapping, Sequence
from functools import partial

from tensorgen.calculus.defined_rules import cotangents as of_defined
from tensorgen.calculus.external_rules import cotangents as of_external
from tensorgen.calculus.forward import pushforward
from tensorgen.calculus.implicit_derivatives import cotangents as of_arguments
from tensorgen.calculus.partials import levels_off, partials, sizes_of, transfers
from tensorgen.calculus.recurrence_derivatives import Cotangents
from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Call, Node, children, is_zero, topological
from tensorgen.operators.called_values import call_derivative
from tensorgen.operators.defined_calls import is_defined
from tensorgen.operators.external_calls import is_external
from tensorgen.operators.recurrences.recurrence import Recurrence, is_recurrence
from tensorgen.operators.solved_arrays import is_unknown
from tensorgen.operators.table import Transfer
from tensorgen.operators.word_shapes import ADJOINT


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
    relevant, level = _depending(order, inputs), levels_off(order)
    finished: dict[Node, Node] = {}
    results = _results(order)
    for node in reversed(order):
        if node not in pending or node not in relevant:
            continue
        out = (*rows, *range(node.order))
        sizes: dict[Hashable, Dim] = dict(zip(rows, extra, strict=True))
        sizes.update(enumerate(node.dims))
        cotangent = graph.sum(out, pending.pop(node), sizes)
        finished[node] = cotangent
        if not (extra or is_recurrence(node)):
            call_derivative(graph, ADJOINT, node, cotangent)
        if is_recurrence(node):
            together = results[node]
            if node is not together[0]:
                pending.setdefault(together[0], [])
                continue
            # The last one to be met: all that uses any of them has been.
            bars = {x: finished[x] for x in together if x in finished}
            for arg, bar in _recurrence(graph, bars, relevant, extra).items():
                axes = (*rows, *range(arg.order))
                pending.setdefault(arg, []).append((1, bar, axes))
        if is_zero(cotangent):
            continue
        for arg, carried in _carried(graph, node, cotangent, relevant, extra):
            axes = (*rows, *range(arg.order))
            pending.setdefault(arg, []).append((1, carried, axes))
        for p in partials(graph, node, relevant, level):
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


def _results(order: Sequence[Node]) -> dict[Node, list[Call]]:
    """The results of a recurrence that are met, for each of them, operands first."""
    together: dict[Recurrence, list[Call]] = {}
    found: dict[Node, list[Call]] = {}
    for node in order:
        if is_recurrence(node):
            found[node] = together.setdefault(Recurrence.of(node), [])
            found[node].append(node)
    return found


def _recurrence(
    graph: Graph,
    bars: Mapping[Call, Node],
    relevant: Container[Node],
    extra: Sequence[Dim],
) -> dict[Node, Node]:
    """The cotangents of the arguments of a recurrence for those of its results."""
    given = {call: bar for call, bar in bars.items() if not is_zero(bar)}
    if not given:
        return {}
    whole = Recurrence.of(next(iter(given)))
    return Cotangents(graph, whole, given, relevant, extra, pullback).found


def _carried(
    graph: Graph,
    node: Node,
    cotangent: Node,
    relevant: Container[Node],
    extra: Sequence[Dim],
) -> Iterator[tuple[Node, Node]]:
    """Yield the cotangents of arguments of a call that carries them by no product."""
    if is_unknown(node):
        yield from of_arguments(
            graph, node, cotangent, relevant, extra, pushforward, pullback
        ).items()
    if is_defined(node):
        yield from of_defined(graph, node, cotangent, relevant, extra, pullback)
    if is_external(node):
        yield from of_external(
            graph, node, cotangent, relevant, extra, pushforward, pullback
        )
    for call, arg, rule in transfers(node):
        if arg in relevant:
            reverse = rule.reverse or partial(_transposed, arg, rule)
            yield arg, reverse(graph, call, cotangent, extra)


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
