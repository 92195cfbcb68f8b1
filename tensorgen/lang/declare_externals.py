"""Functions from outside: what is declared of them as nodes, and calls of them."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import cast

from tensorgen.errors import Text
from tensorgen.ir.dims import Dim, tuple_text
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Input, Node
from tensorgen.lang.bind_arguments import counted
from tensorgen.lang.scope import Names, Thing
from tensorgen.lang.statement import Session, Statement
from tensorgen.lang.syntax import parse
from tensorgen.operators.external_calls import External, called, is_liftable
from tensorgen.operators.functions.array import Array, Label, align, by_axis, union
from tensorgen.spec.externals import COTANGENT
from tensorgen.spec.model import ExternalSpec, Spec

WHAT = "a function from outside"


def externals_of(spec: Spec, graph: Graph) -> dict[str, Thing]:
    """Return what the names of functions from outside stand for."""
    found = {}
    for own in spec.externals:
        places = tuple(_place(graph, own, x.name, x.shape) for x in own.arguments)
        external = External(own.name, places, own.shape)
        if own.shape is not None:
            external.cotangent = _place(graph, own, COTANGENT, own.shape)
            external.directions = tuple(
                _place(graph, own, f"d{x.name}", x.shape) for x in own.arguments
            )
        found[own.name] = Thing(WHAT, external=external)
    return found


def _place(graph: Graph, own: ExternalSpec, name: str, dims: tuple[Dim, ...]) -> Input:
    return cast(Input, graph.input(f"{own.name}.{name}", dims))


def declare(session: Session, spec: Spec, things: Mapping[str, Thing]) -> None:
    """Tell functions from outside their derivatives.

    These may mention the arguments, definitions with parameters, other such functions,
    and sizes.
    """
    shared = {
        name: thing
        for name, thing in things.items()
        if thing.macro is not None
        or thing.external is not None
        or thing.dim is not None
    }
    for own in spec.externals:
        external = things[own.name].external
        assert external is not None
        for kind, by, text in own.rules:
            _rule(session, own, external, kind, by, text, shared)


def _rule(
    session: Session,
    own: ExternalSpec,
    external: External,
    kind: str,
    by: str,
    text: Text,
    shared: Mapping[str, Thing],
) -> None:
    body = parse(text, session.faults)
    if body is None:
        return
    given = {x.name: at for x, at in zip(own.arguments, external.places, strict=True)}
    if kind == "vjp" and external.cotangent is not None:
        given[COTANGENT] = external.cotangent
    if kind == "jvp":
        pairs = zip(own.arguments, external.directions, strict=True)
        given |= {f"d{x.name}": at for x, at in pairs}
    what = f"an argument of {own.name}"
    known = {name: Thing(what, Array(at)) for name, at in given.items()}
    statement = Statement(session, body, Names({**shared, **known}))
    value = statement.elaborate([])
    if value is None:
        return
    result = own.shape or ()
    k = [x.name for x in own.arguments].index(by) if by else 0
    dims = own.arguments[k].shape
    wanted = {"derivative": (*result, *dims), "vjp": dims, "jvp": result}[kind]
    if value.shape != wanted or value.batch:
        message = f"the {kind} of '{own.name}' must have shape {tuple_text(wanted)}"
        marks = [(text.span(), tuple_text(value.shape))]
        session.faults.add(message, text.span(), marks=marks)
    elif own.shape is None and not is_liftable(value.node):
        message = f"the derivative of '{own.name}' is not elementwise"
        hint = "it is made of numbers: the arguments, and elementwise functions of them"
        session.faults.add(message, text.span(), hint=hint)
    else:
        _store(external, kind, k, value.node)


def _store(external: External, kind: str, k: int, node: Node) -> None:
    if kind == "jvp":
        external.jvp = node
    else:
        (external.vjps if kind == "vjp" else external.slopes)[k] = node


def call_external(e: Statement, thing: Thing, tree: ast.Call) -> Array | None:
    """Return the value of a call."""
    own = thing.external
    assert own is not None
    values = e.values(tree.args)
    names = [at.name.rpartition(".")[2] for at in own.places]
    if tree.keywords or len(tree.args) != len(names):
        message = f"'{own.name}' takes {counted(len(names))}"
        e.fault(message, tree, hint=f"it is declared as {own}")
        return None
    if values is None:
        return None
    if own.dims is None:
        return _elementwise(e, own, values)
    for name, at, value, part in zip(names, own.places, values, tree.args, strict=True):
        if value.batch or value.shape != at.dims:
            marks = [(e.expression.span(part), tuple_text(value.shape))]
            message = f"'{name}' of '{own.name}' has shape {tuple_text(at.dims)}"
            hint = "it takes whole arrays, not one for each index"
            e.fault(message, part, marks, hint if value.batch else None)
            return None
    return Array(called(e.build.graph, own, [x.node for x in values]))


def _elementwise(e: Statement, own: External, values: list[Array]) -> Array:
    """The call over arrays that are broadcast against each other."""
    shape, aligned = align(e.build, values, f"'{own.name}'")
    batch = union(values)
    axes = range(len(shape))
    sizes: dict[Label, Dim] = by_axis(shape)
    for x in values:
        sizes |= dict(zip(x.batch, x.node.dims, strict=False))
    nodes = [
        (
            e.build.graph.product(
                (*batch, *axes), [(x.node, x.labels(labels))], sizes=sizes
            )
            if x.node.order
            else x.node
        )
        for x, labels in aligned
    ]
    return Array(called(e.build.graph, own, nodes), batch)
