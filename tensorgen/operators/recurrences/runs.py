"""Recurrences in runs of steps: few states are kept, all others made once more.

A recurrence that has a checkpoint is one over runs, whose step is the recurrence over
the steps of a run (Griewank 1992, with two levels). Its derivatives are what they are
of any: the adjoint over runs reads the states that runs start from, and makes those
within a run anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tensorgen.ir.constraints import index_bound
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Call, Input, Node, delta, topological
from tensorgen.ir.rebuild import carry_names, with_operands
from tensorgen.operators.recurrences.recurrence import (
    Recurrence,
    Runs,
    State,
    as_call,
    call_state,
    is_recurrence,
    name_of,
    opened,
    recurrence,
    result_of,
)


def in_runs(graph: Graph, roots: Sequence[Node]) -> list[Node]:
    """Return `roots` with recurrences over runs for all that have a checkpoint."""
    asked: dict[Recurrence, dict[int, None]] = {}
    for node in topological(roots):
        if is_recurrence(node) and Recurrence.of(node).steps.checkpoint is not None:
            result, every = result_of(node)
            asked.setdefault(Recurrence.of(node), {})
            if every:
                asked[Recurrence.of(node)][result] = None
    if not asked:
        return list(roots)
    new: dict[Node, Node] = {}
    for node in topological(roots):
        new[node] = moved = with_operands(graph, node, new)
        if is_recurrence(node) and Recurrence.of(node) in asked:
            new[node] = _cut(graph, as_call(moved), [*asked[Recurrence.of(node)]])
        carry_names(graph, node, new[node])
    return [new[root] for root in roots]


def _cut(graph: Graph, call: Call, asked: Sequence[int]) -> Node:
    """A result of a recurrence over runs, of which some are `asked` at all steps."""
    whole, (result, every) = Recurrence.of(call), result_of(call)
    runs = whole.steps.checkpoint
    assert runs is not None
    outer = _over(graph, whole, runs, asked)
    if not every:
        return outer.last(graph, result)
    rows = outer.made(graph, asked.index(result))
    if result >= len(whole.starts):
        return rows
    backwards = whole.steps.backwards
    axes = range(1, rows.order)
    sizes = {"row": call.dims[0]}
    tie = delta({"row": 1, "step": -1}, 0 if backwards else -1)
    end = delta({"row": 1}, -runs.total if backwards else 0)
    out = ("row", *axes)
    parts = [
        graph.product(out, [(rows, ("step", *axes))], constraints=[tie], sizes=sizes),
        graph.product(
            out, [(whole.starts[result], axes)], constraints=[end], sizes=sizes
        ),
    ]
    return graph.sum(out, [(1, part, out) for part in parts])


def _over(
    graph: Graph, whole: Recurrence, runs: Runs, asked: Sequence[int]
) -> Recurrence:
    """The recurrence whose step is a run."""
    own = opened(graph, whole)
    items: dict[Input, Node] = {}
    for at, rows in zip(own.items, whole.rows, strict=True):
        part = graph.fresh((runs.width, *at.dims), (), index_bound(at))
        items[part] = rows
    steps = replace(whole.steps, count=runs.width, checkpoint=None)
    inner = Recurrence(steps, own.states, tuple(items), whole.constants)
    words = [name_of(graph, whole, k) for k in range(len(whole.starts))]
    for k, word in enumerate(words):
        if word is not None:
            call_state(graph, inner, k, word)
            graph.suggest(inner.last(graph, k), word)
    states = [
        State(at, start, inner.last(graph, k))
        for k, (at, start) in enumerate(zip(own.states, whole.starts, strict=True))
    ]
    made = [
        (
            inner.after(graph, k)
            if k < len(states)
            else inner.made(graph, k - len(states))
        )
        for k in asked
    ]
    count, backwards = runs.count, whole.steps.backwards
    found = recurrence(graph, count, backwards, states, items, made, runs=runs)
    for k, word in enumerate(words):
        if word is not None:
            call_state(graph, found, k, f"{word}_starts")
    return found
