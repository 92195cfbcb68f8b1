"""The whole arrays of names that step together, once their steps are read."""

from __future__ import annotations

from collections.abc import Sequence

from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Node, delta
from tensorgen.lang.reach import in_turn
from tensorgen.lang.stepping import Member, Stepping
from tensorgen.operators.recurrences.all_steps import AllSteps, can_be_at_once
from tensorgen.operators.recurrences.recurrence import (
    Runs,
    State,
    call_state,
    recurrence,
)


class Stepped:
    """The recurrence that steps make, and the entries of names along its first axis."""

    def __init__(self, graph: Graph, steps: Stepping, runs: Runs | None) -> None:
        """Make it; with `runs` states are not stored at each step."""
        self.graph, self.steps = graph, steps
        states: list[State] = []
        self.first: dict[str, int] = {}
        for member in steps.members.values():
            if member.lags:
                self.first[member.name] = len(states)
                states += self._states(member)
        places = {*steps.items, *steps.states.values()}
        self.made: list[Node] = []
        for member in steps.members.values():
            assert member.value is not None
            node = member.value.node
            # With runs nothing is known of all states at once.
            if not member.lags and (runs or not can_be_at_once(node, places)):
                self.made.append(node)
        given = graph, steps.count, steps.backwards, states, steps.items, self.made
        self.whole = recurrence(*given, checkpoint=runs)
        for member in steps.members.values():
            if member.lags and len(member.starts) > 1:
                self._call(member)
        rows: dict[Node, Node] = dict(steps.items.items())
        for k, state in enumerate(states):
            rows[state.place] = self.whole.before(graph, k)
            if state.new not in places:
                rows[state.new] = self.whole.after(graph, k)
        self.at_once = AllSteps(graph, steps.count, rows)

    def _call(self, member: Member) -> None:
        """Call the states of a name that steps read several entries of.

        They begin with the last of those that are given.
        """
        first, name = self.first[member.name], member.name
        words = [f"{name}_from_{len(member.starts) - 1}", f"{name}_prev"]
        if self.steps.backwards:
            words = [f"{name}_but_last", f"{name}_later"]
        words += [f"{words[1]}_{lag}" for lag in range(2, len(member.starts))]
        for k, word in enumerate(words):
            call_state(self.graph, self.whole, first + k, word)

    def _states(self, member: Member) -> list[State]:
        """A state for each of the last entries: what it starts as, and what it is next.

        The one before the last becomes what the last was.
        """
        assert member.value is not None
        found = [member.value.node]
        turn = in_turn(member, self.steps.backwards)
        states: list[State] = []
        for lag, at in enumerate(reversed(turn), 1):
            place = self.steps.states[member.name, lag]
            states.append(State(place, member.starts[at].node, found[-1]))
            found.append(place)
        return states

    def is_made(self, member: Member) -> bool:
        """Whether the steps themselves compute all entries of a name."""
        assert member.value is not None
        return bool(member.lags) or member.value.node in self.made

    def entries(self, member: Member) -> Node:
        """All entries of a name, the first ones too."""
        assert member.value is not None
        backwards, node = self.steps.backwards, member.value.node
        starts = [member.starts[at].node for at in in_turn(member, backwards)]
        if member.lags:
            history = self.whole.history(self.graph, self.first[member.name])
            return joined(self.graph, history, starts[:-1], backwards)
        if node in self.made:
            found = self.whole.made(self.graph, self.made.index(node))
        else:
            found = self.at_once.of(node)
        return joined(self.graph, found, starts, backwards)


def joined(
    graph: Graph, history: Node, starts: Sequence[Node], backwards: bool
) -> Node:
    """All entries of a name: first ones, in the order of steps, and those behind."""
    if not starts:
        return history
    rows = history.dims[0] + len(starts)
    out = ("row", *range(1, history.order))
    shift = 0 if backwards else len(starts)
    spots: list[tuple[Node, Sequence[object], Dim, int]] = [
        (history, range(history.order), Dim.of(shift), 1)
    ]
    for k, start in enumerate(starts):
        place = rows - 1 - k if backwards else Dim.of(k)
        spots.append((start, range(1, history.order), place, 0))
    terms = []
    for node, labels, place, moves in spots:
        tie = delta({"row": 1, **({0: -1} if moves else {})}, -place)
        given = [(node, labels)]
        part = graph.product(out, given, constraints=[tie], sizes={"row": rows})
        terms.append((1, part, out))
    return graph.sum(out, terms)
