"""Turned matrices that are spread over more axes are copied: rows in rows of memory.

An operation goes along the last axis of its result. Where the entries of an operand lie
apart in memory along it, as those of `X.T` do, each is fetched alone: what is made of
`X[:, :, None] - X.T` takes up to six times as long as of `X[:, :, None] - X.T.copy()`.
The copy costs as much as one of the rows that it is read for.
"""

from __future__ import annotations

from tensorgen.arrays.arrays import Array, array
from tensorgen.arrays.code import Code
from tensorgen.arrays.operations import Copy, Entrywise, Permute
from tensorgen.arrays.statements import rebuilt


def straightened(code: Code) -> Code:
    """Return code that reads spread matrices along the rows of their memory."""
    known: dict[Array, Array] = {}

    def straight(one: Array) -> Array:
        if one not in known:
            args = tuple(map(straight, one.args))
            if isinstance(one.op, Entrywise):
                args = tuple(_along_rows(arg, one.order) for arg in args)
            known[one] = one if args == one.args else array(one.op, *args)
        return known[one]

    statements = tuple(rebuilt(line, straight) for line in code.statements)
    return Code(statements, tuple(map(straight, code.returns)), code.refusals)


def _along_rows(one: Array, order: int) -> Array:
    """An operand of a result with so many axes, copied if it is turned and spread."""
    turned = isinstance(one.op, Permute) and one.op.axes[-1] != one.order - 1
    return array(Copy(), one) if turned and one.order < order else one
