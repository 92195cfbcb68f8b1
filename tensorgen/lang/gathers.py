"""Positions that are index arrays: `U[row]`, `X[arange(n), label]`, `x[argsort(t)]`.

As in NumPy the arrays in one pair of brackets broadcast against each other. Their axes
stand where the arrays do, or first if anything else comes between these.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from tensorgen.ir.constraints import index_bound
from tensorgen.ir.dims import Dim
from tensorgen.ir.nodes import Constraint, Iota, Lookup, Node, Product, delta
from tensorgen.lang.affine import affine_form
from tensorgen.lang.foreign_names import KEPT
from tensorgen.lang.index_forms import Form
from tensorgen.lang.statement import Statement
from tensorgen.operators.functions.arithmetic import is_condition
from tensorgen.operators.functions.array import (
    Array,
    Label,
    Misuse,
    Place,
    Shape,
    align,
)


@dataclass(frozen=True, slots=True)
class Gathered:
    """The index arrays of a pair of brackets, by the texts of their positions.

    Each has the numbers of the axes of `shape` for labels. Other positions are affine
    `forms`; each is read once, for they nest.
    """

    forms: dict[ast.expr, Form]
    shape: Shape
    arrays: dict[ast.expr, tuple[Array, tuple[Label, ...]]]
    first: bool


def gathered(e: Statement, items: Sequence[ast.expr]) -> Gathered | None:
    """Return the index arrays among positions; None with a fault noted."""
    plain = [item for item in items if not _is_whole(item)]
    found = {item: affine_form(e, item) for item in plain}
    forms = {item: form for item, form in found.items() if form is not None}
    parts = [item for item in plain if item not in forms]
    arrays = []
    for part in parts:
        if e.unbound(part):
            return None
        array = e.value(part)
        if array is None:
            return None
        if _bound(array.node) is None:
            shown = e.expression.source(part)
            hint = "a position is an affine form of indices and dims, or an index array"
            if is_condition(array.node):
                hint = KEPT
            e.fault(f"'{shown}' cannot be a position", part, hint=hint)
            return None
        arrays.append(array)
    try:
        shape, aligned = align(e.build, arrays, "positions")
    except Misuse as misuse:
        marked: dict[Place, ast.expr] = {
            ("operand", k): part for k, part in enumerate(parts)
        }
        e.misused(misuse, parts[0], marked)
        return None
    places = [k for k, item in enumerate(items) if item in plain]
    apart = bool(parts) and places[-1] - places[0] >= len(places)
    return Gathered(forms, shape, dict(zip(parts, aligned, strict=True)), apart)


def _is_whole(item: ast.expr) -> bool:
    """Whether a position is a slice, `...` or `None`."""
    if isinstance(item, ast.Constant):
        return item.value is None or item.value is Ellipsis
    return isinstance(item, ast.Slice)


def _bound(node: Node) -> Dim | None:
    """What the entries of an index array are below, one that counts included."""
    counted = _counted(node, range(node.order))
    return index_bound(node) if counted is None else counted[0]


def _counted(node: Node, labels: Sequence[Label]) -> tuple[Dim, Label] | None:
    """The length of an array that counts along an axis, and the label of this axis."""
    match node:
        case Iota():
            return node.dims[0], labels[0]
        case Product(coefficient=1, constraints=(), factors=((inner, own),)):
            if not node.inner and isinstance(inner, Iota):
                return inner.dims[0], labels[own[0]]
    return None


def placed(
    e: Statement, array: Array, labels: Sequence[Label], length: Dim, item: ast.expr
) -> Constraint | None:
    """Return what an axis of a length equals, negated; None with a fault noted."""
    whole = array.labels(labels)
    bound = _bound(array.node)
    assert bound is not None
    try:
        e.build.require(bound, length, f"'{e.expression.source(item)}'")
    except Misuse as misuse:
        e.misused(misuse, item, {})
        return None
    counted = _counted(array.node, whole)
    return delta({Lookup(array.node, whole) if counted is None else counted[1]: -1})
