"""How long operations take on large arrays, with a backend.

What is too large for the caches is written to memory and read from there again, which
takes as long as several operations; new pages of memory take longer yet.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tensorgen.arrays import operations as ops
from tensorgen.arrays.arrays import Array
from tensorgen.arrays.object_operations import Results
from tensorgen.arrays.work import entries, steps
from tensorgen.ir.dims import Dim, count
from tensorgen.operators.calls import OPERATORS
from tensorgen.prices import price_table
from tensorgen.prices.price_table import (
    ENTRY,
    GATHERED,
    MULTIPLY_ADD,
    NUMPY,
    SCATTERED,
    SELECTION,
    SHARE,
    STORED,
    Backend,
)
from tensorgen.prices.thresholds import CACHED, are_hinted

STEPS_OF_A_BUNDLE, STEPS_OF_A_SHARE = 6, 3
"""The arrays that helpers make one after the other: of one logistic function, and of
softmax."""


class Speed:
    """The times of operations at sizes that are hinted at: what a backend takes.

    All libraries are timed like NumPy, until they have a column of their own.
    """

    def __init__(self, sizes: Mapping[str, int], backend: Backend = NUMPY) -> None:
        self.sizes, self.price = sizes, backend

    def knows(self, *dims: Dim) -> bool:
        """Whether there are hints for all that sizes depend on."""
        return are_hinted(self.sizes, dims)

    def entries(self, dims: Sequence[Dim]) -> int:
        """The entries of an array, 0 where a size is not known."""
        return max(count(dims).value(self.sizes), 0) if self.knows(*dims) else 0

    def is_large(self, dims: Sequence[Dim]) -> bool:
        """Whether no cache holds an array."""
        return self.entries(dims) >= CACHED

    def work(self, one: Array) -> float:
        """The time of an operation whose operands and result are at hand."""
        op, size, price = one.op, self.entries(one.dims), self.price
        match op:
            case ops.Add() | ops.Multiply() | ops.Compare():
                return price(ENTRY) * size * max(len(one.args) - 1, 1)
            case ops.Power(exponent=exponent):
                return price(price_table.of_power(exponent)) * size
            case ops.Index(taken=0):
                rows = size / max(self.entries(one.args[0].dims[1:]), 1)
                return price(GATHERED) * rows + price(ENTRY) * size
            case ops.Index(is_basic=False):
                return price(GATHERED) * size
            case ops.SumByKey():
                return price(SCATTERED) * self.entries(one.args[0].dims)
            case ops.Elementwise(function=name):
                return price(price_table.of_function(name)) * size
            case ops.Call(operator=name) if OPERATORS[name].helped:
                return price(SHARE) * self.entries(one.args[0].dims)
            case Results(shapes=shapes) if op.is_helper:
                own = price(SHARE) + price(SELECTION) * (len(shapes) - 1)
                return own * self.entries(one.args[0].dims)
            case ops.Bundle(functions=functions):
                own = sum(price(x) for x in price_table.of_bundle(functions))
                return own * size
        if isinstance(op, ops.Entrywise):
            return price(ENTRY) * size
        total = steps(one)
        if not (isinstance(op, ops.Contraction) and self.knows(total)):
            return 0.0
        return price(MULTIPLY_ADD) / MULTIPLY_ADD.flops * total.value(self.sizes)

    def memory(self, one: Array) -> float:
        """The time that an array takes to be stored, and to be read again."""
        made = entries(one)
        if not self.knows(made) or made.value(self.sizes) < CACHED:
            return 0.0
        # Sums and products of several make an array each time.
        times = (
            max(len(one.args) - 1, 1)
            if isinstance(one.op, ops.Add | ops.Multiply)
            else 1
        )
        if isinstance(one.op, ops.Bundle):  # and so does a helper in each of its steps
            times = STEPS_OF_A_BUNDLE
        if isinstance(one.op, ops.Call) and OPERATORS[one.op.operator].helped:
            times = STEPS_OF_A_SHARE
        return self.price(STORED) * made.value(self.sizes) * times
