"""How long operations take on large arrays: in nanoseconds, of one core.

Measured with NumPy on vectors of 2**15 and of 10**7 numbers. What is too large for the
caches is written to memory and read from there again, which takes as long as several
operations; new pages of memory take longer yet.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tensorgen.arrays.arrays import Array
from tensorgen.arrays.operations import (
    Add,
    Compare,
    Contraction,
    Elementwise,
    Entrywise,
    Index,
    Multiply,
    Power,
)
from tensorgen.arrays.work import count, entries, steps
from tensorgen.ir.dims import Dim
from tensorgen.operators.elementwise import ELEMENTWISE

LARGE = 2**17
"""The entries of an array that the caches of a core do not hold."""
MEMORY = 0.55
"""To store an entry outside of the caches, and to read it once."""
SIMPLE, SELECTION, FUNCTION = 0.3, 0.6, 3.0
"""An entry of a sum, of a selection, and of a function like `exp`."""
POWER = 50.0
"""An entry of a whole power, where numbers may be negative; squares are products."""
GATHER = 2.0
"""An entry, or a row of them, that is read from where an index array says."""
STEP = 0.05
"""An addition or multiplication within a contraction."""
CALL = 700.0
"""An operation on a small array."""


class Speed:
    """The times of operations at sizes that are hinted at."""

    def __init__(self, sizes: Mapping[str, int]) -> None:
        """Know some sizes."""
        self.sizes = sizes

    def knows(self, *dims: Dim) -> bool:
        """Whether there are hints for all that sizes depend on."""
        return all(symbol in self.sizes for dim in dims for symbol in dim.symbols)

    def entries(self, dims: Sequence[Dim]) -> int:
        """The entries of an array, 0 where a size is not known."""
        return max(count(dims).value(self.sizes), 0) if self.knows(*dims) else 0

    def is_large(self, dims: Sequence[Dim]) -> bool:
        """Whether no cache holds an array."""
        return self.entries(dims) >= LARGE

    def work(self, one: Array) -> float:
        """The time of an operation whose operands and result are at hand."""
        op, size = one.op, self.entries(one.dims)
        match op:
            case Add() | Multiply() | Compare():
                return SIMPLE * size * max(len(one.args) - 1, 1)
            case Power(exponent=exponent):
                whole = SIMPLE if exponent == 2 else POWER
                return size * (whole if exponent.denominator == 1 else FUNCTION)
            case Index(taken=0):
                rows = size / max(self.entries(one.args[0].dims[1:]), 1)
                return GATHER * rows + SIMPLE * size
            case Index(is_basic=False):
                return GATHER * size
            case Elementwise(function=name):
                row = ELEMENTWISE[name]
                quick = row.boolean or row.has("quick")
                return size * (SELECTION if quick else FUNCTION)
        if isinstance(op, Entrywise):
            return SIMPLE * size
        total = steps(one)
        known = isinstance(op, Contraction) and self.knows(total)
        return STEP * total.value(self.sizes) if known else 0.0

    def memory(self, one: Array) -> float:
        """The time that an array takes to be stored, and to be read again."""
        made = entries(one)
        if not self.knows(made) or made.value(self.sizes) < LARGE:
            return 0.0
        # Sums and products of several make an array each time.
        times = max(len(one.args) - 1, 1) if isinstance(one.op, Add | Multiply) else 1
        return MEMORY * made.value(self.sizes) * times
