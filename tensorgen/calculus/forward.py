"""Forward mode: tangents from inputs to outputs (Theorems 5, 6 and 7)."""

from __future__ import annotations

from collections.abc import Container, Hashable, Mapping, Sequence

from tensorgen.calculus.defined_rules import tangent as of_defined
from tensorgen.calculus.external_rules import tangents as of_external
from tensorgen.calculus.implicit_derivatives import tangent as of_unknown
from tensorgen.calculus.partials import levels_off, partials, sizes_of, transfers
from tensorgen.calculus.recurrence_tangents import Tangents
from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Call, Node, is_zero, topological
from tensorgen.operators.called_values import call_derivative
from tensorgen.operators.defined_calls import is_defined
from tensorgen.operators.external_calls import is_external
from tensorgen.operators.recurrences.recurrence import Recurrence, is_recurrence
from tensorgen.operators.solved_arrays import is_unknown
from tensorgen.operators.word_shapes import JACOBIAN, TANGENT


def pushforward(
    graph: Graph,
    roots: Sequence[Node],
    tangents: Mapping[Node, Node],
    extra: Sequence[Dim],
) -> list[Node]:
    """Return the tangents of `roots`, of dims `root.dims + extra`.

    `tangents` gives those of the inputs that vary, of dims `input.dims + extra`: a
    unit tensor for a Jacobian, a direction (with `extra` empty) for a product.
    """
    stored: dict[Node, Node] = dict(tangents)
    found: dict[Recurrence, Tangents] = {}
    order = topological(roots)
    level = levels_off(order)
    for node in order:
        if node in stored:
            continue
        tangent = tangent_of(graph, node, stored, extra, found, level)
        if tangent is None:
            continue
        stored[node] = tangent
        call_derivative(graph, JACOBIAN if extra else TANGENT, node, tangent)
    return [stored.get(root, graph.zeros((*root.dims, *extra))) for root in roots]


def tangent_of(
    graph: Graph,
    node: Node,
    stored: Mapping[Node, Node],
    extra: Sequence[Dim],
    found: dict[Recurrence, Tangents],
    level: Container[Node] = (),
) -> Node | None:
    """Return the tangent of a node for those `stored` of its operands.

    None where no operand varies. `found` keeps tangents of steps for further results.
    """
    directions = tuple(("direction", k) for k in range(len(extra)))
    out = (*range(node.order), *directions)
    sizes = sizes_of(node)
    sizes.update(zip(directions, extra, strict=True))
    terms: list[tuple[int, Node, Sequence[Hashable]]] = []
    if is_recurrence(node):
        carried = _recurrence(graph, node, stored, extra, found)
        terms += [] if carried is None else [(1, carried, out)]
    if is_unknown(node):
        solved = of_unknown(graph, node, stored, extra, pushforward)
        terms += [] if solved is None else [(1, solved, out)]
    if is_defined(node):
        pushed = of_defined(graph, node, stored, extra, pushforward)
        terms += [] if pushed is None else [(1, pushed, out)]
    if is_external(node):
        told = of_external(graph, node, stored, extra, pushforward)
        terms += [(1, tangent, out) for tangent in told]
    for call, arg, rule in transfers(node):
        if arg in stored:
            terms.append((1, rule.forward(graph, call, stored[arg], extra), out))
    for p in partials(graph, node, stored, level):
        term = graph.product(
            out,
            [*p.factors, (stored[p.operand], (*p.labels, *directions))],
            coefficient=p.coefficient,
            constraints=p.constraints,
            sizes=sizes,
        )
        if not is_zero(term):
            terms.append((1, term, out))
    return graph.sum(out, terms, {k: sizes[k] for k in out}) if terms else None


def _recurrence(
    graph: Graph,
    call: Call,
    stored: Mapping[Node, Node],
    extra: Sequence[Dim],
    found: dict[Recurrence, Tangents],
) -> Node | None:
    """The tangent of a result; all results of a recurrence share that of its steps."""
    whole = Recurrence.of(call)
    if whole not in found:
        tangents = {x: stored[x] for x in whole.arguments if x in stored}
        if not tangents:
            return None
        found[whole] = Tangents(graph, whole, tangents, extra, pushforward)
    carried = found[whole].of(call)
    return None if is_zero(carried) else carried
