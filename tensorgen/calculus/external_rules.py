"""Derivatives of functions from outside, by the rules that the spec declares."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence

from tensorgen.calculus.recurrence_derivatives import Forward, Reverse
from tensorgen.errors import NoDerivative
from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Call, Input, Node, Ref, is_zero
from tensorgen.ir.rebuild import substituted
from tensorgen.operators.external_calls import External, external_of, lifted
from tensorgen.operators.table import Partial


def slopes(graph: Graph, call: Call, varying: Container[Node]) -> list[Partial]:
    """Return the derivatives by arguments, where these are what is declared."""
    own, axes = external_of(call), tuple(range(call.order))
    found = []
    for k, arg in enumerate(call.args):
        if arg not in varying or own.jvp is not None or k in own.vjps:
            continue
        if k not in own.slopes:
            _, _, name = own.places[k].name.rpartition(".")
            raise NoDerivative(
                f"'{own.name}' has no derivative by its argument '{name}'"
            )
        if own.dims is None:
            pairs = zip(own.places, call.args, strict=True)
            known: dict[Node, Ref] = {at: Ref(x, axes[: x.order]) for at, x in pairs}
            slope = lifted(graph, own.slopes[k], known)
            found.append(Partial(arg, axes[: arg.order], factors=(slope,)))
            continue
        (whole,) = _at(graph, call, own.slopes[k])
        labels = tuple(("by", axis) for axis in range(arg.order))
        found.append(Partial(arg, labels, factors=((whole, (*axes, *labels)),)))
    return found


def tangents(
    graph: Graph,
    call: Call,
    stored: Mapping[Node, Node],
    extra: Sequence[Dim],
    forward: Forward,
) -> Iterator[Node]:
    """Yield what rules of products with directions say of a tangent."""
    own = external_of(call)
    if own.jvp is not None:
        given: dict[Node, Node] = {
            at: stored[x]
            for at, x in zip(own.directions, call.args, strict=True)
            if x in stored and not is_zero(stored[x])
        }
        if given:
            yield _linear(graph, call, own.jvp, own.directions, given, extra, forward)
    for k, rule in own.vjps.items():
        arg = call.args[k]
        if arg in stored and not is_zero(stored[arg]):
            yield _along(graph, call, rule, arg, stored[arg], forward)


def cotangents(
    graph: Graph,
    call: Call,
    bar: Node,
    wanted: Container[Node],
    rows: Sequence[Dim],
    forward: Forward,
    reverse: Reverse,
) -> Iterator[tuple[Node, Node]]:
    """Yield arguments with what rules of products with directions say of them."""
    own = external_of(call)
    if own.jvp is not None:
        (over,) = _at(graph, call, own.jvp)
        pairs = zip(own.directions, call.args, strict=True)
        some = [(at, x) for at, x in pairs if x in wanted]
        found = reverse(graph, {over: bar}, [at for at, _ in some], rows)
        yield from zip([x for _, x in some], found, strict=True)
    for k, rule in own.vjps.items():
        if call.args[k] in wanted:
            ct = _cotangent(own)
            given: dict[Node, Node] = {ct: _turned(graph, bar, len(rows))}
            carried = _linear(graph, call, rule, [ct], given, rows, forward)
            yield call.args[k], _turned(graph, carried, call.args[k].order)


def _along(
    graph: Graph, call: Call, rule: Node, arg: Node, tangent: Node, forward: Forward
) -> Node:
    """The transpose of a rule for cotangents: the derivative that it is, times that."""
    (over,) = _at(graph, call, rule)
    unit = graph.unit(call.dims)
    (whole,) = forward(graph, [over], {_cotangent(external_of(call)): unit}, call.dims)
    arguments = [("by", axis) for axis in range(arg.order)]
    extra = [("extra", axis) for axis in range(tangent.order - arg.order)]
    axes = range(call.order)
    factors = [(whole, [*arguments, *axes]), (tangent, [*arguments, *extra])]
    return graph.product([*axes, *extra], factors)


def _linear(
    graph: Graph,
    call: Call,
    rule: Node,
    places: Sequence[Input],
    given: Mapping[Node, Node],
    extra: Sequence[Dim],
    forward: Forward,
) -> Node:
    """What a rule, linear in what stands at places, makes of something there."""
    if extra:
        (over,) = _at(graph, call, rule)
        return forward(graph, [over], given, extra)[0]
    # Read as it stands: it may call a function that nobody can differentiate.
    known: dict[Node, Node] = {at: graph.zeros(at.dims) for at in places}
    known |= given
    (found,) = substituted(graph, _at(graph, call, rule), known)
    return found


def _at(graph: Graph, call: Call, rule: Node) -> list[Node]:
    pairs = zip(external_of(call).places, call.args, strict=True)
    return substituted(graph, [rule], dict(pairs))


def _cotangent(own: External) -> Input:
    assert own.cotangent is not None
    return own.cotangent


def _turned(graph: Graph, node: Node, first: int) -> Node:
    return graph.permute(node, (*range(first, node.order), *range(first)))
