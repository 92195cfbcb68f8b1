"""What is stated of one sample, for all samples of a batch: one axis more, in front.

It is what `all_steps` does for the steps of a recurrence, and of recurrences as well:
their states get the axis, and one loop steps all samples. As nothing else is read than
what is stated of one sample, no sample has a share in the values of another.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Call, Input, Node, children, topological
from tensorgen.ir.rebuild import carry_names, substituted
from tensorgen.operators.calls import OPERATORS
from tensorgen.operators.recurrences.all_steps import AllSteps, is_alone
from tensorgen.operators.recurrences.recurrence import (
    Opened,
    Recurrence,
    State,
    is_recurrence,
    opened,
    recurrence,
    result_of,
)


class NoBatch(Exception):
    """A call that takes one sample alone."""

    def __init__(self, call: Call) -> None:
        """Know the call."""
        super().__init__(call.operator)
        self.call = call


def without_batch(roots: Iterable[Node], samples: Collection[Node]) -> list[Call]:
    """Return the calls that take one sample alone, of what differs between samples."""
    varying, found = {*samples}, []
    for node in topological(roots):
        if any(child in varying for child in children(node)):
            varying.add(node)
            if isinstance(node, Call) and _takes_one(node):
                found.append(node)
    return found


def _takes_one(call: Call) -> bool:
    row = OPERATORS[call.operator]
    return not is_recurrence(call) and (is_alone(call) or row.keyed or row.places)


@dataclass(frozen=True)
class _Place:
    """A place of a step for all samples, and that with these along the first axis."""

    own: Input
    rows: Node


class Samples(AllSteps):
    """Nodes of one sample, with an axis for all samples."""

    def all_of(self, nodes: Iterable[Node]) -> list[Node]:
        """Return nodes over all samples; raises `NoBatch` where that is impossible."""
        return [self.of(node) for node in nodes]

    def _suggest(self, node: Node) -> None:
        carry_names(self.graph, node, self.rows[node])

    def _call(self, node: Call) -> Node:
        if is_recurrence(node):
            return self._stepped(node)
        if _takes_one(node):
            raise NoBatch(node)
        return super()._call(node)

    # Recurrences

    def _stepped(self, call: Call) -> Node:
        """The result of a recurrence over all samples.

        Its states have the axis behind that of steps, and those alone that differ from
        sample to sample.
        """
        graph, before = self.graph, Recurrence.of(call)
        own, steps = opened(graph, before), before.steps
        roots = substituted(graph, (*own.new, *own.made), own.constants)
        moving = self._moving(own, roots)
        places = {
            at: self._place(at, steps.is_part(at)) for at in own.moving if at in moving
        }
        inner = Samples(
            graph, self.count, {**self.rows, **{x: p.rows for x, p in places.items()}}
        )
        inner.same.update(self.same)
        count = len(own.new)
        found = inner.all_of(roots)
        states = [
            State(places[at].own, self._spread(start), new)
            if at in places
            else State(at, start, old)
            for at, start, new, old in zip(
                own.states, before.starts, found[:count], roots[:count], strict=True
            )
        ]
        items = dict(
            (places[at].own, self._along(self.rows[rows]))
            if at in places
            else (at, rows)
            for at, rows in zip(own.items, before.rows, strict=True)
        )
        made = [
            self._along(new) if steps.is_part(old) else new
            for new, old in zip(found[count:], steps.made, strict=True)
        ]
        whole = recurrence(
            *(graph, steps.count, steps.backwards, states, items, made),
            checkpoint=steps.checkpoint,
            runs=steps.runs,
        )
        for k, at in enumerate(own.states):
            if at in places:
                for result in (True, False):
                    old = before.result(graph, k, result)
                    carry_names(graph, old, whole.result(graph, k, result))
        return self._result(call, whole, count, [at in places for at in own.states])

    def _result(
        self, call: Call, whole: Recurrence, count: int, varies: Sequence[bool]
    ) -> Node:
        """What a call is of the recurrence over all samples, these first."""
        result, is_whole = result_of(call)
        found = whole.like(self.graph, call)
        if result < count and not varies[result]:
            axes = range(found.order)
            known = {"sample": self.count}
            return self.graph.product(("sample", *axes), [(found, axes)], sizes=known)
        return self._along(found) if is_whole or result >= count else found

    def _along(self, rows: Node) -> Node:
        """Steps and samples, the first axes of an array, exchanged."""
        return self.graph.permute(rows, (1, 0, *range(2, rows.order)))

    def _place(self, at: Input, is_part: bool) -> _Place:
        """A place for all samples; of a part of rows, its own axis stays in front."""
        known, dims = at.properties, (self.count, *at.dims)
        if is_part:
            dims = (dims[1], dims[0], *dims[2:])
        own = self.graph.fresh(dims, known, at.index)
        return _Place(own, self._along(own) if is_part else own)

    def _moving(self, own: Opened, roots: Sequence[Node]) -> set[Node]:
        """The places of states and items that differ from sample to sample."""
        given = (*own.whole.starts, *own.whole.rows)
        found: set[Node] = {
            at for at, x in zip(own.moving, given, strict=True) if x in self.rows
        }
        order = topological(roots)
        while True:
            varying = {*self.rows, *found}
            for node in order:
                if any(child in varying for child in children(node)):
                    varying.add(node)
            more = {at for at, new in zip(own.states, roots, strict=False) if new in varying}
            if more <= found:
                return found
            found |= more

