"""The operations of the array IR: what an array is made by, apart from its operands.

Axes are positions. What an operation says of sizes it says in dims, and of places in
`Part`s, so that no printer has to read what another one wrote.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from tensorgen.arrays.object_operations import Object
from tensorgen.arrays.places import WHOLE, Entries, Part
from tensorgen.ir.dims import ZERO, Dim

Kind = Literal["float", "bool", "int"]


# Leaves


@dataclass(frozen=True, slots=True)
class Variable:
    """An argument, or what a statement bound.

    `base` names the variable whose memory it shares, itself if it is alone; nothing
    for what is not an array in memory. A `boxed` scalar is an array without axes.
    """

    name: str
    dims: tuple[Dim, ...] = ()
    kind: Kind = "float"
    base: str | None = None
    boxed: bool = False


@dataclass(frozen=True, slots=True)
class Number:
    """A rational number, which never widens a dtype."""

    value: Fraction


@dataclass(frozen=True, slots=True)
class Truth:
    """True or False."""

    value: bool


@dataclass(frozen=True, slots=True)
class Constant:
    """A number with a name: `pi`."""

    name: str


@dataclass(frozen=True, slots=True)
class Size:
    """A size as a number; at least 0 if it is `clipped`."""

    dim: Dim
    clipped: bool = False


# Entry by entry, with broadcasting


@dataclass(frozen=True, slots=True)
class Multiply:
    """`coefficient * above / below`: the first `above` operands, and the others."""

    coefficient: Fraction
    above: int


@dataclass(frozen=True, slots=True)
class Add:
    """The sum of operands with signs."""

    signs: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Power:
    """A rational power."""

    exponent: Fraction


@dataclass(frozen=True, slots=True)
class Conjunction:
    """Where all operands hold."""


@dataclass(frozen=True, slots=True)
class Compare:
    """`==`, `>=`, `<` or `!=` of two operands."""

    sign: str


@dataclass(frozen=True, slots=True)
class Elementwise:
    """A function of the table, by the name of its row."""

    function: str


@dataclass(frozen=True, slots=True)
class Bundle:
    """Functions of the same operands, which one helper makes together.

    One of them is an array, several are unpacked.
    """

    functions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AsFloat:
    """Masks and indices as numbers of the common dtype."""


@dataclass(frozen=True, slots=True)
class Python:
    """A Python function of a number: `float`, `int`, `math.sqrt`."""

    function: str


@dataclass(frozen=True, slots=True)
class FloatPower:
    """A power of numbers that is NaN, not complex, where it is not real."""


# Contractions


@dataclass(frozen=True, slots=True)
class MatMul:
    """The product of matrices in the last two axes, or with a vector."""


@dataclass(frozen=True, slots=True)
class Outer:
    """The outer product of two vectors."""


@dataclass(frozen=True, slots=True)
class InnerProduct:
    """The sum of the products of all entries of two arrays."""


@dataclass(frozen=True, slots=True)
class TensorDot:
    """The product summed over pairs of axes."""

    left: tuple[int, ...]
    right: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Einsum:
    """The product of operands whose axes have `labels`, summed but for `kept`."""

    labels: tuple[tuple[int, ...], ...]
    kept: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Trace:
    """The sum of a matrix's diagonal."""


@dataclass(frozen=True, slots=True)
class Reduce:
    """The sum over some axes."""

    axes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Accumulate:
    """The running sums along an axis."""

    axis: int


@dataclass(frozen=True, slots=True)
class MovingSum:
    """The sums of `length` neighbours along an axis, from each that has as many.

    The axis is taken to have so many zeros `before` and `after` it.
    """

    length: Dim
    axis: int
    before: Dim = ZERO
    after: Dim = ZERO


@dataclass(frozen=True, slots=True)
class Correlate:
    """The products of a vector's windows with another vector.

    The first is taken to have so many zeros `before` and `after` it.
    """

    before: Dim = ZERO
    after: Dim = ZERO


@dataclass(frozen=True, slots=True)
class SumByKey:
    """The sums of the entries of the first operand that the others give one place.

    These are index arrays, one for each of the first axes of `shape`, which broadcast
    against each other to the first axes of what is added up.
    """

    shape: tuple[Dim, ...]

    @property
    def helper(self) -> str:
        """What computes them: vectors are quick."""
        return "_sum_by_key" if len(self.shape) == 1 else "_sum_rows_by_key"


@dataclass(frozen=True, slots=True)
class Solve:
    """The solution of systems; a `factored` matrix is given by its Cholesky factor."""

    factored: bool = False


# Views


