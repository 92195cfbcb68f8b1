"""Parts of expressions as affine forms of indices, dims and entries of index arrays."""

from __future__ import annotations

import ast

from tensorgen.ir.constraints import index_bound
from tensorgen.ir.dims import Dim
from tensorgen.ir.nodes import Constraint, Kind, Lookup, affine
from tensorgen.lang.index_forms import Entry, Form, Index
from tensorgen.lang.ranges import floor_divided
from tensorgen.lang.statement import Statement

LARGEST = 10**15
"""No size or position is larger: such numbers in an affine form are a slip."""


def affine_form(e: Statement, tree: ast.expr) -> Form | None:
    """Return a part as an affine form of indices and dims; None if it is not one."""
    form = _affine_form(e, tree)
    return form if form is None or _is_small(form) else None


def size_form(e: Statement, tree: ast.expr) -> Dim | None:
    """Return a part as an affine form of dims alone; None if it is not one."""
    form = affine_form(e, tree)
    return None if form is None or form.terms else form.const


def _is_small(form: Form) -> bool:
    numbers = [c for _, c in (*form.terms, *form.const.terms)]
    return all(-LARGEST <= number <= LARGEST for number in numbers)


def _affine_form(e: Statement, tree: ast.expr) -> Form | None:
    match tree:
        case ast.Constant(value=int(number)) if not isinstance(number, bool):
            return Form.constant(number)
        case ast.Name(id=name) if name in e.scope:
            return e.ranges.value(e.scope[name])
        case ast.Name(id=name):
            thing = e.names.get(name)
            if thing is None or thing.value is None:
                return None
            if thing.dim is not None:
                e.use(name, tree)
                return Form.constant(thing.dim)
            return _entry(e, tree)
        case ast.Subscript():
            return _entry(e, tree) if _may_be_entry(e, tree) else None
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            form = affine_form(e, operand)
            return None if form is None else -form
        case ast.UnaryOp(op=ast.UAdd(), operand=operand):
            return affine_form(e, operand)
        case ast.BinOp(op=ast.FloorDiv()):
            return _quotient(e, tree)
        case ast.BinOp(op=ast.Add() | ast.Sub() | ast.Mult() as op):
            left, right = affine_form(e, tree.left), affine_form(e, tree.right)
            if left is None or right is None:
                return None
            match op:
                case ast.Add():
                    return left + right
                case ast.Sub():
                    return left - right
            return _times(left, right)
    return None


def _times(left: Form, right: Form) -> Form | None:
    if not left.terms and not right.terms:
        return Form.constant(left.const * right.const)
    for factor, form in ((left, right), (right, left)):
        if not factor.terms and factor.const.constant is not None:
            return form.scaled(factor.const.constant)
    return None


def _quotient(e: Statement, tree: ast.BinOp) -> Form | None:
    """A size divided by a number, the remainder of which is checked if need be."""
    left, right = size_form(e, tree.left), size_form(e, tree.right)
    divisor = None if right is None else right.constant
    if left is None or divisor is None or divisor < 1:
        return None
    found = floor_divided(left, divisor)
    if found is None:
        found = e.build.quotient(left, divisor, f"'{e.expression.source(tree)}'")
    return Form.constant(found)


def _may_be_entry(e: Statement, tree: ast.Subscript) -> bool:
    """Whether the array in front of brackets is an index array, found cheaply."""
    if not isinstance(tree.value, ast.Name):
        return False
    thing = e.names.get(tree.value.id)
    if thing is None or thing.value is None:
        return False
    return index_bound(thing.value.node) is not None


def _entry(e: Statement, tree: ast.expr) -> Form | None:
    array = e.value(tree)
    bound = None if array is None else index_bound(array.node)
    if array is None or bound is None or array.order:
        return None
    indices = tuple(label for label in array.batch if isinstance(label, Index))
    return Form.atom(Entry(array.node, indices, bound))


def constraint(e: Statement, kind: Kind, form: Form) -> Constraint:
    """Return a form as a constraint on axes, which all start at 0."""
    terms: list[tuple[object, int]] = []
    const = form.const
    for atom, c in form.terms:
        if isinstance(atom, Index):
            terms.append((atom, c))
            const = const + e.low(atom) * c
        else:
            terms.append((Lookup(atom.node, atom.indices), c))
    return Constraint(kind, affine(terms, const))
