"""Operations around arrays: what methods of classes take apart, and hand on.

Some make arrays of arrays; others make what is no array: tuples, objects, functions.
Each knows the `dims` of what it makes.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from tensorgen.arrays.kernels import Kernel
from tensorgen.ir.dims import Computed, Dim


@dataclass(frozen=True, slots=True)
class Attribute:
    """What the object of a method holds: `self.name`."""

    name: str
    dims: tuple[Dim, ...] = ()


@dataclass(frozen=True, slots=True)
class Answer:
    """What a method of the same object returns, `several` arguments or one."""

    method: str
    several: bool = False
    dims: tuple[Dim, ...] = ()


@dataclass(frozen=True, slots=True)
class Nothing:
    """None."""

    dims: tuple[Dim, ...] = ()


@dataclass(frozen=True, slots=True)
class Made:
    """What a class or function of the module makes of the operands."""

    by: str
    dims: tuple[Dim, ...] = ()


@dataclass(frozen=True, slots=True)
class Solution:
    """What an object solves its system for, or the transposed one."""

    dims: tuple[Dim, ...]
    transposed: bool = False


@dataclass(frozen=True, slots=True)
class Times:
    """What a sparse matrix, or its transpose, is times an array."""

    dims: tuple[Dim, ...]
    transposed: bool = False


@dataclass(frozen=True, slots=True)
class Selected:
    """Entries of the inverse of an object's matrix, in some rows and columns."""

    dims: tuple[Dim, ...]


@dataclass(frozen=True, slots=True)
class GramEntries:
    """The entries of `A' diag(s) A`, or of `A diag(s) A'`: A, and s."""

    transposed: bool = False
    dims: tuple[Dim, ...] = ()


@dataclass(frozen=True, slots=True)
class GramPlaces:
    """Rows and columns of the entries of `A' diag(s) A`, or of `A diag(s) A'`: A."""

    transposed: bool = False
    dims: tuple[Dim, ...] = ()


@dataclass(frozen=True, slots=True)
class Known:
    """What an object knows of itself: its attribute `name`."""

    name: str
    dims: tuple[Dim, ...] = ()


@dataclass(frozen=True, slots=True)
class Pack:
    """The operands as a tuple, or `listed`."""

    listed: bool = False
    dims: tuple[Dim, ...] = ()


@dataclass(frozen=True, slots=True)
class Results:
    """What a function of the array module, or a helper, has for several results.

    A helper goes along `axes`, or along all that there are.
    """

    function: str
    shapes: tuple[tuple[Dim, ...], ...]
    dims: tuple[Dim, ...] = ()
    axes: tuple[int, ...] | None = None

    @property
    def is_helper(self) -> bool:
        """Whether the module has the function itself."""
        return self.function.startswith("_")


@dataclass(frozen=True, slots=True)
class Launch:
    """What a kernel makes of the operands: an array, or several of one shape.

    One that adds up does so along `axes`, or along all that there are. What it makes
    it writes to memory that is the last operand, if it is `placed`.
    """

    kernel: Kernel
    dims: tuple[Dim, ...] = ()
    axes: tuple[int, ...] = ()
    placed: bool = False


@dataclass(frozen=True, slots=True)
class Called:
    """What a private function of the module computes of the operands: some `code`.

    It `takes` them under these names, then `sizes`, and the dtype if it is `typed`. A
    line says what it is `about`, and `shapes` are those of what it returns.
    """

    function: str
    about: str
    takes: tuple[str, ...]
    sizes: tuple[str, ...]
    typed: bool
    code: Hashable
    shapes: tuple[tuple[Dim, ...], ...]
    dims: tuple[Dim, ...] = ()


@dataclass(frozen=True, slots=True)
class Member:
    """One of several that the operand stands for."""

    place: int
    dims: tuple[Dim, ...] = ()


@dataclass(frozen=True, slots=True)
class Numbered:
    """The operands under whole numbers."""

    keys: tuple[int, ...]
    dims: tuple[Dim, ...] = ()


@dataclass(frozen=True, slots=True)
class Later:
    """The operand, computed by whoever asks for it."""

    dims: tuple[Dim, ...] = ()


@dataclass(frozen=True, slots=True)
class Join:
    """The operands one after the other along their last axis."""

    dims: tuple[Dim, ...]


@dataclass(frozen=True, slots=True)
class Whole:
    """A size that is computed of others."""

    size: Computed
    dims: tuple[Dim, ...] = ()


@dataclass(frozen=True, slots=True)
class Count:
    """How many keys index arrays tell apart: the largest entry and one."""

    dims: tuple[Dim, ...] = ()


@dataclass(frozen=True, slots=True)
class Rows:
    """How many rows of `width` entries a block of about so many entries has.

    It is one at least, however wide rows are, and also where they have no entries.
    """

    entries: int
    width: Dim
    dims: tuple[Dim, ...] = ()


@dataclass(frozen=True, slots=True)
class Extent:
    """The size of an axis, as a number."""

    axis: int
    dims: tuple[Dim, ...] = ()


@dataclass(frozen=True, slots=True)
class Reshape:
    """The entries in C order in another shape."""

    dims: tuple[Dim, ...]


@dataclass(frozen=True, slots=True)
class Places:
    """The indices of all entries of an array, in C order: a row an axis."""

    shape: tuple[Dim, ...]

    @property
    def dims(self) -> tuple[Dim, ...]:
        """A row an axis, a column an entry."""
        count = Dim.of(1)
        for dim in self.shape:
            count = count * dim
        return Dim.of(len(self.shape)), count


@dataclass(frozen=True, slots=True)
class ZerosLike:
    """Zeros of the shape and kind of the operand."""

    dims: tuple[Dim, ...]


@dataclass(frozen=True, slots=True)
class AsPlaces:
    """Whole numbers as those that any place has room in."""

    dims: tuple[Dim, ...]


ASKED = (Solution, Times, Selected, GramEntries, GramPlaces, Known)
"""What is asked of an object that is no array."""

Object = (
    Attribute
    | Answer
    | Nothing
    | Made
    | Solution
    | Times
    | Selected
    | GramEntries
    | GramPlaces
    | Known
    | Pack
    | Results
    | Launch
    | Called
    | Member
    | Numbered
    | Later
    | Join
    | Extent
    | Count
    | Whole
    | Rows
    | Reshape
    | Places
    | ZerosLike
    | AsPlaces
)
