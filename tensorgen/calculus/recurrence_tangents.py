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
from tensorgen.ir.nodes import (
    Call,
    Input,
    Node,
    Product,
    children,
    is_zero,
    topological,
)
from tensorgen.ir.rebuild import substituted, without_words
from tensorgen.operators.recurrences.all_steps import (
    AllSteps,
    can_be_at_once,
    long_axes,
)
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

        What is left is the same for all tangents of a recurrence, and all adjoints. It
        stays where steps compute larger arrays than they are given: a loop that makes
        these for others as well takes less than two, and than rows of them.
        """
        graph, moving = self.graph, [self.open.states[k] for k in varying]
        apart = (
            {x: dot for x, dot in self.dots.items() if (x in moving) == own}
            for own in (True, False)
        )
        with without_words(graph):  # these are no derivatives, but parts of them
            linear, sources = (self._carried(self.open.new, dots) for dots in apart)
        if self._is_heavy([*linear, *sources]):
            return list(new)
        rows = AllSteps(graph, self.open.whole.steps.count, self.items)
        found = list(new)
        for k in varying:
            source = sources[k]
            if is_zero(source) or is_zero(linear[k]) or source in self.items:
                continue
            (source,) = substituted(graph, [source], self.known)
            is_large = len(long_axes(source)) > self._most
            if can_be_at_once(source, [*self.items]) and not is_large:
                at = graph.fresh(source.dims, (), None)
                self.items[at] = row = rows.of(source)
                if name := name_of(graph, self.open.whole, k):
                    graph.derived.setdefault(row, f"{name}_dot_source")
                found[k] = graph.add(linear[k], at)
        return found

    @property
    def _most(self) -> int:
        """How many long axes rows have that steps are given, or the least of states."""
        items, states = self.open.items, self.open.states
        given = max((len(long_axes(x)) for x in items), default=0)
        return max(given, min((len(long_axes(x)) for x in states), default=0))

    def _is_heavy(self, roots: Sequence[Node]) -> bool:
        """Whether steps compute arrays of more long axes than that."""
        varying: set[Node] = {*self.items, *self.open.states, *self.dots.values()}
        for node in topological(roots):
            if any(x in varying for x in children(node)):
                varying.add(node)
                is_computed = not isinstance(node, Product)
                if is_computed and len(long_axes(node)) > self._most:
                    return True
        return False

    def _carried(
        self, roots: Sequence[Node], dots: Mapping[Node, Node] | None = None
    ) -> list[Node]:
        given = self.dots if dots is None else dots
        if not given:
            return [self._zero(root.dims) for root in roots]
        return self.after.read_by(self.forward(self.graph, roots, given, self.extra))
