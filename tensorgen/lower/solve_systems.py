"""Contractions with an inverse as solves."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from tensorgen.arrays.operations import Broadcast, Index, Solve, Trace
from tensorgen.arrays.places import At, Limit, Mark
from tensorgen.ir.dims import ONE, ZERO, Dim
from tensorgen.ir.nodes import Label
from tensorgen.lower.axes import aligned, ordered, transposed
from tensorgen.lower.operands import Operand, made

# Stands for the axis of length 1 that makes a matrix of a vector.
_SINGLE: Label = -1
_REST = Mark("...")


def solvable(
    inverse: tuple[Label, ...], other: tuple[Label, ...], keep: Collection[Label]
) -> bool:
    """Whether `inv(A)[inverse] * B[other]`, summed but for `keep`, is one solve."""
    if len(set(inverse)) < len(inverse) or len(set(other)) < len(other):
        return False
    *batch, i, k = inverse
    if any(label not in keep for label in batch):
        return False
    contracted = [label for label in (i, k) if label in other and label not in keep]
    free = [label for label in other if label not in (*batch, i, k)]
    if any(label not in keep for label in free):
        return False
    if len(contracted) == 2:
        return not batch and not free
    if len(contracted) != 1:
        return False
    rest = k if contracted == [i] else i
    return rest in keep and rest not in other and len(free) <= 1


def solve(
    matrix: Operand,
    inverse: tuple[Label, ...],
    other: Operand,
    keep: Collection[Label],
    sizes: Mapping[Label, Dim],
    factored: bool = False,
) -> Operand:
    """`inv(matrix) @ other` where the inverse has the labels `inverse`.

    The matrix bears the same labels, its last two swapped. Where the inverse is
    summed over the last label but one, the system is the transposed one; where it
    is summed over both, the value is the trace of a solution. A `factored` matrix
    stands for the symmetric one of which it is the Cholesky factor.
    """
    op = Solve(factored)
    *batch, i, k = inverse
    if i not in keep and k not in keep:
        solution = made(op, (i, k), matrix, ordered(other, (k, i)))
        return made(Trace(), (), solution)
    result, contracted = (i, k) if k not in keep else (k, i)
    system = matrix
    if not factored:
        system = transposed(matrix, (*batch, contracted, result))
    free = [label for label in other.labels if label not in (*batch, contracted)]
    whole = (*batch, contracted, *free)
    right = aligned(other, whole)
    if not set(batch) <= set(other.labels):
        # NumPy would broadcast it, CuPy does not.
        right = made(Broadcast(tuple(sizes[x] for x in whole)), whole, right)
    if free or not batch:
        return made(op, (*batch, result, *free), system, right)
    # NumPy 2 takes only a plain vector as one right-hand side.
    upright = Index((_REST, Mark("None")), (*right.array.dims, ONE))
    column = made(upright, (*whole, _SINGLE), right)
    solution = made(op, (*batch, result, _SINGLE), system, column)
    first = Index((_REST, At(Limit(ZERO))), solution.array.dims[:-1])
    return made(first, (*batch, result), solution)
