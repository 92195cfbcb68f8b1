"""Recurrences that the array library has a walk for: `x[t + 1] = a[t] * x[t] + b[t]`.

All of them take what they start from as the first row, and give all rows. Sums are the
products with a triangle that running sums are everywhere, running log-sum-exps have
derivatives of their own. The others are met after differentiation alone.
"""

from __future__ import annotations

from tensorgen.ir.dims import ZERO, Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Map, Node, Product, Ref, Sum, delta, is_zero, topological
from tensorgen.ir.rebuild import of_others, refs_of, substituted
from tensorgen.operators.recurrences.all_steps import AllSteps, can_be_at_once
from tensorgen.operators.recurrences.recurrence import Opened, Recurrence, opened
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
                sizes = dict(enumerate(state.dims))
                return WALKS[function], graph.product(axes, [other], sizes=sizes), None
    parts = _linear(graph, state, new)
    if parts is None:
        return None
    gain, rest = parts
    below = topological([gain])
    varies = any(item in below for item in own.items)
    if is_zero(rest):
        return ("running_product", gain, None) if varies else None
    if gain == graph.constant(1, state.dims):
        return "running_sum", rest, None
    if varies:
        return "filtered_by", rest, gain
    number = _number(graph, gain)
    return ("filtered_by", rest, gain) if number is None else ("filtered", rest, number)


def _linear(graph: Graph, state: Node, node: Node) -> tuple[Node, Node] | None:
    """Return what multiplies a state, entry by entry, and what is added to that.

    Nothing is returned where entries do not stay with their own, or by no such law.
    """
    axes, sizes = tuple(range(state.order)), dict(enumerate(state.dims))
    if node == state:
        return graph.constant(1, state.dims), graph.zeros(state.dims)
    if not isinstance(node, Sum | Product):
        return None
    product = isinstance(node, Product)
    if isinstance(node, Product) and (node.inner or node.constraints):
        return None
    parts: dict[Ref, tuple[Node, Node]] = {}
    for ref in refs_of(node):
        if state in topological([ref.node]):
            own = _linear(graph, state, ref.node) if ref.labels == axes else None
            if own is None or (product and parts):
                return None
            parts[ref] = own
    if not parts:
        return None
    zero = Ref(graph.constant(0), ())

    def made(part: int, others: bool) -> Node:
        uses = [
            Ref(parts[ref][part], axes) if ref in parts else ref if others else zero
            for ref in refs_of(node)
        ]
        return of_others(graph, node, axes, uses, sizes)

    return made(0, product), made(1, True)


def _number(graph: Graph, gain: Node) -> Node | None:
    """The number that all entries are, None where they may differ."""
    if not gain.order:
        return gain
    if not isinstance(gain, Product) or gain.inner or gain.constraints:
        return None
    if any(ref.labels for ref in gain.factors):
        return None
    return graph.product((), gain.factors, coefficient=gain.coefficient)


def _joined(graph: Graph, start: Node, rows: Node, at_end: bool = False) -> Node:
    """What a recurrence starts from, and its rows; before them or at the end."""
    count, (row, *axes) = rows.dims[0], range(rows.order)
    where, shift = (-count, ZERO) if at_end else (ZERO, Dim.of(-1))

    every, sizes = (row, *axes), {row: count + 1}
    at = [delta({row: 1}, where)]
    first = graph.product(every, [(start, axes)], constraints=at, sizes=sizes)
    at = [delta({row: 1, "step": -1}, shift)]
    others = [(rows, ("step", *axes))]
    return graph.add(first, graph.product(every, others, constraints=at, sizes=sizes))
