"""Tangents of recurrences: what varies is carried along the steps, as they go.

One step takes the tangents of its states to those of the next, by forward mode over
what a step does. What does not wait for a state is a row of its own: what is left is
the same linear map for all tangents of a recurrence.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tensorgen.calculus.recurrence_derivatives import After, Forward, guarded
from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Call, Input, Node, is_zero
from tensorgen.ir.rebuild import substituted, without_words
from tensorgen.operators.recurrences.all_steps import AllSteps, can_be_at_once
from tensorgen.operators.recurrences.recurrence import (
    Recurrence,
    State,
    call_state,
    name_of,
    opened,
    recurrence,
    result_of,
)


class Tangents:
    """The tangents of all results of a recurrence.

    `tangents` are those of its arguments, of dims `argument.dims + extra`.
    """

    def __init__(
        self,
        graph: Graph,
        whole: Recurrence,
        tangents: Mapping[Node, Node],
        extra: Sequence[Dim],
        forward: Forward,
    ) -> None:
        """Find the states that vary, and the recurrence of their tangents."""
        self.graph = graph
        self.extra = tuple(extra)
        self.forward = forward
        self.open = guarded(graph, opened(graph, whole), whole, tangents)
        self.items = self.open.given(graph)
        self.after = After(graph, self.open, self.items)
        self.known = self.open.constants
        self.dots: dict[Node, Node] = {}
        for own, value in zip(self.open.items, whole.rows, strict=True):
            if value in tangents:
                self.items[self._dot(own)] = tangents[value]
        for own, value in zip(self.open.fixed, whole.constants, strict=True):
            if value in tangents:
                self.known[self._dot(own)] = tangents[value]
        starts = dict(enumerate(whole.starts))
        varying = self._varying([k for k in starts if starts[k] in tangents])
        new = self._carried(self.open.new)
        self.numbers = {k: number for number, k in enumerate(varying)}
        if whole.steps.runs is None and whole.steps.checkpoint is None:
            new = self._sourced(new, varying)
        new = substituted(graph, [new[k] for k in varying], self.known)
        states = [
            State(at, tangents.get(starts[k], self._zero(starts[k].dims)), new)
            for (k, at), new in zip(varying.items(), new, strict=True)
        ]
        made = substituted(graph, self._carried(self.open.made), self.known)
        known: set[Node] = {*self.items, *varying.values()}
        runs = whole.steps.runs
        alone = [x for x in made if runs or not can_be_at_once(x, known)]
        count, backwards = whole.steps.count, whole.steps.backwards
        self.whole = recurrence(
            graph, count, backwards, states, self.items, alone, runs=runs
        )
        for k, number in self.numbers.items():
            name = name_of(graph, whole, k)
            if name is not None:
                call_state(graph, whole, k, name)
                call_state(graph, self.whole, number, f"{name}_dot")
        rows: dict[Node, Node] = dict(self.items.items())
        for number, at in enumerate(varying.values()):
            rows[at] = self.whole.before(graph, number)
        at_once = AllSteps(graph, count, rows)
        self.made = [
            self.whole.made(graph, alone.index(x)) if x in alone else at_once.of(x)
            for x in made
        ]

    def of(self, call: Call) -> Node:
        """The tangent of a result, of dims `call.dims + extra`."""
        result, whole = result_of(call)
        if result >= len(self.open.states):
            return self.made[result - len(self.open.states)]
        if result not in self.numbers:
            return self._zero(call.dims)
        found = self.whole.history if whole else self.whole.last
        return found(self.graph, self.numbers[result])

    def _dot(self, of: Input) -> Input:
        self.dots[of] = at = self.graph.fresh((*of.dims, *self.extra), (), None)
        return at

    def _zero(self, dims: Sequence[Dim]) -> Node:
        return self.graph.zeros((*dims, *self.extra))

    def _varying(self, first: Sequence[int]) -> dict[int, Input]:
        """The tangents of states that vary, where `first` do, by the states."""
        varying = {k: self._dot(self.open.states[k]) for k in first}
        while True:
            with without_words(self.graph):  # part of what varies is no tangent yet
                new = self._carried(self.open.new)
            more = [k for k, x in enumerate(new) if k not in varying and not is_zero(x)]
            if not more:
                return varying
            varying |= {k: self._dot(self.open.states[k]) for k in more}

    def _sourced(self, new: Sequence[Node], varying: Mapping[int, Node]) -> list[Node]:
        """The tangents of states, where what does not wait for one is a row of its own.

        What is left is the same for all tangents of a recurrence, and all adjoints.
        """
        graph, moving = self.graph, [self.open.states[k] for k in varying]
        apart = (
            {x: dot for x, dot in self.dots.items() if (x in moving) == own}
            for own in (True, False)
        )
        with without_words(graph):  # these are no derivatives, but parts of them
            linear, sources = (self._carried(self.open.new, dots) for dots in apart)
        rows = AllSteps(graph, self.open.whole.steps.count, self.items)
        found = list(new)
        for k in varying:
            source = sources[k]
            if is_zero(source) or is_zero(linear[k]) or source in self.items:
                continue
            (source,) = substituted(graph, [source], self.known)
            if can_be_at_once(source, [*self.items]):
                at = graph.fresh(source.dims, (), None)
                self.items[at] = row = rows.of(source)
                if name := name_of(graph, self.open.whole, k):
                    graph.derived.setdefault(row, f"{name}_dot_source")
                found[k] = graph.add(linear[k], at)
        return found

    def _carried(
        self, roots: Sequence[Node], dots: Mapping[Node, Node] | None = None
    ) -> list[Node]:
        given = self.dots if dots is None else dots
        if not given:
            return [self._zero(root.dims) for root in roots]
        return self.after.read_by(self.forward(self.graph, roots, given, self.extra))
