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
from tensorgen.ir.nodes import Call, Input, Map, Node, Product, children, topological
from tensorgen.ir.rebuild import carry_names, substituted, with_operands
from tensorgen.operators.recurrences.all_steps import (
    AllSteps,
    can_be_at_once,
    long_axes,
)
from tensorgen.operators.recurrences.recurrence import (
    Opened,
    Recurrence,
    State,
    as_call,
    call_state,
    is_recurrence,
    name_of,
    opened,
    recurrence,
    result_of,
)
from tensorgen.passes.context import Context
from tensorgen.passes.rates import Rate, Rates
from tensorgen.passes.steps.accumulate import accumulated
from tensorgen.passes.steps.at_ends import at_ends
from tensorgen.passes.steps.join_recurrences import join_recurrences
from tensorgen.passes.steps.join_slices import join_slices
from tensorgen.passes.steps.needed_states import Needed, Result, lessened, needed_by
from tensorgen.passes.steps.remember_steps import (
    is_tie,
    is_work,
    remember_steps,
    room_of,
)

Plan = Callable[[Context, Sequence[Node]], Sequence[Node]]
Words = Sequence[str | None]
"""What the states of a recurrence are called after."""


def shorten_steps(context: Context, roots: Sequence[Node], plan: Plan) -> list[Node]:
    """Return `roots` with shorter steps; `plan` says how to compute some nodes.

    Ends: each recurrence is joined to another at most once, and replaced twice; those
    inside of its steps are by `plan`.
    """
    graph = context.graph
    slices: dict[Node, Node] = {}

    def prepared(
        whole: Recurrence, words: Words, asked: Sequence[Result]
    ) -> list[Node]:
        return _prepared(context, whole, words, asked, slices)

    def planned(whole: Recurrence, words: Words, asked: Sequence[Result]) -> list[Node]:
        return _planned(context, whole, words, asked, plan)

    joined = join_recurrences(context, at_ends(graph, lessened(graph, roots)))
    ready = _each(graph, joined, prepared)
    kept = remember_steps(context, substituted(graph, ready, slices))
    return _each(graph, kept, planned)


def _each(
    graph: Graph,
    roots: Sequence[Node],
    change: Callable[[Recurrence, Words, Sequence[Result]], Sequence[Node]],
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
                moved = Recurrence.of(as_call(with_operands(graph, node, new)))
                words = [name_of(graph, whole, k) for k in range(len(whole.starts))]
                results = change(moved, words, [*asked[whole]])
                found[whole] = dict(zip(asked[whole], results, strict=True))
            new[node] = found[whole][result_of(node)]
        carry_names(graph, node, new[node])
    return [new[root] for root in roots]


# What is left of a step


def _prepared(
    context: Context,
    whole: Recurrence,
    words: Words,
    asked: Sequence[Result],
    slices: dict[Node, Node],
) -> list[Node]:
    """The results that are asked for, of steps as they are to be looked at.

    What products are not taken apart for is made for all steps: then it is the same
    everywhere. So is what is made of slices together, in place of these `slices`. Not
    of runs: rows over all of these would be as many as over all steps.
    """
    graph, own = context.graph, opened(context.graph, whole)
    needed = needed_by(graph, own, asked)
    rows: dict[Input, Node] = dict(zip(own.items, whole.rows, strict=True))
    filled = substituted(graph, needed.roots, own.constants)
    joined = join_slices(graph, filled)
    known: dict[Node, Node] = dict(joined)
    inside = {*own.states, *own.items}
    slices.update(
        {
            old: new
            for old, new in joined.items()
            if inside.isdisjoint(topological([old]))
        }
    )
    if whole.steps.runs is None:
        for old, (before, after) in _at_all_steps(graph, own, joined, rows).items():
            known[old] = place = graph.fresh(old.dims, (), None)
            rows[place] = slices[before] = after
    filled = substituted(graph, filled, known)
    if whole.steps.runs is None:
        filled, rows = _hoisted(context, own, filled, rows, _is_firm)
    result = _remade(graph, needed, words, filled, rows)
    return [needed.result(graph, result, k, every) for k, every in asked]


def _planned(
    context: Context,
    whole: Recurrence,
    words: Words,
    asked: Sequence[Result],
    plan: Plan,
) -> list[Node]:
    """The results that are asked for, of steps as they are computed."""
    graph, own = context.graph, opened(context.graph, whole)
    needed = needed_by(graph, own, asked)
    inner = replace(
        context, rates=Rates(own.states), compressed={}, readings={}, doubtful=0
    )
    rows: dict[Input, Node] = dict(zip(own.items, whole.rows, strict=True))
    short = [*plan(inner, substituted(graph, needed.roots, own.constants))]
    if whole.steps.runs is not None:
        result = _remade(graph, needed, words, short, rows)
    else:
        short, rows = _hoisted(context, own, short, rows, is_work)
        result = _remade(graph, needed, words, short, rows)
        walk = accumulated(graph, result)
        if walk is not None:
            if (word := words[needed.states[0]]) is not None:
                graph.suggest(walk, word)
            last = result.at_last
            return [walk if every else last(graph, walk) for _, every in asked]
    return [needed.result(graph, result, k, every) for k, every in asked]


def _remade(
    graph: Graph,
    needed: Needed,
    words: Words,
    roots: Sequence[Node],
    rows: Mapping[Input, Node],
) -> Recurrence:
    """The recurrence of the states that are needed, with other steps."""
    own, count = needed.own, len(needed.states)
    kept = [
        State(own.states[k], own.whole.starts[k], new)
        for k, new in zip(needed.states, roots, strict=False)
    ]
    steps = own.whole.steps
    given = graph, steps.count, steps.backwards, kept, rows, roots[count:]
    result = recurrence(*given, runs=steps.runs)
    for number, k in enumerate(needed.states):
        if (word := words[k]) is not None:
            call_state(graph, result, number, word)
    return result


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
    # What is compared for equality is made in one place: see `remember_steps`.
    ties = {x for node in topological(roots) if is_tie(node) for x in children(node)}
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
        firm = node in ties or worth(graph, node)
        if steady and fits and firm and can_be_at_once(node, items):
            place = graph.fresh(node.dims, (), None)
            known[node], rows[place] = place, at_once.of(node)
        else:
            waiting += children(node)
    return substituted(graph, roots, known), rows


def _is_firm(graph: Graph, node: Node) -> bool:
    """Whether no pass looks into a node where it is used."""
    firm = node in graph.names or isinstance(node, Map | Call)
    return firm and (isinstance(node, Product) or is_work(graph, node))
