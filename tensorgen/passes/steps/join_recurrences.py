"""Recurrences whose steps make the same arrays walk together.

The tangent of a recurrence reads its states, and makes of these what its steps made:
for a logsumexp over pairs a table of exponentials. What is no larger than a state is
kept, a row a step (`remember_steps`). What is larger is made in one loop for both: if
the second one reads of the first what the same step starts from, ends with, or makes
beside, the states of both are states of one recurrence.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Call, Input, Map, Node, topological
from tensorgen.ir.rebuild import carry_names, substituted, with_operands
from tensorgen.operators.recurrences.all_steps import can_be_at_once, long_axes
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
from tensorgen.passes.context import Context
from tensorgen.passes.rates import Rate, Rates
from tensorgen.passes.steps.remember_steps import expanded, room_of
from tensorgen.prices.price_table import CALL


def join_recurrences(context: Context, roots: Sequence[Node]) -> list[Node]:
    """Return `roots` with one recurrence for two that make the same large arrays.

    Fires where these take more than what is then made in each step, no longer for all
    at once. Ends: each time there is a recurrence less.
    """
    current = list(roots)
    while (joined := _joined(context, current)) is not None:
        current = joined
    return current


def _joined(context: Context, roots: Sequence[Node]) -> list[Node] | None:
    """The nodes after the first two recurrences that gain are one; None without."""
    certain = context.certain(roots)
    calls: dict[Recurrence, list[Node]] = {}
    for node in certain:
        if is_recurrence(node):
            calls.setdefault(Recurrence.of(node), []).append(node)
    for first, second in combinations(calls, 2):
        if not _alike(context, first, second, calls):
            continue
        pair = _Pair(context, first, second)
        if pair.can_join(calls) and pair.gains():
            return pair.replaced(roots)
    return None


def _alike(
    context: Context,
    first: Recurrence,
    second: Recurrence,
    calls: Mapping[Recurrence, Sequence[Node]],
) -> bool:
    """Whether both walk the same way, and change as often."""
    one, other = first.steps, second.steps
    if one.count != other.count or one.backwards != other.backwards:
        return False
    if any(x is not None for s in (one, other) for x in (s.checkpoint, s.runs)):
        return False
    if context.rates is None:
        return True
    rates = {context.rates.of(x) for own in (first, second) for x in calls[own]}
    return len(rates) == 1


class _Pair:
    """A recurrence, and one that may read its states, as steps of one."""

    def __init__(self, context: Context, first: Recurrence, second: Recurrence) -> None:
        """Take the second one's items from the step of the first, where they are so."""
        self.context = context
        graph = self.graph = context.graph
        self.first: Opened = opened(graph, first)
        self.second: Opened = opened(graph, second)
        self.old = self._roots(self.first)
        values = _at_each_step(graph, self.first, self.old)
        known: dict[Node, Node] = {}
        self.rows: dict[Input, Node] = dict(
            zip(self.first.items, first.rows, strict=True)
        )
        for item, row in zip(self.second.items, second.rows, strict=True):
            if row in values:
                known[item] = values[row]
            else:
                self.rows[item] = row
        self.free = set(self.second.items) - known.keys()
        self.new = substituted(graph, self._roots(self.second), known)

    def _roots(self, own: Opened) -> list[Node]:
        """What a step makes, over what is the same at all steps as it is."""
        return substituted(self.graph, [*own.new, *own.made], own.constants)

    def can_join(self, calls: Mapping[Recurrence, Sequence[Node]]) -> bool:
        """Whether neither waits for all steps of the other."""
        first, second = self.first.whole, self.second.whole
        given = [*second.starts, *second.constants, *(self.rows[x] for x in self.free)]
        after, before = topological(given), topological(first.arguments)
        return not (set(calls[first]) & {*after} or set(calls[second]) & {*before})

    def gains(self) -> bool:
        """Whether what both make that is large takes more than what is lost.

        Functions count alone: of a product nobody knows yet whether it is made. Lost is
        what the second one makes of the first one's states for all steps at once.
        """
        cost, first, second = self.context.cost, self.first.states, self.second.states
        room = room_of(cost, (*first, *second, *self.rows))
        places = (*first, *self.rows)
        old, new = (
            dict.fromkeys(topological(expanded(self.graph, own, (*places, *second))))
            for own in (self.old, self.new)
        )
        reading, varying = Rates(first, second), Rates(places, second)

        def is_small(x: Node) -> bool:
            return cost.size(long_axes(x)) <= room and can_be_at_once(x, places)

        gained = (
            cost.work(x)
            for x in new
            if isinstance(x, Map | Call)
            and x in old
            and varying.of(x) == Rate.POINT
            and not is_small(x)
        )
        lost = (
            CALL.planned
            for x in new
            if x not in old and reading.of(x) == Rate.POINT and is_small(x)
        )
        return sum(gained) > sum(lost)

    def replaced(self, roots: Sequence[Node]) -> list[Node]:
        """Return nodes with the results of one recurrence for those of both."""
        graph, first, second = self.graph, self.first.whole, self.second.whole
        counts = [len(own.starts) for own in (first, second)]
        states = [
            State(*triple)
            for own, new in ((self.first, self.old), (self.second, self.new))
            for triple in zip(own.states, own.whole.starts, new, strict=False)
        ]
        made = [*self.old[counts[0] :], *self.new[counts[1] :]]
        steps = first.steps
        whole = recurrence(graph, steps.count, steps.backwards, states, self.rows, made)
        # Where the results of each stand: its states, then what it makes beside.
        places: dict[Recurrence, list[int]] = {first: [], second: []}
        number = iter(range(len(states) + len(made)))
        for own, count in zip((first, second), counts, strict=True):
            places[own] += [next(number) for _ in range(count)]
            for k, at in enumerate(places[own]):
                word = name_of(graph, own, k)
                if word is not None:
                    call_state(graph, whole, at, word)
        for own in (first, second):
            places[own] += [next(number) for _ in own.steps.made]
        new: dict[Node, Node] = {}
        for node in topological(roots):
            new[node] = with_operands(graph, node, new)
            if is_recurrence(node) and Recurrence.of(node) in places:
                result, every = result_of(node)
                at = places[Recurrence.of(node)][result]
                new[node] = whole.result(graph, at, every)
            carry_names(graph, node, new[node])
        return [new[root] for root in roots]


def _at_each_step(graph: Graph, own: Opened, roots: Sequence[Node]) -> dict[Node, Node]:
    """What a step is given, starts from, ends with and makes, by rows of all steps."""
    whole, count = own.whole, len(own.states)
    found: dict[Node, Node] = dict(zip(whole.rows, own.items, strict=True))
    for k, state in enumerate(own.states):
        found[whole.after(graph, k)] = roots[k]
        found[whole.before(graph, k)] = state
    for k, node in enumerate(roots[count:]):
        found[whole.made(graph, k)] = node
    return found
