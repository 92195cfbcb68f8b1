"""What a reader pays for the ways to write a contraction.

All of them take the same number of multiplications, and libraries hand all of them to
the same matrix products; what differs is how plainly they read. The unit is the
transpose of a variable, `A.T`. Where one way is also faster, its rivals say so.
"""

from __future__ import annotations

from collections.abc import Sequence

from tensorgen.arrays.reading import length, transposes
from tensorgen.ir.nodes import Label
from tensorgen.lower.operands import Operand

MISPLACED = 2.25
"""Axes in another order than the one that is asked for, to be transposed later."""
VECTOR_FIRST = 1.5
"""`x @ A`: it saves the transpose of `A.T @ x`, which is what people write."""
TENSORDOT = 5.0
"""A call whose axes have to be counted."""
BROADCAST = 3.0
"""A product of stacks where nothing is stacked: it saves a transpose of `tensordot`."""
EXTRA_AXIS = 1.0
"""A vector made a matrix, and back."""
ENTRYWISE = 3.5
"""A sum of products, where `@` needs transposes and is faster."""
CHARACTER = 0.001
"""The shorter of equals."""


def misplaced(labels: Sequence[Label], want: Sequence[Label] | None) -> float:
    """What it costs that axes come as `labels` where `want` is asked for."""
    if want is None:
        return 0
    return MISPLACED * ([x for x in want if x in labels] != list(labels))


def turned(call: Operand) -> float:
    """What the transposes in a call cost."""
    return transposes(call.array)


def written(call: Operand) -> float:
    """What the length of a call costs."""
    return CHARACTER * length(call.array)
