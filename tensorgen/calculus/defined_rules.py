"""Derivatives of definitions that stay one thing: functions beside them.

A direction of the arguments is taken to that of the result by a call of the tangents
of the text; a cotangent of a result to those of all arguments that vary, together, by a
call of what reverse mode makes of the text. Where there are several directions or
cotangents at once, the text is read in place of the call.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence

from tensorgen.calculus.quotients import fold_quotients
from tensorgen.calculus.recurrence_derivatives import Forward, Reverse
from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Call, Node, is_zero, topological
from tensorgen.operators.defined_calls import Defined, defined_of, made_of, result_of

COTANGENT = "ct"


def tangent(
    graph: Graph,
    call: Call,
    stored: Mapping[Node, Node],
    extra: Sequence[Dim],
    forward: Forward,
) -> Node | None:
    """Return the tangent of a call for those `stored` of its arguments."""
    own = defined_of(call)
    given = {
        k: stored[x]
        for k, x in enumerate(call.args)
        if x in stored and not is_zero(stored[x])
    }
    if not given:
        return None
    result = result_of(call)
    if extra:
        along: dict[Node, Node] = {own.places[k]: x for k, x in given.items()}
        found = forward(graph, [own.results[result]], along, extra)
        return own.at(graph, found, call.args)[0]
    made = own.once(("jvp", *given), lambda: _jvp(graph, own, [*given], forward))
    return _called(graph, made, call, [*given.values()], result)


def cotangents(
    graph: Graph,
    call: Call,
    bar: Node,
    wanted: Container[Node],
    rows: Sequence[Dim],
    reverse: Reverse,
) -> list[tuple[Node, Node]]:
    """Return arguments with what a cotangent of a call says of them."""
    own = defined_of(call)
    root = own.results[result_of(call)]
    below = {*topological([root])}
    some = [
        k
        for k, (x, at) in enumerate(zip(call.args, own.places, strict=True))
        if x in wanted and at in below
    ]
    args = [call.args[k] for k in some]
    if not some:
        return []
    if rows:
        found = reverse(graph, {root: bar}, [own.places[k] for k in some], rows)
        return [*zip(args, own.at(graph, found, call.args), strict=True)]
    which = result_of(call)
    made = own.once(
        ("vjp", which, *some), lambda: _vjp(graph, own, which, some, reverse)
    )
    bars = [_called(graph, made, call, [bar], n) for n, _ in enumerate(some)]
    return [*zip(args, bars, strict=True)]


def _jvp(
    graph: Graph, own: Defined, varying: Sequence[int], forward: Forward
) -> Defined:
    dots = [graph.fresh(own.places[k].dims, (), None) for k in varying]
    along: dict[Node, Node] = {
        own.places[k]: at for k, at in zip(varying, dots, strict=True)
    }
    found = fold_quotients(graph, forward(graph, own.results, along, ()))
    more = [f"{own.words[k]}_dot" for k in varying]
    about = f"Push directions of arguments of `{own.name}` forward, to {{}}."
    outputs = [f"{output}_dot" for output in own.outputs]
    places, words = (*own.places, *dots), (*own.words, *more)
    return made_of(own, "jvp", about, found, places, words, outputs)


def _vjp(
    graph: Graph, own: Defined, result: int, varying: Sequence[int], reverse: Reverse
) -> Defined:
    root = own.results[result]
    bar = graph.fresh(root.dims, (), None)
    places = [own.places[k] for k in varying]
    found = fold_quotients(graph, reverse(graph, {root: bar}, places, ()))
    about = f"Pull a cotangent of `{own.name}` back, to {{}}."
    outputs = [f"d_{own.words[k]}" for k in varying]
    every, words = (*own.places, bar), (*own.words, COTANGENT)
    return made_of(own, "vjp", about, found, every, words, outputs)


def _called(
    graph: Graph, made: Defined, call: Call, more: Sequence[Node], result: int = 0
) -> Node:
    """A call of what has been made of a definition, at the same arguments."""
    if is_zero(made.results[result]):
        return made.results[result]
    every = (*call.args, *more)
    found = made.of(graph, [every[k] for k in made.takes], result)
    graph.suggest(found, made.outputs[result])
    return found
