"""What is stated of one sample, for all samples of a batch: one axis more, in front.

It is what `all_steps` does for the steps of a recurrence, and of recurrences as well:
their states get the axis, and one loop steps all samples. As nothing else is read than
what is stated of one sample, no sample has a share in the values of another.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, cast

from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import (
    Call,
    Input,
    Map,
    Node,
    Product,
    Sum,
    children,
    topological,
)
from tensorgen.ir.rebuild import carry_names, refs_of, substituted
from tensorgen.operators.calls import OPERATORS
from tensorgen.operators.defined_calls import is_defined
from tensorgen.operators.external_calls import called, external_of, is_external
from tensorgen.operators.recurrences.all_steps import STEP, AllSteps, is_alone
from tensorgen.operators.recurrences.recurrence import (
    Recurrence,
    State,
    Steps,
    call_state,
    is_recurrence,
    name_of,
    opened,
    recurrence,
    result_of,
)
from tensorgen.operators.scans.places import PLACES


class NoBatch(Exception):
    """A call that takes one sample alone, and what is said of that."""

    def __init__(self, call: Call) -> None:
        super().__init__(told(call))


def told(call: Call) -> str:
    """Say what of a text takes one sample alone."""
    row = OPERATORS[call.operator]
    if row.keyed or row.places:
        return "keys of several samples are in no order together"
    return f"'{called_in_text(call)}' takes one sample alone"


def called_in_text(call: Call) -> str:
    """Return the name of a function by which texts call it."""
    return external_of(call).name if is_external(call) else call.operator


def without_batch(roots: Iterable[Node], samples: Collection[Node]) -> list[Call]:
    """Return the calls that take one sample alone, of what differs between samples."""
    varying, found = {*samples}, []
    for node in topological(roots):
        if any(child in varying for child in children(node)):
            varying.add(node)
            # Of a definition that stays a call, the text is somewhere written out.
            if isinstance(node, Call) and not is_defined(node):
                found += [node] * _takes_one(node, varying)
    return found


def alike_in(roots: Iterable[Node], samples: Collection[Node]) -> list[Call]:
    """Return results of recurrences that all samples share, beside others."""
    varying, found = {*samples}, []
    for node in topological(roots):
        if not any(child in varying for child in children(node)):
            continue
        if is_recurrence(node) and not _varies(node, varying):
            found.append(node)
        else:
            varying.add(node)
    return found


def _varies(call: Call, varying: Collection[Node]) -> bool:
    """Whether a result of a recurrence differs from sample to sample."""
    steps = Recurrence.of(call).steps
    result, _ = result_of(call)
    moving = _moving(steps, call.args, varying)
    if result < len(steps.states):
        return steps.states[result] in moving
    made = steps.made[result - len(steps.states)]
    return not moving.isdisjoint(topological([made]))


def _moving(steps: Steps, args: Sequence[Node], varying: Collection[Node]) -> set[Node]:
    """The places of a step that differ from sample to sample, as arguments do."""
    given = zip(steps.places, args, strict=True)
    found: set[Node] = {at for at, x in given if x in varying}
    while True:
        more = {
            at
            for at, new in zip(steps.states, steps.new, strict=True)
            if at not in found and not found.isdisjoint(topological([new]))
        }
        if not more:
            return found
        found |= more


def _takes_one(call: Call, varying: Collection[Node]) -> bool:
    """Whether a call takes one sample alone, of which some arguments are varying."""
    row = OPERATORS[call.operator]
    if is_recurrence(call) or _is_entrywise(call) or _is_looked_up(call, varying):
        return False
    sorts = row.places and "along" in row.params
    return is_alone(call) or row.keyed or (row.places and not sorts)


def _is_entrywise(call: Call) -> bool:
    """Whether a function from outside is of numbers, or of arrays of one shape."""
    return is_external(call) and external_of(call).dims is None


def _is_looked_up(call: Call, varying: Collection[Node]) -> bool:
    """Whether entries of one varying array are looked up in another, one by one."""
    place = PLACES.get(call.operator)
    if place is None or len(call.args) != 2 or place.of == place.among:
        return False
    return call.args[place.among] not in varying


class Samples(AllSteps):
    """Nodes of one sample, with an axis for all samples.

    It is the first one, but `behind` that of steps where there is one: loops make and
    read what all samples have of a step. Roots have it in front.
    """

    def __init__(self, graph: Graph, count: Dim, rows: Mapping[Any, Node]) -> None:
        super().__init__(graph, count, rows)
        self.behind: set[Node] = set()

    def all_of(self, nodes: Iterable[Node]) -> list[Node]:
        """Return nodes over all samples; raises `NoBatch` where that is impossible."""
        return [self.of(node) for node in nodes]

    def _suggest(self, node: Node) -> None:
        carry_names(self.graph, node, self.rows[node])

    def _use(
        self, node: Node, labels: Sequence[int]
    ) -> tuple[Node, tuple[object, ...]]:
        if node not in self.behind:
            return super()._use(node, labels)
        step, *others = labels
        return self.rows[node], (step, STEP, *others)

    def _out(self, node: Product | Sum | Map) -> tuple[object, ...]:
        sample, *axes = super()._out(node)
        if node not in self.behind and not (axes and self._has_steps(node)):
            return sample, *axes
        self.behind.add(node)
        return axes[0], sample, *axes[1:]

    def _has_steps(self, node: Product | Sum | Map) -> bool:
        """Whether the first axis of a node is that of steps of an operand."""
        steps = {refs[0] for x, refs in refs_of(node) if x in self.behind}
        ties = node.constraints if isinstance(node, Product) else ()
        return 0 in steps or any(
            one.kind == "eq" and 0 in one.form.labels and steps & {*one.form.labels}
            for one in ties
        )

    def _spread(self, node: Node) -> Node:
        found = super()._spread(node)
        return self._along(found) if node in self.behind else found

    def _call(self, node: Call) -> Node:
        if is_recurrence(node):
            return self._stepped(node)
        if _is_entrywise(node):
            args = [self._entries(x, node) for x in node.args]
            return called(self.graph, external_of(node), args)
        if _is_looked_up(node, self.rows):
            args = [self._spread(x) if x in self.rows else x for x in node.args]
            dims = (self.count, *node.dims)
            return self.graph.call(node.operator, args, dims, **dict(node.params))
        if _takes_one(node, self.rows):
            raise NoBatch(node)
        return super()._call(node)

    def _entries(self, node: Node, like: Call) -> Node:
        """An argument of a function of numbers: a number, or as many as it returns."""
        if node.order == like.order:
            return self._spread(node)
        if node not in self.rows:
            return node
        out, sizes = (STEP, *range(like.order)), dict(enumerate(like.dims))
        return self.graph.product(out, [(self.rows[node], (STEP,))], sizes=sizes)

    # Recurrences

    def _stepped(self, call: Call) -> Node:
        """The result of a recurrence over all samples.

        Those states alone have the axis that differ from sample to sample.
        """
        graph, before = self.graph, Recurrence.of(call)
        own, steps = opened(graph, before), before.steps
        roots = substituted(graph, (*own.new, *own.made), own.constants)
        moving = _moving(steps, call.args, self.rows)
        inner = Samples(graph, self.count, self.rows)
        inner.same.update(self.same)
        inner.behind.update(self.behind)
        for at, like in zip(own.moving, steps.places, strict=False):
            if like in moving:
                inner.put(at, steps.is_part(at))
        count = len(own.new)
        states = [
            (
                State(cast(Input, inner.rows[at]), self._spread(start), inner.of(new))
                if at in inner.rows
                else State(at, start, new)
            )
            for at, start, new in zip(own.states, before.starts, roots, strict=False)
        ]
        items = {
            cast(Input, inner.rows.get(at, at)): self._by_steps(rows)
            for at, rows in zip(own.items, before.rows, strict=True)
        }
        made = [inner.in_step(x, steps.is_part(x)) for x in roots[count:]]
        whole = recurrence(
            *(graph, steps.count, steps.backwards, states, items, made),
            checkpoint=steps.checkpoint,
            runs=steps.runs,
        )
        for k in range(count):
            word = name_of(graph, before, k)
            if word is not None:
                call_state(graph, whole, k, word)
        result, _ = result_of(call)
        root = (*own.states, *roots[count:])[result]
        return self._result(call, whole, inner, root)

    def _result(
        self, call: Call, whole: Recurrence, inner: Samples, root: Node
    ) -> Node:
        """What a call is of the recurrence over all samples."""
        result, is_whole = result_of(call)
        found = whole.like(self.graph, call)
        is_made = result >= len(whole.starts)
        if root not in inner.rows:
            axes, known = range(found.order), {STEP: self.count}
            return self.graph.product((STEP, *axes), [(found, axes)], sizes=known)
        if is_whole or is_made:
            self.behind.add(call)
        return found

    def put(self, at: Input, is_part: bool) -> None:
        """Give a place its axis; of a part of rows, that of steps is in front."""
        dims = (self.count, *at.dims)
        if is_part:
            dims = (dims[1], dims[0], *dims[2:])
            self.behind.add(at)
        self.rows[at] = self.graph.fresh(dims, at.properties, at.index)

    def in_step(self, node: Node, is_part: bool) -> Node:
        """What a step makes; without the axis where it is the same for all samples."""
        found = self.of(node)
        if node not in self.rows:
            return node
        return self._along(found) if is_part else found

    def _by_steps(self, rows: Node) -> Node:
        """Rows by steps first, then by samples."""
        if rows not in self.rows:
            return rows
        if rows not in self.behind and not isinstance(rows, Product | Sum | Map):
            return self._along(self.rows[rows])
        if rows not in self.behind:
            self.behind.add(rows)
            self.rows[rows] = self._found(rows)
            self._suggest(rows)
        return self.rows[rows]

    def _along(self, rows: Node) -> Node:
        """Steps and samples, the first axes of an array, exchanged."""
        return self.graph.permute(rows, (1, 0, *range(2, rows.order)))
