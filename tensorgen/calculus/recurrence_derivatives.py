"""Derivatives of recurrences, which are recurrences again.

A tangent is carried along: one step takes the tangents of its states to those of the
next, by forward mode over what a step does. Cotangents run against the direction of the
steps: that of a state is what its own uses say and what the step that starts from it
says, by reverse mode. Both are linear in what they carry, and read the states of the
steps as rows, for these are known by then. Whatever is done with cotangents besides,
such as adding up over all steps what they say of a constant, needs no loop.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence

from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Call, Input, Node, is_zero, topological
from tensorgen.ir.rebuild import substituted
from tensorgen.ir.remarks import Remark
from tensorgen.operators.conditions.guards import guard
from tensorgen.operators.recurrences.all_steps import (
    AllSteps,
    can_be_at_once,
    can_be_summed,
)
from tensorgen.operators.recurrences.call_totals import CallTotals
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

Forward = Callable[
    [Graph, Sequence[Node], Mapping[Node, Node], Sequence[Dim]], list[Node]
]
"""The tangents of roots for those of some nodes, as `pushforward` gives them."""
Reverse = Callable[
    [Graph, Mapping[Node, Node], Sequence[Node], Sequence[Dim]], list[Node]
]
"""The cotangents of nodes for those of outputs, as `pullback` gives them."""

ADJOINT = Remark(
    "the adjoint goes back from the last step to the first", r"\bfor \w+ in reversed\("
)


class Cotangents:
    """The cotangents of the arguments of a recurrence.

    `given` are those of its results, of dims `rows + result.dims`; of arguments those
    that are `wanted` are found.
    """

    def __init__(
        self,
        graph: Graph,
        whole: Recurrence,
        given: Mapping[Call, Node],
        wanted: Container[Node],
        rows: Sequence[Dim],
        reverse: Reverse,
    ) -> None:
        """Find the states whose cotangents count, and the recurrence of these."""
        self.graph = graph
        self.whole = whole
        self.rows = tuple(rows)
        self.reverse = reverse
        self.wanted = wanted
        self.open = guarded(graph, opened(graph, whole), whole, wanted)
        self.items = self.open.given(graph)
        self.after = After(graph, self.open, self.items)
        self.bars: dict[int, Input] = {}
        self.seeds: list[tuple[Node, Node]] = []
        self.ends: dict[int, list[Node]] = {}
        self.uses: dict[int, Node] = {}
        self.known = self.open.constants
        self.steady: dict[int, Node] = {}
        for call, bar in given.items():
            self._seed(call, bar)
        for k in self.ends:
            self._bar(k)
        self.found = self._found()

    def _seed(self, call: Call, bar: Node) -> None:
        """Note what is given of a result."""
        result, every = result_of(call)
        states = len(self.open.states)
        if result >= states:
            at = self._item(self.open.made[result - states], self._front(bar))
            self.seeds.append((self.open.made[result - states], at))
            return
        ends = self.ends.setdefault(result, [])
        if not every:
            ends.append(bar)
            return
        history = self._front(bar)
        ends.append(self.whole.at_last(self.graph, history))
        before = self.whole.before_of(self.graph, history)
        if not is_zero(before):
            self.uses[result] = self._item(self.open.states[result], before)

    def _found(self) -> dict[Node, Node]:
        """Cotangents by arguments, of dims `rows + argument.dims`."""
        graph, whole, own = self.graph, self.whole, self.open
        items, fixed = (
            {
                at: value
                for at, value in zip(*pairs, strict=True)
                if value in self.wanted
            }
            for pairs in ((own.items, whole.rows), (own.fixed, whole.constants))
        )
        states, slopes = self._states([*items, *fixed])
        known: set[Node] = {*self.items, *self.bars.values()}
        runs = whole.steps.runs
        alone = [
            self._first(at, slopes[at])
            for at in items
            if runs or not can_be_at_once(slopes[at], known)
        ]
        every = dict.fromkeys(slopes[at] for at in fixed)
        called = CallTotals(graph, () if runs or self.rows else every, known)
        handed = called.handed_on()
        alone += [x for x in handed if x not in alone]
        summed: dict[Node, int] = {}
        for slope in every:
            at_end = not runs and can_be_summed(slope, known)
            if is_zero(slope) or at_end or slope in called.nodes:
                continue
            # It is added up in the steps.
            summed[slope] = len(states)
            total = graph.fresh(slope.dims, (), None)
            new = graph.add(total, slope)
            states.append(State(total, graph.zeros(slope.dims), new))
        count, back = whole.steps.count, not whole.steps.backwards
        against = recurrence(graph, count, back, states, self.items, alone, runs=runs)
        for at in fixed:
            if slopes[at] in summed and (word := graph.suggestions.get(at)):
                call_state(graph, against, summed[slopes[at]], f"d_{word}")
        result = self._of_starts(against, any(not is_zero(slopes[at]) for at in items))
        made_rows = {x: against.made(graph, alone.index(x)) for x in handed}
        at_once = self._at_once(against, made_rows)
        for at, slope in slopes.items():
            if is_zero(slope):
                continue
            if at in items:
                first = self._first(at, slope)
                made = first in alone and against.made(graph, alone.index(first))
                found = made or at_once.of(slope)
                self._add(result, items[at], self._behind(found))
            elif slope in summed:
                self._add(result, fixed[at], against.last(graph, summed[slope]))
            else:
                self._add(result, fixed[at], called.of(slope, at_once))
        self._tell(against, result)
        return result

    def _tell(self, against: Recurrence, result: Mapping[Node, Node]) -> None:
        """Say of steps that go back why they do."""
        for node in topological(result.values()) if against.steps.backwards else ():
            if is_recurrence(node) and Recurrence.of(node) == against:
                self.graph.remark(node, ADJOINT)

    def _at_once(self, against: Recurrence, made: Mapping[Node, Node]) -> AllSteps:
        """All steps at once, of cotangents of states and what is `made` beside them."""
        graph = self.graph
        rows: dict[Node, Node] = dict(self.items.items())
        rows.update(made)
        for number, at in enumerate(self.moving.values()):
            rows[at] = against.before(graph, number)
        for node, own in made.items():
            graph.suggest(own, graph.suggestions.get(node, "handed"))
        return AllSteps(graph, self.whole.steps.count, rows)

    def _states(self, places: Sequence[Input]) -> tuple[list[State], dict[Input, Node]]:
        """The cotangents of states, as states that run against the steps.

        And what a step says of the cotangents of other `places`, all at once: what
        steps inside of it is against them once then.
        """
        graph, own = self.graph, self.open
        while True:
            every = self._carried([*own.states, *places])
            carried = every[: len(own.states)]
            numbers = range(len(own.states))
            some = [k for k in numbers if k in self.uses or not is_zero(carried[k])]
            more = [k for k in some if k not in self.bars]
            if not more:
                break
            for k in more:
                self._bar(k)
        for k, at in [*self.bars.items()]:
            if carried[k] is at and k not in self.uses:  # the same at all steps
                self.steady[k] = self.known[at] = self._end(k)
        states = []
        for k, at in self.moving.items():
            parts = [carried[k], *([self.uses[k]] if k in self.uses else [])]
            (new,) = substituted(graph, [graph.add(*parts)], self.known)
            states.append(State(at, self._end(k), new))
        slopes = substituted(graph, every[len(own.states) :], self.known)
        return states, dict(zip(places, slopes, strict=True))

    @property
    def moving(self) -> dict[int, Input]:
        """The states whose cotangents change from step to step."""
        return {k: at for k, at in self.bars.items() if k not in self.steady}

    def _end(self, k: int) -> Node:
        """The cotangent of the last value of a state."""
        dims = (*self.rows, *self.open.states[k].dims)
        return self.graph.add(*(self.ends.get(k) or [self.graph.zeros(dims)]))

    def _of_starts(self, against: Recurrence, stored: bool) -> dict[Node, Node]:
        """The cotangents of what states start as; names for those of all states.

        Where all are `stored` they are read there: beside those of items, of which the
        start may be the first.
        """
        found: dict[Node, Node] = {}
        for k, end in self.steady.items():
            if self.whole.starts[k] in self.wanted:
                self._add(found, self.whole.starts[k], end)
        for number, k in enumerate(self.moving):
            name = name_of(self.graph, self.whole, k)
            if name is not None:
                call_state(self.graph, self.whole, k, name)
                call_state(self.graph, against, number, f"d_{name}")
            if self.whole.starts[k] in self.wanted:
                last = against.last(self.graph, number)
                if stored:
                    history = against.history(self.graph, number)
                    last = against.at_last(self.graph, history)
                self._add(found, self.whole.starts[k], last)
        return found

    def _add(self, result: dict[Node, Node], argument: Node, bar: Node) -> None:
        found = result.get(argument)
        result[argument] = bar if found is None else self.graph.add(found, bar)

    def _bar(self, k: int) -> None:
        dims = (*self.rows, *self.open.states[k].dims)
        self.bars[k] = self.graph.fresh(dims, (), None)

    def _item(self, of: Node, rows: Node) -> Node:
        dims, r = (*self.rows, *of.dims), len(self.rows)
        is_part = self.whole.steps.is_part(of)
        if is_part:
            dims = (of.dims[0], *self.rows, *of.dims[1:])
        at = self.graph.fresh(dims, (), None)
        self.items[at] = rows
        return self._behind(at) if is_part and r else at

    def _first(self, at: Input, slope: Node) -> Node:
        """The slope of an item, the steps of a run first."""
        return self._front(slope) if self.whole.steps.is_part(at) else slope

    def _carried(self, places: Sequence[Node]) -> list[Node]:
        given: dict[Node, Node] = {}
        pairs = [(self.open.new[k], at) for k, at in self.bars.items()]
        for node, bar in [*pairs, *self.seeds]:
            self._add(given, node, bar)
        if not given:
            dims = [(*self.rows, *x.dims) for x in places]
            return [self.graph.zeros(x) for x in dims]
        carried = self.reverse(self.graph, given, places, self.rows)
        return self.after.read_by(carried)

    def _front(self, node: Node) -> Node:
        """The axis of steps, which stands behind those of rows, moved to the front."""
        r = len(self.rows)
        return self.graph.permute(node, (r, *range(r), *range(r + 1, node.order)))

    def _behind(self, node: Node) -> Node:
        r = len(self.rows)
        return self.graph.permute(
            node, (*range(1, r + 1), 0, *range(r + 1, node.order))
        )


class After:
    """What steps end with, as rows for those who would compute it anew."""

    def __init__(self, graph: Graph, own: Opened, items: dict[Input, Node]) -> None:
        self.graph = graph
        self.own = own
        self.items = items
        self.known: dict[Node, Node] = {}

    def read_by(self, roots: Sequence[Node]) -> list[Node]:
        """Return nodes over the values of states before steps and after them."""
        used = {*topological(roots)}
        for k, new in enumerate(self.own.new):
            if new in used and new not in self.known and not isinstance(new, Input):
                self.known[new] = at = self.graph.fresh(new.dims, (), None)
                self.items[at] = self.own.whole.after(self.graph, k)
        return substituted(self.graph, roots, self.known)


def guarded(
    graph: Graph, own: Opened, whole: Recurrence, varying: Container[Node]
) -> Opened:
    """A step with what excludes entries, so that they do not reach derivatives."""
    places: list[Node] = [*own.states]
    pairs = zip((*own.items, *own.fixed), (*whole.rows, *whole.constants), strict=True)
    places += [at for at, given in pairs if given in varying]

    def guarded(root: Node) -> Node:
        return guard(graph, root, places).get(root, root)

    new, made = tuple(map(guarded, own.new)), tuple(map(guarded, own.made))
    return Opened(own.whole, own.states, own.items, own.fixed, new, made)
