"""Recurrences whose steps do no more than has to be done step by step.

What a step computes without its states is computed for all steps at once, before; what
is the same at all steps is computed once. States that nothing asks for are gone, and of
one whose last value is asked for alone no other is kept. What is left of a step is
planned like any function.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import (
    Call,
    Input,
    Map,
    Node,
    Product,
    children,
    delta,
    topological,
)
from tensorgen.ir.rebuild import carry_names, with_operands
from tensorgen.operators.all_steps import AllSteps, can_be_at_once, long_axes
from tensorgen.operators.recurrences import (
    Opened,
    Recurrence,
    State,
    is_recurrence,
    opened,
    recurrence,
    result_of,
    substituted,
)
from tensorgen.passes.accumulate import accumulated
from tensorgen.passes.context import Context
from tensorgen.passes.join_slices import join_slices
from tensorgen.passes.rates import Rate, Rates
from tensorgen.passes.remember_steps import is_work, remember_steps, room_of

Plan = Callable[[Context, Sequence[Node]], Sequence[Node]]
Result = tuple[int, bool]


def shorten_steps(context: Context, roots: Sequence[Node], plan: Plan) -> list[Node]:
    """Return `roots` with shorter steps; `plan` says how to compute some nodes.

    Ends: each recurrence is replaced twice, and those inside of its steps by `plan`.
    """
    graph = context.graph
    slices: dict[Node, Node] = {}

    def prepared(whole: Recurrence, asked: Sequence[Result]) -> list[Node]:
        return _prepared(context, whole, asked, slices)

    def planned(whole: Recurrence, asked: Sequence[Result]) -> list[Node]:
        return _planned(context, whole, asked, plan)

    ready = _each(graph, _ends(graph, roots), prepared)
    kept = remember_steps(context, substituted(graph, ready, slices))
    return _each(graph, kept, planned)


def _each(
    graph: Graph,
    roots: Sequence[Node],
    change: Callable[[Recurrence, Sequence[Result]], Sequence[Node]],
) -> list[Node]:
    """Return `roots` with other nodes for the results of each recurrence."""
    asked: dict[Recurrence, dict[Result, None]] = {}
    for node in topological(roots):
        if is_recurrence(node):
            asked.setdefault(Recurrence.of(node), {})[result_of(node)] = None
    new: dict[Node, Node] = {}
    found: dict[Recurrence, dict[Result, Node]] = {}
    for node in topological(roots):
        if not is_recurrence(node):
            new[node] = with_operands(graph, node, new)
        else:
            whole = Recurrence.of(node)
            if whole not in found:
                moved = Recurrence.of(_as_call(with_operands(graph, node, new)))
                results = change(moved, [*asked[whole]])
                found[whole] = dict(zip(asked[whole], results, strict=True))
            new[node] = found[whole][result_of(node)]
        carry_names(graph, node, new[node])
    return [new[root] for root in roots]


def _as_call(node: Node) -> Call:
    assert isinstance(node, Call)
    return node


# The last value alone


def _ends(graph: Graph, roots: Sequence[Node]) -> list[Node]:
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
        call = _as_call(history)
        if history in roots or not all(_reads_end(call, x) for x in own):
            continue
        known[history] = Recurrence.of(call).last(graph, result_of(call)[0])
        carry_names(graph, history, known[history])
    if not known:
        return list(roots)
    new: dict[Node, Node] = {}
    for node in order:
        if isinstance(node, Product) and any(x in known for x in children(node)):
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
    factors = [
        (
            (known[ref.node], ref.labels[1:])
            if ref.node in known
            else (new[ref.node], ref.labels)
        )
        for ref in node.factors
    ]
    kept = [x for x in node.constraints if rows.isdisjoint(x.form.labels)]
    return graph.product(
        range(node.order),
        factors,
        coefficient=node.coefficient,
        constraints=kept,
        sizes={x: dim for x, dim in enumerate(node.sizes) if x not in rows},
    )


# What is left of a step


def _prepared(
    context: Context,
    whole: Recurrence,
    asked: Sequence[Result],
    slices: dict[Node, Node],
) -> list[Node]:
    """The results that are asked for, of steps as they are to be looked at.

    What products are not taken apart for is made for all steps: then it is the same
    everywhere. So is what is made of slices together, in place of these `slices`.
    """
    graph, own = context.graph, opened(context.graph, whole)
    alive, made = _alive(own, asked)
    roots = [*(own.new[k] for k in alive), *(own.made[k] for k in made)]
    items: dict[Input, Node] = dict(zip(own.items, whole.rows, strict=True))
    filled = substituted(graph, roots, own.constants)
    joined = join_slices(graph, filled)
    known: dict[Node, Node] = dict(joined)
    for old, (before, after) in _at_all_steps(graph, own, joined, items).items():
        known[old] = place = graph.fresh(old.dims, (), None)
        items[place] = slices[before] = after
    filled = substituted(graph, filled, known)
    firm, rows = _hoisted(context, own, filled, items, _is_firm)
    result = _remade(graph, own, alive, firm, rows)
    return _results(graph, result, own, asked)


def _planned(
    context: Context, whole: Recurrence, asked: Sequence[Result], plan: Plan
) -> list[Node]:
    """The results that are asked for, of steps as they are computed."""
    graph, own = context.graph, opened(context.graph, whole)
    alive, made = _alive(own, asked)
    roots = [*(own.new[k] for k in alive), *(own.made[k] for k in made)]
    inner = replace(context, rates=Rates(own.states), compressed={}, doubtful=0)
    items: dict[Input, Node] = dict(zip(own.items, whole.rows, strict=True))
    filled = substituted(graph, roots, own.constants)
    short, rows = _hoisted(context, own, plan(inner, filled), items, is_work)
    result = _remade(graph, own, alive, short, rows)
    walk = accumulated(graph, result)
    if walk is not None:
        return [walk if every else result.at_last(graph, walk) for _, every in asked]
    return _results(graph, result, own, asked)


def _remade(
    graph: Graph,
    own: Opened,
    alive: Sequence[int],
    roots: Sequence[Node],
    rows: Mapping[Input, Node],
) -> Recurrence:
    """The recurrence of the states that are alive, with other steps."""
    kept = [
        State(own.states[k], own.whole.starts[k], new)
        for k, new in zip(alive, roots, strict=False)
    ]
    steps, others = own.whole.steps, roots[len(alive) :]
    return recurrence(graph, steps.count, steps.backwards, kept, rows, others)


def _results(
    graph: Graph, result: Recurrence, own: Opened, asked: Sequence[Result]
) -> list[Node]:
    """What was asked for of a recurrence, of one with what is alive in it."""
    states = len(own.states)
    alive, made = _alive(own, asked)
    found: list[Node] = []
    for k, every in asked:
        if k >= states:
            found.append(result.made(graph, made.index(k - states)))
        else:
            take = result.history if every else result.last
            found.append(take(graph, alive.index(k)))
    return found


def _at_all_steps(
    graph: Graph,
    own: Opened,
    replaced: Mapping[Node, Node],
    items: Mapping[Input, Node],
) -> dict[Node, tuple[Node, Node]]:
    """Nodes of a step that need no state, for all steps: as they are, and replaced."""
    rates, at_once = Rates(own.states), AllSteps(graph, own.whole.steps.count, items)
    return {
        old: (at_once.of(old), at_once.of(new))
        for old, new in replaced.items()
        if rates.of(old) == Rate.DATA and can_be_at_once(new, items)
    }


def _alive(own: Opened, asked: Sequence[Result]) -> tuple[list[int], list[int]]:
    """The states that results depend on, and what is asked for of what is made."""
    states = len(own.states)
    made = sorted({k - states for k, _ in asked if k >= states})
    alive = {k for k, _ in asked if k < states}
    waiting = [*(own.new[k] for k in alive), *(own.made[k] for k in made)]
    while waiting:
        below = set(topological(waiting))
        more = [k for k, at in enumerate(own.states) if at in below and k not in alive]
        alive |= set(more)
        waiting = [own.new[k] for k in more]
    return sorted(alive), made


def _hoisted(
    context: Context,
    own: Opened,
    roots: Sequence[Node],
    items: Mapping[Input, Node],
    worth: Callable[[Graph, Node], bool],
) -> tuple[list[Node], dict[Input, Node]]:
    """Take out of a step what needs no state, where its rows are not too large."""
    graph, cost = context.graph, context.cost
    rates = Rates(own.states)
    room = room_of(cost, (*own.states, *items))
    at_once = AllSteps(graph, own.whole.steps.count, items)
    below: dict[Node, bool] = {}
    for node in topological(roots):
        below[node] = node in items or any(below[x] for x in children(node))
    known: dict[Node, Node] = {}
    rows = dict(items)
    waiting = list(dict.fromkeys(roots))
    seen: set[Node] = set()
    while waiting:
        node = waiting.pop()
        if node in seen or not below[node] or node in items:
            continue
        seen.add(node)
        fits = cost.size(long_axes(node)) <= room
        steady = rates.of(node) == Rate.DATA
        if steady and fits and can_be_at_once(node, items) and worth(graph, node):
            place = graph.fresh(node.dims, (), None)
            known[node], rows[place] = place, at_once.of(node)
        else:
            waiting += children(node)
    return substituted(graph, roots, known), rows


def _is_firm(graph: Graph, node: Node) -> bool:
    """Whether no pass looks into a node where it is used."""
    firm = node in graph.names or isinstance(node, Map | Call)
    return firm and (isinstance(node, Product) or is_work(graph, node))