@dataclass(frozen=True, slots=True)
class Permute:
    """The axes in another order: axis `k` is the operand's `axes[k]`."""

    axes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Expand:
    """New axes of length 1 where `old` is false."""

    old: tuple[bool, ...]


@dataclass(frozen=True, slots=True)
class Diagonal:
    """The diagonal along two axes, as the last axis; it cannot be written to."""

    first: int
    second: int


@dataclass(frozen=True, slots=True)
class Index:
    """The entries of the first operand at places: a view if no operand holds any.

    `dims` are those of the result, which only who made the places knows.
    """

    parts: tuple[Part, ...]
    dims: tuple[Dim, ...]

    @property
    def is_basic(self) -> bool:
        """Whether what is read is a view."""
        return not any(isinstance(part, Entries) for part in self.parts)

    @property
    def taken(self) -> int | None:
        """The axis along which one index array says what is read, all others whole."""
        places = [k for k, part in enumerate(self.parts) if isinstance(part, Entries)]
        whole = self.parts.count(WHOLE) == len(self.parts) - 1
        return places[0] if whole and len(places) == 1 < len(self.parts) else None


@dataclass(frozen=True, slots=True)
class Windows:
    """A view through windows of `shape` along `axes`, whose places come last."""

    shape: tuple[Dim, ...]
    axes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Broadcast:
    """A view with axes of full length."""

    shape: tuple[Dim, ...]


# New arrays


@dataclass(frozen=True, slots=True)
class Fill:
    """A new array of one number; of zeros or ones without an operand."""

    shape: tuple[Dim, ...]
    value: Literal[0, 1] | None = None
    kind: Kind = "float"


@dataclass(frozen=True, slots=True)
class Eye:
    """The identity matrix, of numbers or as a mask."""

    size: Dim
    kind: Kind = "float"


@dataclass(frozen=True, slots=True)
class Range:
    """The integers from `low` up to `high`, of the common dtype if they are `real`."""

    low: Dim
    high: Dim
    real: bool = False


@dataclass(frozen=True, slots=True)
class Triangle:
    """The mask of the entries with `column <= row + shift`."""

    rows: Dim
    columns: Dim
    shift: Dim


@dataclass(frozen=True, slots=True)
class Diag:
    """The matrix with a diagonal."""


@dataclass(frozen=True, slots=True)
class Trim:
    """A matrix with zeros above a diagonal, or below it."""

    lower: bool
    shift: Dim


@dataclass(frozen=True, slots=True)
class Pad:
    """Zeros before and after each axis."""

    widths: tuple[tuple[Dim, Dim], ...]


@dataclass(frozen=True, slots=True)
class Concatenate:
    """Arrays one after the other along an axis."""

    axis: int


@dataclass(frozen=True, slots=True)
class Listed:
    """A new array of numbers, row by row; `typed` where these may be Python's."""

    shape: tuple[Dim, ...]
    typed: bool


@dataclass(frozen=True, slots=True)
class Clip:
    """Positions, the nearest ones from 0 to `last`."""

    last: Dim


@dataclass(frozen=True, slots=True)
class AsArray:
    """A number as an array of the common dtype, without axes."""


@dataclass(frozen=True, slots=True)
class Unbox:
    """An array without axes as a scalar."""


@dataclass(frozen=True, slots=True)
class Copy:
    """The same entries in memory of their own; a scalar of whatever kind."""

    scalar: bool = False


@dataclass(frozen=True, slots=True)
class Call:
    """A function of whole arrays, by the name of its row, and its parameters.

    A function of the module itself is called by a template of its own, `text`.
    """

    operator: str
    dims: tuple[Dim, ...]
    axes: tuple[int, ...] | None = None
    reshapes: bool = False
    text: str = ""


Leaf = Variable | Number | Truth | Constant | Size
Arithmetic = Multiply | Add | Power | Conjunction | Compare
Entrywise = Arithmetic | Elementwise | Bundle | AsFloat | Python | FloatPower
Contraction = (
    MatMul
    | Outer
    | InnerProduct
    | TensorDot
    | Einsum
    | Trace
    | Reduce
    | Accumulate
    | MovingSum
    | Correlate
    | SumByKey
    | Solve
    | Call
)
View = Permute | Expand | Diagonal | Index | Windows | Broadcast
Making = (
    Fill
    | Eye
    | Range
    | Triangle
    | Diag
    | Trim
    | Pad
    | Concatenate
    | Listed
    | Clip
    | AsArray
    | Unbox
    | Copy
)
Operation = Leaf | Entrywise | Contraction | View | Making | Object
