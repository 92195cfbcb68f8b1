"""Zeros around arrays, for sums that reach beyond their ends."""

from __future__ import annotations

from collections.abc import Sequence

from tensorgen.arrays.operations import Pad
from tensorgen.ir.constraints import Ranges
from tensorgen.ir.dims import ONE, ZERO, Dim
from tensorgen.ir.nodes import Affine
from tensorgen.lower.operands import Operand, made

Width = tuple[Dim, Dim]
"""How many zeros stand before and after an axis."""


def needed(ranges: Ranges, form: Affine, dim: Dim, length: Dim = ONE) -> Width | None:
    """What an axis lacks where `length` entries are read from `form` on.

    Nothing is said where sizes would have to be compared that cannot be.
    """
    reach = ranges.bounds(form)
    if reach is None:
        return None
    width = (-reach[0], reach[1] + length - dim)
    if not all(_holds(ranges, x) or _holds(ranges, -x) for x in width):
        return None
    before, after = (x if _holds(ranges, x) else ZERO for x in width)
    return before, after


def _holds(ranges: Ranges, size: Dim) -> bool:
    """Whether a size is nonnegative where no symbol is 0: no window is empty."""
    return any((size - fact).is_nonnegative() for fact in (ZERO, *ranges.facts))


def padded(operand: Operand, widths: Sequence[Width]) -> Operand:
    """The array with zeros around it."""
    if not any(x != ZERO for width in widths for x in width):
        return operand
    return made(Pad(tuple(widths)), operand.labels, operand)
