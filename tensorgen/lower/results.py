"""Whole arrays: values that broadcast, spelled out; results that alias nothing."""

from __future__ import annotations

from collections.abc import Collection

from tensorgen.arrays.arrays import is_boxed, is_sliding
from tensorgen.arrays.operations import AsArray, Broadcast, Copy, Fill, Unbox
from tensorgen.ir.dims import Dim
from tensorgen.ir.nodes import Call, Input, Node, Product
from tensorgen.lower.axes import aligned, ordered
from tensorgen.lower.operands import Operand, as_float, literal, made
from tensorgen.operators.calls import OPERATORS


def full(operand: Operand, dims: tuple[Dim, ...]) -> Operand:
    """The array with all axes `dims`, in order, as numbers of the common dtype."""
    axes = tuple(range(len(dims)))
    operand = as_float(operand)
    if operand.weak:
        return _constant(operand, dims)
    if set(operand.labels) == set(axes):
        return ordered(operand, axes)
    if not operand.labels:
        return made(Fill(dims), axes, operand)
    repeated = any(dims[axis] != 1 for axis in axes if axis not in operand.labels)
    whole = aligned(operand, axes)
    return (
        made(Broadcast(dims), axes, whole)
        if repeated or whole.labels != axes
        else whole
    )


def _constant(operand: Operand, dims: tuple[Dim, ...]) -> Operand:
    axes = tuple(range(len(dims)))
    if not dims:
        return made(Unbox(), (), made(AsArray(), (), operand))
    value = literal(operand)
    if value in (0, 1):
        return made(Fill(dims, 1 if value else 0), axes)
    return made(Fill(dims), axes, operand)


def is_view(node: Node, operand: Operand, variables: Collection[str]) -> bool:
    """Whether an array shares memory with one of some inputs."""
    if not operand.base:
        return operand.base is not None and _origin(node) in variables
    return operand.base in variables


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
    operand: Operand, dims: tuple[Dim, ...], shared: Collection[str], fresh: bool
) -> Operand:
    """The array as a result; `fresh` ones share no memory with `shared` variables."""
    repeats = len(set(operand.labels)) < len(dims)
    operand = full(operand, dims)
    if not dims and is_boxed(operand.array) and operand.base not in shared:
        return made(Unbox(), (), operand)
    if not fresh or operand.base is None:
        return operand
    # An array that repeats entries cannot be written to, whoever owns them.
    repeats = repeats or is_sliding(operand.array)
    if not repeats and operand.base and operand.base not in shared:
        return operand
    return made(Copy(scalar=not dims), operand.labels, operand)
