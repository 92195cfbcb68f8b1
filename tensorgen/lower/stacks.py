"""Stacks of matrices: contractions of higher order as `@` over leading axes.

One contracted label and at most one free label of each operand make the matrices;
all other labels number them, and broadcast where an operand lacks them. So nothing
is copied, and a contraction of any order runs at the speed of matrix products.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from tensorgen.arrays.operations import Index
from tensorgen.arrays.places import WHOLE, At, Limit, Mark
from tensorgen.ir.dims import ZERO
from tensorgen.ir.nodes import Label
from tensorgen.lower.axes import aligned, summed
from tensorgen.lower.operands import Operand, made, matmul
from tensorgen.lower.plainness import EXTRA_AXIS, misplaced, turned, written

# Stands for the axis of length 1 that makes a matrix of a vector.
_SINGLE: Label = -1

_FIRST, _REST = At(Limit(ZERO)), Mark("...")


@dataclass(frozen=True)
class Sides:
    """The labels of two operands by their part in the contraction."""

    batch: list[Label]
    contracted: list[Label]
    left: list[Label]
    right: list[Label]

    def turned(self) -> Sides:
        """The same with the operands exchanged."""
        return Sides(self.batch, self.contracted, self.right, self.left)


def stacked(
    a: Operand, b: Operand, sides: Sides, want: Sequence[Label] | None
) -> Iterator[tuple[float, Operand]]:
    """The ways to contract as a product of stacks, each with what it costs a reader.

    Contracted labels but one are summed afterwards, as they number matrices too.
    """
    for x, y, labels in ((a, b, sides), (b, a, sides.turned())):
        rows, columns = labels.left or [_SINGLE], labels.right or [_SINGLE]
        for inner, row, column in product(labels.contracted, rows, columns):
            used = {inner, row, column}
            for order in dict.fromkeys(_orders(x, y, want)):
                lead = tuple(label for label in order if label not in used)
                yield _stack(x, y, lead, (row, inner, column), labels, want)


def _orders(
    x: Operand, y: Operand, want: Sequence[Label] | None
) -> Iterator[tuple[Label, ...]]:
    """The orders in which leading axes may stand."""
    if want is not None:
        yield tuple(dict.fromkeys((*want, *x.labels, *y.labels)))
    yield tuple(dict.fromkeys(x.labels + y.labels))
    yield tuple(dict.fromkeys(y.labels + x.labels))


def _stack(
    x: Operand,
    y: Operand,
    lead: tuple[Label, ...],
    matrix: tuple[Label, Label, Label],
    sides: Sides,
    want: Sequence[Label] | None,
) -> tuple[float, Operand]:
    row, inner, column = matrix
    present = {*x.labels, *y.labels}
    lead = tuple(label for label in lead if label in present)
    left = aligned(x, (*lead, row, inner))
    right = aligned(y, (*lead, inner, column))
    whole = matmul(left, right, (*lead, row, column))
    if _SINGLE in matrix:
        first = (WHOLE, _FIRST) if len(lead) == 1 else (_REST, _FIRST, WHOLE)
        parts = (_REST, _FIRST) if column == _SINGLE else first
        sizes = dict(zip(whole.labels, whole.array.dims, strict=True))
        kept = tuple(label for label in whole.labels if label != _SINGLE)
        whole = made(Index(parts, tuple(sizes[x] for x in kept)), kept, whole)
    result = summed(whole, set(sides.contracted))
    wanted = want or result.labels
    price = turned(result) + written(result) + misplaced(result.labels, wanted)
    return price + EXTRA_AXIS * (_SINGLE in matrix), result
