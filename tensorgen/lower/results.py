"""Whole arrays: values that broadcast, spelled out; results that alias nothing."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from tensorgen.ir.dims import Dim
from tensorgen.ir.nodes import Call, Input, Node, Product
from tensorgen.lower.layout import aligned, ordered
from tensorgen.lower.text import Expr, Level
from tensorgen.lower.writer import Writer
from tensorgen.operators.calls import OPERATORS


def full(writer: Writer, expr: Expr, dims: Sequence[Dim]) -> Expr:
    """The array with all axes `dims`, in order, as numbers of the common dtype."""
    axes = tuple(range(len(dims)))
    expr = writer.as_float(expr)
    if expr.weak:
        return _constant(writer, expr, dims)
    if set(expr.labels) == set(axes):
        return ordered(expr, axes)
    shape = writer.shape(dims)
    if not expr.labels:
        dtype = f"dtype={writer.dtype()}"
        return Expr(writer.np("full", shape, expr.text, dtype), labels=axes)
    spread = aligned(expr, axes)
    text = writer.np("broadcast_to", spread.text, shape)
    # A broadcast array is a view even of a value that no variable holds.
    return Expr(text, labels=axes, base=expr.base or "")


def _constant(writer: Writer, expr: Expr, dims: Sequence[Dim]) -> Expr:
    dtype = f"dtype={writer.dtype()}"
    axes = tuple(range(len(dims)))
    if not dims:
        return Expr(f"{writer.np('asarray', expr.text, dtype)}[()]")
    plain = {"0": "zeros", "1": "ones"}.get(expr.text)
    shape = writer.shape(dims)
    if plain:
        return Expr(writer.np(plain, shape, dtype), labels=axes)
    return Expr(writer.np("full", shape, expr.text, dtype), labels=axes)


def is_view(node: Node, expr: Expr, variables: Collection[str]) -> bool:
    """Whether an array shares memory with one of some inputs."""
    if not expr.base:
        return expr.base is not None and _origin(node) in variables
    return expr.base in variables


def _origin(node: Node) -> str | None:
    """The input of which a value has entries; a view of a diagonal does not tell."""
    match node:
        case Input(name=name):
            return name
        case Product(factors=(only,)):
            return _origin(only.node)
        case Call(operator=operator, args=(only,)) if OPERATORS[operator].view:
            return _origin(only)
    return None


def result(
    writer: Writer,
    expr: Expr,
    dims: Sequence[Dim],
    shared: Collection[str],
    fresh: bool,
) -> Expr:
    """The array as a result; `fresh` ones share no memory with `shared` variables."""
    repeats = len(set(expr.labels)) < len(dims)
    expr = full(writer, expr, dims)
    if not dims and expr.boxed:
        return Expr(f"{expr.at(Level.ATOM)}[()]")
    if not fresh or expr.base is None:
        return expr
    # A broadcast array repeats entries, and cannot be written to whoever owns them.
    if not repeats and expr.base and expr.base not in shared:
        return expr
    if not dims:
        # A copy for a scalar of whatever kind.
        return replace(
            expr, text=f"+{expr.at(Level.ATOM)}", level=Level.UNARY, base=None
        )
    return Expr(f"{expr.at(Level.ATOM)}.copy()", labels=expr.labels)
