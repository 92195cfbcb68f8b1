"""What operations cost in arithmetic and make of numbers, as polynomials in sizes.

Helpers count as what they are named for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil, prod
from typing import assert_never

from tensorgen.arrays import operations as ops
from tensorgen.arrays.arrays import Array, below, once
from tensorgen.arrays.code import Code, code_of
from tensorgen.arrays.object_operations import Called, Results
from tensorgen.arrays.statements import Loop, Return, Statement, operands
from tensorgen.ir.dims import ZERO, Dim, count
from tensorgen.operators.calls import OPERATORS
from tensorgen.operators.matrices import distances
from tensorgen.prices.price_table import MOVED, MULTIPLY_ADD, SHARE

Value = Callable[[Dim], int]


def steps(one: Array) -> Dim:
    """The arithmetic of an operation, operands given."""
    op = one.op
    if isinstance(op, ops.Leaf | ops.Making | ops.View):
        return ZERO
    if isinstance(op, ops.Bundle):
        return count(one.dims) * len(op.functions)
    if isinstance(op, ops.Entrywise):
        return count(one.dims) * max(len(one.args) - 1, 1)
    if isinstance(op, Results) and op.is_helper:
        return count(one.args[0].dims) * (SHARE.flops + len(op.shapes) - 1)
    if isinstance(op, Called):
        return arithmetic(code_of(op))
    if isinstance(op, Results):  # factorisations
        return count(one.args[0].dims) * one.args[0].dims[-1]
    return _contracted(op, one) if isinstance(op, ops.Contraction) else ZERO


def _contracted(op: ops.Contraction, one: Array) -> Dim:
    first = one.args[0].dims if one.args else ()
    match op:
        case ops.MatMul():
            return count(one.dims) * first[-1] * MULTIPLY_ADD.flops
        case ops.Outer():
            return count(one.dims)
        case ops.InnerProduct():
            return count(first) * MULTIPLY_ADD.flops
        case ops.TensorDot(right=gone):
            terms = count([*one.dims, *(one.args[1].dims[k] for k in gone)])
            return terms * MULTIPLY_ADD.flops
        case ops.Einsum(labels=labels):
            pairs = zip(labels, one.args, strict=True)
            sizes = {x: d for xs, a in pairs for x, d in zip(xs, a.dims, strict=True)}
            return count([*sizes.values()]) * len(one.args)
        case ops.Trace():
            return first[0]
        case ops.Reduce() | ops.Accumulate() | ops.SumByKey():
            return count(first)
        case ops.Correlate():
            return count(one.dims) * one.args[1].dims[0] * MULTIPLY_ADD.flops
        case ops.MovingSum():
            return count(first) * MOVED.flops
        case ops.Solve(factored=factored):
            work = ZERO if factored else count(first) * first[-1]
            return work + count(one.dims) * first[-1] * MULTIPLY_ADD.flops
        case ops.Call(operator=name) if name in distances.NAMES:
            return count(one.dims) * (first[-1] + 1) * MULTIPLY_ADD.flops
        case ops.Call(operator=name) if OPERATORS[name].helped:
            return count(first) * SHARE.flops
        case ops.Call(operator=name):
            cubes = ceil(OPERATORS[name].work)
            if not cubes:
                return count(first)
            matrices = [*one.args[-1].dims]
            return count(matrices) * matrices[-1] * cubes
        case _:
            assert_never(op)


def entries(one: Array) -> Dim:
    """The numbers that an operation stores anew."""
    return once(one, _entries)


def _entries(one: Array) -> Dim:
    op = one.op
    if isinstance(op, ops.Leaf) or one.weak:
        return ZERO
    if isinstance(op, ops.View):
        own = isinstance(op, ops.Index) and not op.is_basic
        return count(one.dims) if own else ZERO
    if isinstance(op, ops.Bundle):
        return count(one.dims) * len(op.functions)
    if isinstance(op, Results | Called):
        return sum(map(count, op.shapes), ZERO)
    return count(one.dims)


def arithmetic(code: Code) -> Dim:
    """All arithmetic of a function's body."""
    return _work([*code.statements, Return(code.returns)])


def _work(lines: Sequence[Statement]) -> Dim:
    once = [line for line in lines if not isinstance(line, Loop)]
    roots = [one for line in once for one in operands(line)]
    loops = [_repeated(line) for line in lines if isinstance(line, Loop)]
    return sum([*map(steps, below(roots)), *loops], ZERO)


def _repeated(loop: Loop) -> Dim:
    """The arithmetic of all steps of a loop, each as long as the longest."""
    span = loop.high - loop.low
    known = {loop.name: loop.high - 1, loop.width: loop.widest}
    total = ZERO
    for monomial, coefficient in _work(loop.body).terms:
        names: list[str | None] = [*monomial]
        if loop.width in names:
            names.remove(loop.width)
            times = loop.reach
        else:
            whole = span.divided(loop.step)
            times = span if whole is None else whole
        sizes = (known[x] if x in known else Dim.of(str(x)) for x in names)
        total += prod(sizes, start=times * coefficient)
    return total
