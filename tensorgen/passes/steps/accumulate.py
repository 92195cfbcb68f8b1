"""Recurrences that the array library has a walk for: `x[t + 1] = a[t] * x[t] + b[t]`.

All of them take what they start from as the first row, and give all rows. Sums are the
products with a triangle that running sums are everywhere, running log-sum-exps have
derivatives of their own. The others are met after differentiation alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from tensorgen.ir.dims import ZERO, Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import (
    Label,
    Map,
    Node,
    Product,
    Ref,
    Sum,
    Term,
    delta,
    topological,
)
from tensorgen.ir.rebuild import substituted
from tensorgen.operators.recurrences.all_steps import AllSteps, can_be_at_once
from tensorgen.operators.recurrences.recurrence import (
    Opened,
    Recurrence,
    opened,
)
from tensorgen.operators.scans.monoids import MONOIDS
from tensorgen.operators.scans.running import flipped, running, running_sum

WALKS = {row.step: row.running for row in MONOIDS.values() if row.running}
"""Functions of a state and an item, and what walks with them."""

FILTERS = {"filtered": "filtered_back", "filtered_by": "filtered_back_by"}
"""Multiples of a state and something more, and the same from the end."""


def accumulated(graph: Graph, whole: Recurrence) -> Node | None:
    """Return the history of the only state of a recurrence by a walk, if there is one.

    The step must be the sum, the product, the larger or the smaller, or the logaddexp
    of the state and of something that does not depend on it; or a multiple of the
    state, entry by entry, plus such a thing.
    """
    if len(whole.starts) != 1 or whole.steps.made:
        return None
    own = opened(graph, whole)
    (state,), (new,) = own.states, own.new
    found = _walk(graph, own, state, new)
    if found is None:
        return None
    name, rest, gain = found
    asked = [rest, *([] if gain is None else [gain])]
    if not all(can_be_at_once(x, {*own.items}) for x in asked):
        return None
    items = dict(zip(own.items, whole.rows, strict=True))
    every = AllSteps(graph, whole.steps.count, items)
    given = [x if name == "filtered" and x is gain else every.of(x) for x in asked]
    rows, *gains = substituted(graph, given, own.constants)
    back = whole.steps.backwards
    if name in FILTERS:
        first = _joined(graph, whole.starts[0], rows, at_end=back)
        return graph.call(FILTERS[name] if back else name, [first, *gains], first.dims)
    rows = flipped(graph, rows, 0) if back else rows
    first = _joined(graph, whole.starts[0], rows)
    if name == "running_sum":
        done = running_sum(graph, first, 0)
    elif name in WALKS.values():
        done = running(graph, first, 0, name)
    else:
        done = graph.call(name, [first], first.dims)
    return flipped(graph, done, 0) if back else done


def _walk(
    graph: Graph, own: Opened, state: Node, new: Node
) -> tuple[str, Node, Node | None] | None:
    """The walk of a step, what it adds at each, and what it multiplies by."""
    axes = tuple(range(state.order))
    whole = Ref(state, axes)
    match new:
        case Map(function=function, args=args) if function in WALKS and whole in args:
            if len(args) == 2 and args[0] != args[1]:
                other = args[1 - args.index(whole)]
                return WALKS[function], _spread(graph, state, other), None
    parts = _Linear(graph, state).of(new)
    if parts is None or parts.gain is None:
        return None
    gain, rest = parts.gain, parts.rest or graph.zeros(state.dims)
    below = topological([gain])
    varies = any(item in below for item in own.items)
    if parts.rest is None:
        return ("running_product", gain, None) if varies else None
    if gain == _spread(graph, state, Ref(graph.constant(1), ())):
        return "running_sum", rest, None
    if varies:
        return "filtered_by", rest, gain
    number = _number(graph, gain)
    return ("filtered_by", rest, gain) if number is None else ("filtered", rest, number)


_Term = tuple[Fraction, Node, tuple[Label, ...]]


class _Parts(NamedTuple):
    """What multiplies a state, entry by entry, and what is added to that."""

    gain: Node | None
    rest: Node | None


class _Linear:
    """Steps as `gain * state + rest`, where each entry stays with its own."""

    def __init__(self, graph: Graph, state: Node) -> None:
        """Say what is the state."""
        self.graph, self.state = graph, state
        self.axes = tuple(range(state.order))
        self.sizes = dict(enumerate(state.dims))

    def of(self, node: Node) -> _Parts | None:
        """The parts of a node with the axes of the state; None if there are none."""
        if node == self.state:
            return _Parts(
                _spread(self.graph, node, Ref(self.graph.constant(1), ())), None
            )
        if self.state not in topological([node]):
            return _Parts(None, node)
        match node:
            case Sum(terms=terms):
                return self._sum(terms)
            case Product(inner=(), constraints=(), factors=factors):
                mine = [ref for ref in factors if self.state in topological([ref.node])]
                if len(mine) != 1 or mine[0].labels != self.axes:
                    return None
                others = [ref for ref in factors if ref is not mine[0]]
                return self._scaled(mine[0].node, node.coefficient, others)
        return None

    def _sum(self, terms: Sequence[Term]) -> _Parts | None:
        gains: list[_Term] = []
        rests: list[_Term] = []
        for coefficient, node, labels in terms:
            if self.state not in topological([node]):
                rests.append((coefficient, node, labels))
                continue
            found = self.of(node) if labels == self.axes else None
            if found is None:
                return None
            for sums, part in zip((gains, rests), found, strict=True):
                if part is not None:
                    sums.append((coefficient, part, self.axes))
        total = [
            self.graph.sum(self.axes, x, self.sizes) if x else None
            for x in (gains, rests)
        ]
        return _Parts(*total)

    def _scaled(
        self, node: Node, coefficient: Fraction, others: list[Ref]
    ) -> _Parts | None:
        found = self.of(node)
        if found is None:
            return None
        scaled = [
            part
            and self.graph.product(
                self.axes,
                [(part, self.axes), *others],
                coefficient=coefficient,
                sizes=self.sizes,
            )
            for part in found
        ]
        return _Parts(*scaled)


def _number(graph: Graph, gain: Node) -> Node | None:
    """The number that all entries are, None where they may differ."""
    if not gain.order:
        return gain
    if not isinstance(gain, Product) or gain.inner or gain.constraints:
        return None
    if any(ref.labels for ref in gain.factors):
        return None
    return graph.product((), gain.factors, coefficient=gain.coefficient)


def _spread(graph: Graph, state: Node, other: Ref) -> Node:
    sizes = dict(enumerate(state.dims))
    return graph.product(range(state.order), [other], sizes=sizes)


def _joined(graph: Graph, start: Node, rows: Node, at_end: bool = False) -> Node:
    """What a recurrence starts from, and its rows; before them or at the end."""
    count, axes = rows.dims[0], range(1, rows.order)
    out, sizes = ("row", *axes), {"row": count + 1}
    where, shift = (-count, ZERO) if at_end else (ZERO, Dim.of(-1))
    parts: list[tuple[Node, tuple[object, ...], dict[object, int], Dim]] = [
        (start, tuple(axes), {"row": 1}, where),
        (rows, ("step", *axes), {"row": 1, "step": -1}, shift),
    ]
    terms = [
        (
            1,
            graph.product(
                out, [(node, labels)], constraints=[delta(tie, shift)], sizes=sizes
            ),
            out,
        )
        for node, labels, tie, shift in parts
    ]
    return graph.sum(out, terms)
