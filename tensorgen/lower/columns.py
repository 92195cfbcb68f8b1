"""Products of windows with channels as one matrix product.

The windows that a kernel meets are gathered as rows of a matrix, once for the product
and for its adjoint by the kernel.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

from tensorgen.arrays.arrays import array
from tensorgen.arrays.object_operations import Reshape
from tensorgen.ir.dims import count
from tensorgen.ir.nodes import Label
from tensorgen.lower.axes import ordered, transposed
from tensorgen.lower.indexing import Indexer
from tensorgen.lower.operands import Operand, matmul
from tensorgen.lower.reads import Read
from tensorgen.lower.taps import Tapped
from tensorgen.prices.thresholds import GAIN_OF_COLUMNS, LARGEST_COLUMNS, are_hinted


@dataclass(frozen=True)
class Columns:
    """A product of windows, `rows` by `columns`, with an array that has the one or
    the other, and further labels `right`.
    """

    windows: Read
    other: Read
    rows: tuple[Label, ...]
    columns: tuple[Label, ...]
    right: tuple[Label, ...]
    turned: bool

    def product(self, indexer: Indexer, found: Tapped) -> Operand:
        """The matrix product, under the labels of its axes."""
        matrix = self._matrix(indexer, found)
        rows, columns = self.rows, self.columns
        if self.turned:
            matrix, rows, columns = transposed(matrix, (1, 0)), columns, rows
        dims = self.other.whole.array.dims
        other = indexer.read(self.other.whole, list(self.other.forms), dims)
        factor = _folded(ordered(other, (*columns, *self.right)), len(columns))
        whole = matmul(matrix, factor.bearing((1, 2)), (0, 2))
        labels = (*rows, *self.right)
        shape = tuple(map(found.extent, labels))
        if shape == whole.array.dims:
            return whole.bearing(labels)
        return Operand(array(Reshape(shape), whole.array), labels)

    def _matrix(self, indexer: Indexer, found: Tapped) -> Operand:
        axes = {}
        for axis, form in enumerate(self.windows.forms):
            if len(form.terms) > 1:
                taps = [x for x in form.labels if x in found.taps]
                (number,) = (x for x in form.labels if x not in found.taps)
                axes[axis] = number, taps[0]
        whole = self.windows.whole
        forms, dims = list(self.windows.forms), whole.array.dims
        view = indexer.windows(whole, forms, dims, axes)
        return _folded(ordered(view, (*self.rows, *self.columns)), len(self.rows))


def _folded(operand: Operand, first: int) -> Operand:
    """The array as a matrix, whose rows are its first axes."""
    dims = operand.array.dims
    if len(dims) == 2 and first == 1:
        return operand.bearing((0, 1))
    shape = count(dims[:first]), count(dims[first:])
    return Operand(array(Reshape(shape), operand.array), (0, 1))


def columns(
    found: Tapped, reads: Sequence[Read], hints: Mapping[str, int]
) -> Columns | None:
    """A product over windows as a product of columns, where that is cheap."""
    if len(reads) != 2 or any(len(form.terms) != 1 for form in found.writes):
        return None
    wide = [any(len(form.terms) > 1 for form in read.forms) for read in reads]
    if wide.count(True) != 1:
        return None
    windows, other = sorted(reads, key=lambda read: not wide[reads.index(read)])
    own, others, gone = {*windows.labels}, {*other.labels}, {*found.gone}
    right = tuple(x for x in other.labels if x not in gone)
    turned = not gone & {*found.taps}
    mixed = not turned and not gone.issuperset(found.taps)
    if mixed or not right or not gone <= own & others or own & {*right}:
        return None
    rows, inner = list[Label](), list[Label]()
    for form in windows.forms:
        if len(form.terms) > 2 or any(
            abs(form.coefficient(x)) != 1 for x in form.labels if x in found.taps
        ):
            return None
        for label in form.labels:
            (inner if (label in gone) is not turned else rows).append(label)
    if not {*found.taps} <= {*inner}:
        return None
    made = Columns(windows, other, tuple(rows), tuple(inner), right, turned)
    return made if _pays(made, found, hints) else None


def _pays(made: Columns, found: Tapped, hints: Mapping[str, int]) -> bool:
    """Whether windows take little memory, and little time beside a sum over taps."""

    def size(labels: Sequence[Label]) -> int | None:
        sizes = [found.extent(x) for x in labels]
        if not are_hinted(hints, sizes):
            return None
        return prod(max(dim.value(hints), 1) for dim in sizes)

    taps = size(found.taps)
    whole = size((*made.rows, *made.columns))
    if taps is None or (whole is not None and whole > LARGEST_COLUMNS):
        return False
    channels = size([x for x in made.columns if x not in found.taps])
    right = size(made.right)
    if made.turned or channels is None or right is None:
        return True
    return channels <= GAIN_OF_COLUMNS * right
