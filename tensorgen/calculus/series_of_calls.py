"""Series of recurrences, and of what solves an equation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod

from tensorgen.calculus.forward import pushforward
from tensorgen.calculus.implicit_derivatives import Slope, guarded_equation
from tensorgen.calculus.recurrence_derivatives import After, guarded
from tensorgen.calculus.series_rules import At, Known, summed
from tensorgen.ir.dims import ONE
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Call, Input, Node, is_zero
from tensorgen.ir.rebuild import substituted
from tensorgen.operators.recurrences.all_steps import AllSteps, can_be_at_once
from tensorgen.operators.recurrences.recurrence import (
    Recurrence,
    State,
    opened,
    recurrence,
    result_of,
)
from tensorgen.operators.reductions_by_blocks import kept_axes
from tensorgen.operators.reshape import reshape

Coefficients = Callable[[Node, int], Node]
"""The coefficient of a node, of an order."""
Start = Callable[[Graph, Mapping[Node, Sequence[Node]], int], Coefficients]
"""The series of nodes where some move along curves, up to an order."""


class Moving:
    """The coefficients of all results of a recurrence: of states, carried along.

    One step takes those of its states to those of the next. All orders from 1 on are
    states of one recurrence, which reads the values of the first as rows.
    """

    def __init__(self, series: Known, whole: Recurrence, start: Start) -> None:
        """Find the states that vary, and the recurrence of their coefficients."""
        self.graph = graph = series.graph
        self.start = start
        self.orders = range(1, series.order + 1)
        varying = {x for x in whole.arguments if series.varies(x)}
        self.open = guarded(graph, opened(graph, whole), whole, varying)
        self.items = self.open.given(graph)
        self.after = After(graph, self.open, self.items)
        self.constants = self.open.constants
        self.curves: dict[Node, list[Input]] = {}
        for at, value in zip(self.open.items, whole.rows, strict=True):
            for k, place in enumerate(self._curve(at) if value in varying else (), 1):
                self.items[place] = series.known(value, k)
        for at, value in zip(self.open.fixed, whole.constants, strict=True):
            for k, place in enumerate(self._curve(at) if value in varying else (), 1):
                self.constants[place] = series.known(value, k)
        starts = whole.starts
        self.states = [k for k, x in enumerate(starts) if x in varying]
        for k in self.states:
            self._curve(self.open.states[k])
        while True:
            new = self._moved(self.open.new)
            rest = [k for k in range(len(new)) if k not in self.states]
            more = [k for k in rest if not all(map(is_zero, new[k]))]
            if not more:
                break
            self.states += more
            for k in more:
                self._curve(self.open.states[k])
        states = [
            State(place, series.known(starts[k], j), moved)
            for k in self.states
            for j, place, moved in zip(
                self.orders, self.curves[self.open.states[k]], new[k], strict=True
            )
        ]
        made = [x for moved in self._moved(self.open.made) for x in moved]
        inner = {*self.items, *(state.place for state in states)}
        alone = [x for x in made if not can_be_at_once(x, inner)]
        count, backwards = whole.steps.count, whole.steps.backwards
        self.whole = recurrence(graph, count, backwards, states, self.items, alone)
        rows: dict[Node, Node] = dict(self.items.items())
        for number, state in enumerate(states):
            rows[state.place] = self.whole.before(graph, number)
        at_once = AllSteps(graph, count, rows)
        self.made = [
            self.whole.made(graph, alone.index(x)) if x in alone else at_once.of(x)
            for x in made
        ]

    def of(self, call: Call, j: int) -> Node:
        """Return the coefficient of a result."""
        result, whole = result_of(call)
        if result >= len(self.open.states):
            first = (result - len(self.open.states)) * len(self.orders)
            return self.made[first + j - 1]
        if result not in self.states:
            return self.graph.zeros(call.dims)
        found = self.whole.history if whole else self.whole.last
        number = self.states.index(result) * len(self.orders)
        return found(self.graph, number + j - 1)

    def _curve(self, at: Input) -> list[Input]:
        fresh = [self.graph.fresh(at.dims, (), None) for _ in self.orders]
        self.curves[at] = fresh
        return fresh

    def _moved(self, roots: Sequence[Node]) -> list[list[Node]]:
        """The coefficients of nodes of a step, over what stands at the places."""
        coefficient = self.start(self.graph, self.curves, len(self.orders))
        every = [[coefficient(root, j) for j in self.orders] for root in roots]
        read = [self.after.read_by(found) for found in every]
        return [substituted(self.graph, found, self.constants) for found in read]


class Stepping:
    """A result of a recurrence."""

    def __init__(
        self, series: Known, node: Call, found: dict[Recurrence, Moving], start: Start
    ) -> None:
        """Share with all results of the recurrence what is `found` of it."""
        self.series = series
        self.node = node
        self.found = found
        self.start = start

    def needs(self, j: int) -> list[At]:
        """Return all coefficients of what it is given: all orders step together."""
        orders = range(self.series.order + 1)
        return [(x, i) for x in self.node.args for i in orders]

    def at(self, j: int) -> Node:
        """Return a result of the recurrence of coefficients."""
        whole = Recurrence.of(self.node)
        if whole not in self.found:
            self.found[whole] = Moving(self.series, whole, self.start)
        return self.found[whole].of(self.node, j)


class Multiplied:
    """The product of entries, one after the other: none is divided by.

    All orders step together through the entries.
    """

    def __init__(self, series: Known, node: Call) -> None:
        self.series = series
        self.node = node
        self.whole: Recurrence | None = None

    def needs(self, j: int) -> list[At]:
        """Return all coefficients of the argument."""
        return [(self.node.args[0], i) for i in range(self.series.order + 1)]

    def at(self, j: int) -> Node:
        """Return a state after all entries."""
        if self.whole is None:
            self.whole = self._steps()
        return self.whole.last(self.series.graph, j)

    def _steps(self) -> Recurrence:
        graph, dims = self.series.graph, self.node.dims
        orders = range(self.series.order + 1)
        rows = [self._rows(self.series.known(self.node.args[0], i)) for i in orders]
        items = [graph.fresh(dims, (), None) for _ in orders]
        places = [graph.fresh(dims, (), None) for _ in orders]
        axes = range(len(dims))
        moving = [i for i in orders if not is_zero(rows[i])]
        states = []
        for j in orders:
            pairs = [(places[j - i], items[i]) for i in moving if i <= j]
            terms = [
                (1, graph.product(axes, [(x, axes) for x in pair])) for pair in pairs
            ]
            start = graph.constant(int(not j), dims)
            states.append(State(places[j], start, summed(graph, dims, terms)))
        given = dict(zip(items, rows, strict=True))
        return recurrence(graph, rows[0].dims[0], False, states, given)

    def _rows(self, x: Node) -> Node:
        """The entries that are multiplied, in rows of the shape of the result."""
        kept = kept_axes(self.node)
        gone = [axis for axis in range(x.order) if axis not in kept]
        front = self.series.graph.permute(x, (*gone, *kept))
        count = prod((x.dims[axis] for axis in gone), start=ONE)
        return reshape(self.series.graph, front, (count, *self.node.dims))


class Implicit:
    """What solves F(y, x) = 0: F_y y_j = -F_j, where F_j is what y_j is left out of."""

    def __init__(self, series: Known, node: Call, start: Start) -> None:
        """Open the equation, and differentiate it by its unknown."""
        self.series = series
        self.node = node
        self.start = start
        varying = {x for x in node.args if series.varies(x)}
        self.own = guarded_equation(series.graph, node, {node, *varying})
        self.slope = Slope(series.graph, node, pushforward)

    def needs(self, j: int) -> list[At]:
        """Return those of what the equation reads, and the lower ones."""
        lower = [(self.node, i) for i in range(1, j)]
        return [*((x, i) for x in self.node.args for i in range(1, j + 1)), *lower]

    def at(self, j: int) -> Node:
        """Return what the slope of the equation takes to what is left of it."""
        graph, known, own = self.series.graph, self.series.known, self.own
        curves: dict[Node, list[Node]] = {
            own.unknown: [known(self.node, i) for i in range(1, j)]
        }
        for place, x in zip(own.places, self.node.args, strict=True):
            if self.series.varies(x):
                curves[place] = [known(x, i) for i in range(1, j + 1)]
        left = self.start(graph, curves, j)(own.residual, j)
        (left,) = own.at(graph, [left], self.node)
        if is_zero(left):
            return left
        axes = range(self.node.order)
        return graph.scale(self.slope.solved(left, axes, False), -1)
