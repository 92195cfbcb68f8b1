"""Recurrences of which the last value alone is read: no other is kept then."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Call, Node, Product, children, delta, topological
from tensorgen.ir.rebuild import carry_names, with_operands, with_parts
from tensorgen.operators.recurrences.recurrence import (
    Recurrence,
    as_call,
    is_recurrence,
    result_of,
)


def at_ends(graph: Graph, roots: Sequence[Node]) -> list[Node]:
    """Read the last value of a state, where nothing asks for another."""
    order = topological(roots)
    histories = {x: None for x in order if is_recurrence(x) and _is_history(x)}
    if not histories:
        return list(roots)
    users: dict[Node, list[Node]] = {x: [] for x in histories}
    for node in order:
        for child in dict.fromkeys(children(node)):
            if child in users:
                users[child].append(node)
    known: dict[Node, Node] = {}
    for history, own in users.items():
        call = as_call(history)
        every = history not in roots and all(_reads_end(call, x) for x in own)
        # With a checkpoint, each reading counts that does without the others.
        if not every and Recurrence.of(call).steps.checkpoint is None:
            continue
        known[history] = Recurrence.of(call).last(graph, result_of(call)[0])
        carry_names(graph, history, known[history])
    if not known:
        return list(roots)
    new: dict[Node, Node] = {}
    for node in order:
        ended = [as_call(x) for x in children(node) if x in known]
        if ended and all(_reads_end(x, node) for x in ended):
            assert isinstance(node, Product)
            new[node] = _at_end(graph, node, known, new)
        else:
            new[node] = with_operands(graph, node, new)
        carry_names(graph, node, new[node])
    return [new[root] for root in roots]


def _is_history(call: Call) -> bool:
    result, whole = result_of(call)
    return whole and result < len(Recurrence.of(call).starts)


def _reads_end(call: Call, user: Node) -> bool:
    """Whether a node reads nothing of a history but its last row."""
    if not isinstance(user, Product):
        return False
    steps = Recurrence.of(call).steps
    at = 0 if steps.backwards else steps.count
    rest = [label for ref in user.factors for label in ref.labels]
    ties = [label for one in user.constraints for label in one.form.labels]
    for ref in user.factors:
        if ref.node is call:
            row = ref.labels[0]
            if delta({row: 1}, -at) not in user.constraints:
                return False
            if row < user.order or rest.count(row) > 1 or ties.count(row) > 1:
                return False
    looked = children(user)[len(user.factors) :]
    return call not in looked


def _at_end(
    graph: Graph, node: Product, known: Mapping[Node, Node], new: Mapping[Node, Node]
) -> Node:
    """A product with last values in place of the last rows of histories."""
    rows = {ref.labels[0] for ref in node.factors if ref.node in known}
    uses = [
        (known[x], at[1:]) if x in known else (new[x], at) for x, at in node.factors
    ]
    kept = [x for x in node.constraints if rows.isdisjoint(x.form.labels)]
    return with_parts(graph, node, uses, kept)
