"""Derivatives of definitions that stay one thing: functions beside them.

A direction of the arguments is taken to that of the result by a call of the tangents
of the text; a cotangent of a result to those of all arguments that vary, together, by a
call of what reverse mode makes of the text. What is linear is its own tangent, and a
symmetric one its own pullback: then it is called itself. Where there are several
directions or cotangents at once, the text is read in place of the call.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from fractions import Fraction

from tensorgen.calculus.quotients import fold_quotients
from tensorgen.calculus.recurrence_derivatives import Forward, Reverse
from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Call, Input, Node, Sum, is_zero, topological
from tensorgen.ir.rebuild import substituted
from tensorgen.operators.defined_calls import (
    Defined,
    Made,
    defined_of,
    made_of,
    result_of,
)

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


def _jvp(graph: Graph, own: Defined, varying: Sequence[int], forward: Forward) -> Made:
    dots = [graph.fresh(own.places[k].dims, (), None) for k in varying]
    along: dict[Node, Node] = {
        own.places[k]: at for k, at in zip(varying, dots, strict=True)
    }
    found = fold_quotients(graph, forward(graph, own.results, along, ()))
    if (itself := _itself(graph, own, varying, dots, found)) is not None:
        return itself
    more = [f"{own.words[k]}_dot" for k in varying]
    about = f"Push directions of arguments of `{own.name}` forward, to {{}}."
    outputs = [f"{output}_dot" for output in own.outputs]
    places, words = (*own.places, *dots), (*own.words, *more)
    return made_of(own, "jvp", about, found, places, words, outputs)


def _vjp(
    graph: Graph, own: Defined, result: int, varying: Sequence[int], reverse: Reverse
) -> Made:
    root = own.results[result]
    bar = graph.fresh(root.dims, (), None)
    places = [own.places[k] for k in varying]
    found = fold_quotients(graph, reverse(graph, {root: bar}, places, ()))
    if (itself := _itself(graph, own, varying, [bar], found)) is not None:
        return itself
    about = f"Pull a cotangent of `{own.name}` back, to {{}}."
    outputs = [f"d_{own.words[k]}" for k in varying]
    every, words = (*own.places, bar), (*own.words, COTANGENT)
    return made_of(own, "vjp", about, found, every, words, outputs)


def _itself(
    graph: Graph,
    own: Defined,
    varying: Sequence[int],
    given: Sequence[Input],
    found: Sequence[Node],
) -> Made | None:
    """The definition, if what is derived is that of what is `given` for an argument."""
    if not len(varying) == len(given) == len(own.results) == 1:
        return None
    (k,), (at,), (root,), (text,) = varying, given, found, own.results
    same = at.dims == own.places[k].dims
    if not same or own.places[k] in topological([root]):
        return None
    (moved,) = substituted(graph, [root], {at: own.places[k]})
    if _terms(moved) != _terms(text):
        return None
    takes = [*range(len(own.places))]
    takes[k] = len(takes)
    return Made(own, tuple(takes))


def _terms(node: Node, times: Fraction = Fraction(1)) -> dict[Node, Fraction]:
    """What is added up, and how often: in whatever order, in sums of sums."""
    axes = tuple(range(node.order))
    if not isinstance(node, Sum) or any(tuple(x) != axes for _, _, x in node.terms):
        return {node: times}
    found: dict[Node, Fraction] = {}
    for coefficient, inner, _ in node.terms:
        for part, count in _terms(inner, times * coefficient).items():
            found[part] = found.get(part, Fraction()) + count
    return found


def _called(
    graph: Graph, made: Made, call: Call, more: Sequence[Node], result: int = 0
) -> Node:
    own = made.defined
    if is_zero(own.results[result]):
        return own.results[result]
    found = made.of(graph, (*call.args, *more), result)
    graph.suggest(found, own.outputs[result])
    return found
