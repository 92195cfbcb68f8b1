"""Numbers move to where a derivative begins, so that what is made of it needs none.

    half_d_mix = r @ O.T; 2 * (lower.T @ half_d_mix)   ->   d_mix = 2 * r @ O.T; ...

A product has its number outside, whatever it is made of: so a number that reverse mode
multiplied first would stand in each of its results. It moves into a value that others
use where that leaves fewer numbers. What is made of it linearly is scaled as well.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from tensorgen.arrays import operations as ops
from tensorgen.arrays.arrays import Array, array
from tensorgen.arrays.statements import Statement, operands, rebuilt
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Node, Product
from tensorgen.lower.draft import Draft, Repeat, Result, Value
from tensorgen.lower.plan import Plan
from tensorgen.operators.word_shapes import TIMES, fits, is_derivative, multiple

LINEAR = (
    ops.MatMul,
    ops.Outer,
    ops.InnerProduct,
    ops.TensorDot,
    ops.Einsum,
    ops.Trace,
    ops.Reduce,
    ops.Accumulate,
    ops.MovingSum,
    ops.Correlate,
    ops.Permute,
    ops.Expand,
    ops.Diagonal,
    ops.Windows,
    ops.Broadcast,
    ops.Trim,
    ops.Pad,
    ops.Diag,
    ops.Copy,
)
"""Operations that are as many times as large as one of their operands is."""
LINEAR_IN_FIRST = (ops.Index, ops.SumByKey)
"""And those that are as many times as large as their first operand."""
MOST_SCALED = 8
"""So many values a number moves through at most, which takes linear time."""
Step = Value | Statement | Repeat


class _Mixed(Exception):
    """What is scaled stands beside what is not, or is not linear in it."""


def rescaled(plan: Plan, draft: Draft, results: Sequence[Result]) -> list[Result]:
    """Move numbers into values of a draft; return the results of what it is then.

    Ends: each move leaves fewer numbers.
    """
    found = list(results)
    while moved := next(_moves(plan, draft, found), None):
        draft.steps[:], found = moved.steps, moved.results
        plan.scaled.update(moved.scaled)
        plan.described.update(moved.described)
    return found


def _moves(plan: Plan, draft: Draft, results: Sequence[Result]) -> Iterator[_Move]:
    """Yield the moves of a number into a value that leave fewer numbers."""
    asked = {result.root for result in results}
    known = _multiples_of_derivatives(plan.graph)
    for place, step in enumerate(draft.steps):
        if not _may_change(plan, step, asked):
            continue
        assert isinstance(step, Value)
        assert step.variable is not None and step.node is not None
        candidates = known.get(step.node)
        if not candidates:
            continue
        after = draft.steps[place + 1 :]
        for times in _numbers_above(after, step.variable, results):
            if times not in candidates:
                continue
            move = _Move(plan, draft, [*results], asked, times)
            try:
                move.run(place)
            except _Mixed:
                continue
            if move.fewer > 0:
                yield move


def _multiples_of_derivatives(graph: Graph) -> dict[Node, set[Fraction]]:
    """What values are to be multiplied by to be derivatives that have a name."""
    found: dict[Node, set[Fraction]] = {}
    for told in (graph.suggestions, graph.derived):
        for node, word in told.items():
            match node:
                case Product(
                    factors=(one,), inner=(), constraints=()
                ) if _is_derivative(word):
                    found.setdefault(one.node, set()).add(node.coefficient)
            for head, own in TIMES.items():
                if word.removeprefix("neg_").startswith(head):
                    found.setdefault(node, set()).add(1 / own)
    return found


def _may_change(plan: Plan, step: Step, asked: Collection[Node]) -> bool:
    """Whether a step is a value that only the function itself knows."""
    return (
        isinstance(step, Value)
        and step.variable is not None
        and not step.filled
        and step.array.kind == "float"
        and step.node is not None
        and step.node not in asked
        and step.node not in plan.named
        and step.node not in plan.views
    )


def _numbers_above(
    steps: Sequence[Step], variable: Array, results: Sequence[Result]
) -> list[Fraction]:
    """The numbers by which what is made of a value is multiplied."""
    known: dict[Array, bool] = {variable: True}
    found: dict[Fraction, None] = {}

    def is_of_it(one: Array) -> bool:
        if one not in known:
            known[one] = any([is_of_it(arg) for arg in one.args])
            if known[one] and isinstance(one.op, ops.Multiply):
                found.setdefault(abs(one.op.coefficient))
        return known[one]

    for step in steps:
        if isinstance(step, Value):
            of_it = is_of_it(step.array)
            if step.variable is not None:
                known[step.variable] = of_it
        elif not isinstance(step, Repeat):
            for one in operands(step):
                is_of_it(one)
    for result in results:
        is_of_it(result.array)
    return [times for times in found if times != 1]


@dataclass
class _Move:
    """A draft in which a value, and what is linear in it, is `times` as large."""

    plan: Plan
    draft: Draft
    results: list[Result]
    asked: Collection[Node]
    times: Fraction
    fewer: int = 0
    steps: list[Step] = field(default_factory=list)
    scaled: dict[Node, Node] = field(default_factory=dict)
    described: dict[Node, Node] = field(default_factory=dict)
    _filled: dict[Array, Node | None] = field(default_factory=dict)
    _made: dict[Array, tuple[Array, bool]] = field(default_factory=dict)

    @property
    def _graph(self) -> Graph:
        return self.plan.graph

    def run(self, place: int) -> None:
        """Scale the value of a step; raises `_Mixed` where others can't follow."""
        steps = self.draft.steps
        self.steps = [*steps[:place], self._first(steps[place])]
        for step in steps[place + 1 :]:
            if isinstance(step, Value):
                self.steps.append(self._value(step))
            elif isinstance(step, Repeat):
                for one in step.arrays:
                    if self._after(one) != (one, False):
                        raise _Mixed
                self.steps.append(step)
            else:
                self.steps.append(self._statement(step))
        self.results = [
            replace(result, array=self._whole(result.array)) for result in self.results
        ]

    def _first(self, step: Step) -> Value:
        """The step that is scaled by itself."""
        assert isinstance(step, Value) and step.variable is not None
        op, args = step.array.op, step.array.args
        before = op.coefficient if isinstance(op, ops.Multiply) else Fraction(1)
        if isinstance(op, ops.Multiply):
            value = _multiplied(op, args, before * self.times)
        else:
            value = array(ops.Multiply(self.times, 1), step.array)
        self.fewer += (abs(before) != 1) - (abs(before * self.times) != 1)
        self._made[step.variable] = step.variable, True
        word = self._word(step.node)
        if not _is_derivative(word):
            raise _Mixed
        return replace(step, array=value, node=self._scaled_node(step.node))

    def _value(self, step: Value) -> Value:
        value, pending = self._after(step.array)
        if step.variable is not None and pending:
            if not _may_change(self.plan, step, self.asked):
                raise _Mixed
            self._made[step.variable] = step.variable, True
        if pending:
            return replace(step, array=value, node=self._scaled_node(step.node))
        if value is not step.array:
            self._call_plainly(step.node)
        if step.filled and step.variable is not None:
            self._filled[step.variable] = step.node
        return replace(step, array=value)

    def _statement(self, step: Statement) -> Statement:
        before = self.fewer
        found = rebuilt(step, self._whole)
        target = getattr(step, "target", None)
        if self.fewer > before and target in self._filled:
            self._call_plainly(self._filled[target])
        return found

    def _call_plainly(self, node: Node | None) -> None:
        """Call what is made of scaled values after these, without the number."""
        if isinstance(node, Product) and abs(node.coefficient) == self.times:
            self.described[node] = self._graph.scale(node, 1 / self.times)

    def _scaled_node(self, node: Node | None) -> Node | None:
        if node is None or len(self.scaled) == MOST_SCALED:
            raise _Mixed
        graph, found = self._graph, self._graph.scale(node, self.times)
        told = graph.suggestions.get(node) or graph.derived.get(node)
        word = self._word(node)
        if told and not _is_derivative(word):
            raise _Mixed  # it is called what it is
        if word:
            graph.derived.setdefault(found, word)
        self.scaled[node], self.described[found] = found, node
        return found

    def _word(self, node: Node | None) -> str | None:
        """What a node so many times as large is called, where that is known."""
        graph = self._graph
        if node is None:
            return None
        found = graph.scale(node, self.times)
        for told in (graph.suggestions, graph.derived):
            if found in told:
                return told[found]
            word = multiple(told[node], self.times) if node in told else None
            if word and fits(word):
                return word
        return None

    def _whole(self, one: Array) -> Array:
        """What stands for an array that has to be as it was."""
        value, pending = self._after(one)
        if pending:
            raise _Mixed
        return value

    def _after(self, one: Array) -> tuple[Array, bool]:
        """What becomes of an array, and whether that is `times` as large."""
        if one not in self._made:
            self._made[one] = self._changed(one)
        return self._made[one]

    def _changed(self, one: Array) -> tuple[Array, bool]:
        after = [self._after(arg) for arg in one.args]
        args = [arg for arg, _ in after]
        if all(x is y for x, y in zip(args, one.args, strict=True)) and not any(
            pending for _, pending in after
        ):
            return one, False
        places = [k for k, (_, pending) in enumerate(after) if pending]
        op = one.op
        if not places:
            return array(op, *args), False
        if isinstance(op, ops.Add) and len(places) == len(args):
            return array(op, *args), True
        if len(places) > 1:
            raise _Mixed
        (place,) = places
        if isinstance(op, ops.Multiply) and place < op.above:
            left = op.coefficient / self.times
            if abs(left) != 1:
                return array(op, *args), True
            self.fewer += 1
            return _multiplied(op, args, left), False
        first = isinstance(op, LINEAR_IN_FIRST) and place == 0
        if first or isinstance(op, LINEAR):
            return array(op, *args), True
        raise _Mixed


def _is_derivative(word: str | None) -> bool:
    """Whether a word says of what a value is the derivative, and not a multiple."""
    if word is None or not is_derivative(word):
        return False
    return not word.removeprefix("neg_").startswith(tuple(TIMES))


def _multiplied(op: ops.Multiply, args: Sequence[Array], times: Fraction) -> Array:
    if times == 1 == op.above == len(args):
        return args[0]
    return array(replace(op, coefficient=times), *args)
