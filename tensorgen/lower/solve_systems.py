"""Contractions with an inverse as solves."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from tensorgen.ir.dims import Dim
from tensorgen.ir.nodes import Label
from tensorgen.lower.layout import aligned, ordered, transposed
from tensorgen.lower.text import Applied, Expr, Level
from tensorgen.lower.writer import Writer


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
    writer: Writer,
    matrix: Expr,
    inverse: tuple[Label, ...],
    other: Expr,
    keep: Collection[Label],
    sizes: Mapping[Label, Dim],
    factored: bool = False,
) -> Expr:
    """`inv(matrix) @ other` where the inverse has the labels `inverse`.

    The matrix bears the same labels, its last two swapped. Where the inverse is
    summed over the last label but one, the system is the transposed one; where it
    is summed over both, the value is the trace of a solution. A `factored` matrix
    stands for the symmetric one of which it is the Cholesky factor.
    """

    def call(system: Expr, right: str) -> str:
        if not factored:
            return writer.np("linalg.solve", system.text, right)
        writer.helpers["_cholesky_solve"] = None
        return f"_cholesky_solve({system.text}, {right})"

    *batch, i, k = inverse
    if i not in keep and k not in keep:
        return Expr(writer.np("trace", call(matrix, ordered(other, (k, i)).text)))
    result, contracted = (i, k) if k not in keep else (k, i)
    system = matrix
    if not factored:
        system = transposed(matrix, (*batch, contracted, result))
    free = [label for label in other.labels if label not in (*batch, contracted)]
    whole = (*batch, contracted, *free)
    right = aligned(other, whole)
    if not set(batch) <= set(other.labels):
        # NumPy would broadcast it, CuPy does not.
        shape = writer.shape([sizes[label] for label in whole])
        right = Expr(writer.np("broadcast_to", right.text, shape), labels=whole)
    if free or not batch:
        text = call(system, right.text)
        plain = not (batch or free or factored)
        applied = Applied(system, right, solves=True) if plain else None
        return Expr(text, labels=(*batch, result, *free), applied=applied)
    # NumPy 2 takes only a plain vector as one right-hand side.
    column = f"{right.at(Level.ATOM)}[..., None]"
    return Expr(f"{call(system, column)}[..., 0]", labels=(*batch, result))
