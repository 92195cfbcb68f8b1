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
    topological,
)
from tensorgen.ir.rebuild import carry_names, with_operands
from tensorgen.operators.all_steps import AllSteps, can_be_at_once
from tensorgen.operators.elementwise import ELEMENTWISE
from tensorgen.operators.recurrences import (
    Opened,
    Recurrence,
    State,
    as_call,
    is_recurrence,
    name_of,
    opened,
    recurrence,
    result_of,
    substituted,
)
from tensorgen.passes.accumulate import accumulated
from tensorgen.passes.at_ends import at_ends
from tensorgen.passes.context import Context
from tensorgen.passes.limits import ROOM_OF_ITEMS
from tensorgen.passes.needed_states import Result, lessened, needed_by
from tensorgen.passes.rates import Rate, Rates

Plan = Callable[[Context, Sequence[Node]], Sequence[Node]]


def shorten_steps(context: Context, roots: Sequence[Node], plan: Plan) -> list[Node]:
    """Return `roots` with shorter steps; `plan` says how to compute some nodes.

    Ends: each recurrence is replaced once, and those inside of its steps by `plan`.
    """
    graph = context.graph
    roots = at_ends(graph, lessened(graph, roots))
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
                moved = Recurrence.of(as_call(with_operands(graph, node, new)))
                words = [name_of(graph, whole, k) for k in range(len(whole.starts))]
                results = _shortened(context, moved, words, [*asked[whole]], plan)
                found[whole] = dict(zip(asked[whole], results, strict=True))
            new[node] = found[whole][result_of(node)]
        carry_names(graph, node, new[node])
    return [new[root] for root in roots]


# What is left of a step


def _shortened(
    context: Context,
    whole: Recurrence,
    words: Sequence[str | None],
    asked: Sequence[Result],
    plan: Plan,
) -> list[Node]:
    """The results that are asked for, of shorter steps; `words` name the states."""
    graph, own = context.graph, opened(context.graph, whole)
    needed = needed_by(graph, own, asked)
    inner = replace(context, rates=Rates(own.states), compressed={}, doubtful=0)
    items: dict[Input, Node] = dict(zip(own.items, whole.rows, strict=True))
    # What products are not taken apart for goes first: then it is the same everywhere.
    filled = substituted(graph, needed.roots, own.constants)
    runs = whole.steps.runs
    if runs is None:
        firm, rows = _hoisted(context, own, filled, items, _is_firm)
        short, rows = _hoisted(context, own, plan(inner, firm), rows, _is_work)
    else:  # rows over all runs would be as many as over all steps
        short, rows = [*plan(inner, filled)], items
    kept = [
        State(own.states[k], whole.starts[k], new)
        for k, new in zip(needed.states, short, strict=False)
    ]
    steps = whole.steps
    others = short[len(needed.states) :]
    given = graph, steps.count, steps.backwards, kept, rows, others
    result = recurrence(*given, runs=runs)
    for number, k in enumerate(needed.states):
        if (word := words[k]) is not None:
            graph.suggest(result.history(graph, number), word)
    walk = accumulated(graph, result) if runs is None else None
    if walk is not None:
        return [walk if every else result.at_last(graph, walk) for _, every in asked]
    return [needed.result(graph, result, k, every) for k, every in asked]


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
    room = max(cost.size(x.dims) for x in (*own.states, *items, graph.constant(1)))
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
        fits = cost.size(node.dims) <= ROOM_OF_ITEMS * room
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
    return firm and (isinstance(node, Product) or _is_work(graph, node))


def _is_work(graph: Graph, node: Node) -> bool:
    """Whether numbers are computed, and not merely read, scaled or compared."""
    if isinstance(node, Map) and ELEMENTWISE[node.function].boolean:
        return False
    if not isinstance(node, Product):
        return True
    return len(node.factors) > 1 or (bool(node.inner) and not node.constraints)
