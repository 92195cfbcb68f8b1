"""Recurrences that the array library has a walk for: `x[t + 1] = a * x[t] + b[t]`.

All of them take what they start from as the first row, and give all rows. Sums are the
products with a triangle that running sums are everywhere, running log-sum-exps have
derivatives of their own. The others are met after differentiation alone.
"""

from __future__ import annotations

from tensorgen.ir.dims import ZERO, Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import (
    Map,
    Node,
    Product,
    Ref,
    Sum,
    delta,
    indicator,
    topological,
)
from tensorgen.operators.all_steps import AllSteps, can_be_at_once
from tensorgen.operators.recurrences import Opened, Recurrence, opened, substituted
from tensorgen.operators.running import flipped, running

WALKS = {
    "maximum": "running_max",
    "minimum": "running_min",
    "logaddexp": "running_logsumexp",
}
"""Functions of a state and an item, and what walks with them."""


def accumulated(graph: Graph, whole: Recurrence) -> Node | None:
    """Return the history of the only state of a recurrence by a walk, if there is one.

    The step must be the sum, the product, the larger or the smaller, or the logaddexp
    of the state and of something that does not depend on it; or a fixed multiple of the
    state plus such a thing.
    """
    if len(whole.starts) != 1 or whole.steps.made:
        return None
    own = opened(graph, whole)
    (state,), (new,) = own.states, own.new
    found = _walk(graph, own, state, new)
    if found is None:
        return None
    name, rest, gain = found
    if not can_be_at_once(rest, {*own.items}) or state in topological([rest]):
        return None
    items = dict(zip(own.items, whole.rows, strict=True))
    every = AllSteps(graph, whole.steps.count, items).of(rest)
    given = [every, *([] if gain is None else [gain])]
    rows, *gains = substituted(graph, given, own.constants)
    first = _joined(graph, whole.starts[0], rows, whole.steps.backwards)
    if name == "running_sum":
        done = _summed(graph, first)
    elif name in WALKS.values():
        done = running(graph, first, 0, name)
    else:
        done = graph.call(name, [first, *gains], first.dims)
    return flipped(graph, done, 0) if whole.steps.backwards else done


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
        case Product(coefficient=scale, factors=factors) if whole in factors:
            if not (new.inner or new.constraints) and len(factors) > 1:
                others = [ref for ref in factors if ref != whole]
                below = topological([ref.node for ref in others])
                once = len(others) == len(factors) - 1
                if once and any(item in below for item in own.items):
                    sizes = dict(enumerate(state.dims))
                    rest = graph.product(axes, others, coefficient=scale, sizes=sizes)
                    return "running_product", rest, None
        case Sum(terms=terms):
            mine = [t for t in terms if state in topological([t.node])]
            if len(mine) == 1:
                sizes = dict(enumerate(state.dims))
                kept = [(t.coefficient, *t.ref) for t in terms if t not in mine]
                rest = graph.sum(axes, kept, sizes)
                if mine[0].ref == whole and mine[0].coefficient == 1:
                    return "running_sum", rest, None
                gain = _gain(graph, own, state, mine[0].ref)
                if gain is not None:
                    return "filtered", rest, graph.scale(gain, mine[0].coefficient)
    return None


def _gain(graph: Graph, own: Opened, state: Node, term: Ref) -> Node | None:
    """What a term multiplies the state by, if that is a number at all steps."""
    axes = tuple(range(state.order))
    if term == Ref(state, axes):
        return graph.constant(1)
    node = term.node
    if not isinstance(node, Product) or term.labels != axes:
        return None
    if node.inner or node.constraints or Ref(state, axes) not in node.factors:
        return None
    others = [ref for ref in node.factors if ref.node is not state]
    if len(others) != len(node.factors) - 1 or any(ref.labels for ref in others):
        return None
    below = topological([ref.node for ref in others])
    if state in below or any(item in below for item in own.items):
        return None
    return graph.product((), others, coefficient=node.coefficient)


def _spread(graph: Graph, state: Node, other: Ref) -> Node:
    sizes = dict(enumerate(state.dims))
    return graph.product(range(state.order), [other], sizes=sizes)


def _joined(graph: Graph, start: Node, rows: Node, backwards: bool) -> Node:
    """What a recurrence starts from, and its rows, in the order of its steps."""
    count, axes = rows.dims[0], range(1, rows.order)
    if backwards:
        rows = flipped(graph, rows, 0)
    out, sizes = ("row", *axes), {"row": count + 1}
    parts: list[tuple[Node, tuple[object, ...], dict[object, int], Dim]] = [
        (start, tuple(axes), {"row": 1}, ZERO),
        (rows, ("step", *axes), {"row": 1, "step": -1}, Dim.of(-1)),
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


def _summed(graph: Graph, first: Node) -> Node:
    """Return running sums along the first axis."""
    axes = range(1, first.order)
    return graph.product(
        ("row", *axes),
        [(first, ("step", *axes))],
        constraints=[indicator({"row": 1, "step": -1})],
        sizes={"row": first.dims[0]},
    )
