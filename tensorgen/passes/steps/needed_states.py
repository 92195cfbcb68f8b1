"""What a result of a recurrence needs of it: not all states, if others suffice.

Steps may have recurrences of their own, which ask of the states before a step what
their own results need.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Input, Node, topological
from tensorgen.ir.rebuild import carry_names, substituted
from tensorgen.operators.recurrences.recurrence import (
    Opened,
    Recurrence,
    State,
    call_state,
    is_recurrence,
    name_of,
    opened,
    recurrence,
    result_of,
)

Result = tuple[int, bool]
"""Which state, or what is made, and whether at all steps."""


@dataclass(frozen=True)
class Needed:
    """The states that results depend on, what is made, and the nodes of both."""

    own: Opened
    states: list[int]
    made: list[int]
    roots: list[Node]

    def result(self, graph: Graph, less: Recurrence, result: int, every: bool) -> Node:
        """A result, of a recurrence that has no more than is needed."""
        states = len(self.own.states)
        if result >= states:
            return less.made(graph, self.made.index(result - states))
        take = less.history if every else less.last
        return take(graph, self.states.index(result))


def needed_by(graph: Graph, own: Opened, asked: Sequence[Result]) -> Needed:
    """Find out what the results need that are asked for."""
    states = len(own.states)
    alive = {k for k, _ in asked if k < states}
    made = sorted({k - states for k, _ in asked if k >= states})
    while True:
        now = sorted(alive)
        roots = [*(own.new[k] for k in now), *(own.made[k] for k in made)]
        roots = _once(graph, roots)
        below = set(topological(roots))
        alive |= {k for k, at in enumerate(own.states) if at in below}
        if len(alive) == len(now):
            return Needed(own, now, made, roots)


def lessened(graph: Graph, roots: Sequence[Node]) -> list[Node]:
    """Return nodes whose recurrences have no states or items but those they need.

    Ends: each time round there is less, for what is not needed asks for nothing.
    """
    old, new = None, list(roots)
    while new != old:
        old, new = new, _once(graph, new)
    return new


def _once(graph: Graph, roots: list[Node]) -> list[Node]:
    """The same, each recurrence by itself."""
    asked: dict[Recurrence, dict[Node, Result]] = {}
    for node in topological(roots):
        if is_recurrence(node):
            asked.setdefault(Recurrence.of(node), {})[node] = result_of(node)
    known: dict[Node, Node] = {}
    for whole, calls in asked.items():
        own, steps = opened(graph, whole), whole.steps
        needed = needed_by(graph, own, [*calls.values()])
        below = {*own.fixed, *topological(needed.roots)}
        if below.issuperset((*own.states, *own.items)):
            continue
        new = substituted(graph, needed.roots, own.constants)
        pairs = zip(needed.states, new, strict=False)
        kept = [State(own.states[k], whole.starts[k], x) for k, x in pairs]
        rows: dict[Input, Node] = dict(zip(own.items, whole.rows, strict=True))
        made = new[len(kept) :]
        given = graph, steps.count, steps.backwards, kept, rows, made
        less = recurrence(*given, steps.checkpoint, steps.runs)
        for number, k in enumerate(needed.states):
            word = name_of(graph, whole, k)
            if word is not None:
                call_state(graph, less, number, word)
        for call, (result, every) in calls.items():
            known[call] = needed.result(graph, less, result, every)
            carry_names(graph, call, known[call])
    return substituted(graph, roots, known) if known else roots
