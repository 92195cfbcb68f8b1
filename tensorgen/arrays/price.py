"""What code costs: arithmetic and memory, as polynomials in sizes.

One function a question, over all operations. Helpers count as what they are named for:
the copies that they make inside are not seen here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import assert_never

from tensorgen.arrays.arrays import Array, below
from tensorgen.arrays.code import Code
from tensorgen.arrays.operations import (
    Accumulate,
    Call,
    Contraction,
    Einsum,
    Entrywise,
    Index,
    InnerProduct,
    Leaf,
    Making,
    MatMul,
    Outer,
    Reduce,
    Solve,
    TensorDot,
    Trace,
    View,
)
from tensorgen.arrays.statements import Let, operands
from tensorgen.ir.dims import ONE, ZERO, Dim
from tensorgen.operators.calls import OPERATORS


def count(dims: Sequence[Dim]) -> Dim:
    """The number of entries of an array of these sizes."""
    return prod(dims, start=ONE)


def steps(one: Array) -> Dim:
    """The arithmetic of an operation, operands given."""
    op = one.op
    if isinstance(op, Leaf | Making | View):
        return ZERO
    if isinstance(op, Entrywise):
        return count(one.dims) * max(len(one.args) - 1, 1)
    return _contracted(op, one) if isinstance(op, Contraction) else ZERO


def _contracted(op: Contraction, one: Array) -> Dim:
    first = one.args[0].dims if one.args else ()
    match op:
        case MatMul():
            return count(one.dims) * first[-1] * 2
        case Outer():
            return count(one.dims)
        case InnerProduct():
            return count(first) * 2
        case TensorDot(right=gone):
            return count(one.dims) * count([one.args[1].dims[k] for k in gone]) * 2
        case Einsum(labels=labels):
            pairs = zip(labels, one.args, strict=True)
            sizes = {x: d for xs, a in pairs for x, d in zip(xs, a.dims, strict=True)}
            return count([*sizes.values()]) * len(one.args)
        case Trace():
            return first[0]
        case Reduce() | Accumulate():
            return count(first)
        case Solve(factored=factored):
            work = ZERO if factored else count(first) * first[-1]
            return work + count(one.dims) * first[-1] * 2
        case Call(operator=name):
            cubes = round(OPERATORS[name].work)
            return count(first) * (first[-1] * cubes if cubes else ONE)
        case _:
            assert_never(op)


def entries(one: Array) -> Dim:
    """The numbers that an operation stores anew."""
    op = one.op
    if isinstance(op, Leaf) or one.weak:
        return ZERO
    if isinstance(op, View):
        own = isinstance(op, Index) and not op.is_basic
        return count(one.dims) if own else ZERO
    return count(one.dims)


def arithmetic(code: Code) -> Dim:
    """All arithmetic of a function's body."""
    roots = [
        *(one for line in code.statements for one in operands(line)),
        *code.returns,
    ]
    return sum(map(steps, below(roots)), ZERO)


def peak(code: Code, value: Callable[[Dim], int]) -> int:
    """The most numbers that a function's body holds at a time, for given sizes.

    What is bound to a name stays until the function returns; a temporary until the
    operation that it is an operand of is done.
    """
    held = most = 0
    for line in code.statements:
        parts = operands(line)
        most = max(most, held + _peak(parts, value))
        if isinstance(line, Let):
            held += value(_kept(line.value))
    return max(most, held + _peak(code.returns, value))


def _peak(parts: Sequence[Array], value: Callable[[Dim], int]) -> int:
    """The same of expressions that are all held in the end."""
    held = most = 0
    for one in parts:
        inside = _peak(one.args, value)
        own = sum(value(_kept(arg)) for arg in one.args) + value(entries(one))
        most = max(most, held + inside, held + own)
        held += value(_kept(one))
    return most


def _kept(one: Array) -> Dim:
    """The numbers that live as long as a value does: a view keeps what it shows."""
    view = isinstance(one.op, View) and entries(one) == 0
    return _kept(one.args[0]) if view else entries(one)
