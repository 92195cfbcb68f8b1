"""What a spec file says, once it has been read and checked.

Expressions are still text here: `lang` reads them. Everything that a later stage
may want to point at keeps its `Text`, hence its place in the file.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from tensorgen.calculus.kinds import Kind
from tensorgen.errors import Source, Text
from tensorgen.ir.dims import Dim


@dataclass(frozen=True, slots=True)
class Definition:
    """`name = body`, `name[i, k] = body` or the macro `name(t, d) = body`.

    At most one of `indices` and `parameters` is given; None means that the
    brackets are absent, which differs from empty ones.
    """

    name: str
    indices: tuple[Text, ...] | None
    parameters: tuple[Text, ...] | None
    body: Text
    name_text: Text


@dataclass(frozen=True, slots=True)
class InputSpec:
    """An argument of the functions; a scalar has the shape ().

    What a sparse matrix is to the stages after is its `parts`: its entries, which are
    `of` it, and where they stand.
    """

    name: str
    name_text: Text
    shape: tuple[Dim, ...]
    doc: str | None = None
    default: Fraction | None = None
    properties: frozenset[str] = frozenset()
    index: Dim | None = None
    sparse: bool = False
    of: InputSpec | None = None

    @property
    def parts(self) -> tuple[InputSpec, ...]:
        """The arrays that it is given by: itself, but for sparse matrices."""
        if not self.sparse:
            return (self,)
        entries = (Dim.symbol(f"{self.name}_entries"),)
        values, *places = SPARSE_PARTS
        name, text = f"{self.name}_{values}", self.name_text
        found = [InputSpec(name, text, entries, properties=self.properties, of=self)]
        for place, bound in zip(places, self.shape, strict=True):
            name = f"{self.name}_{place}"
            found.append(InputSpec(name, text, entries, index=bound, of=self))
        return tuple(found)


@dataclass(frozen=True, slots=True)
class Emit:
    """One entry of `emit`; `inputs` are what one of higher order is taken by."""

    kind: Kind
    inputs: tuple[str, ...]
    text: Text


@dataclass(frozen=True, slots=True)
class Wrt:
    """An input to differentiate by, on the symmetric subspace if it says so."""

    name: str
    symmetric: bool
    text: Text


@dataclass(frozen=True, slots=True)
class FunctionSpec:
    """A function; `emit` is empty where the file leaves it to the default."""

    name: str
    name_text: Text
    indices: tuple[Text, ...] | None
    doc: str | None
    where: tuple[Definition, ...]
    expr: Text
    wrt: tuple[Wrt, ...]
    emit: tuple[Emit, ...]


@dataclass(frozen=True, slots=True)
class Spec:
    """A whole file. `hints` pairs each dim that is listed with its size, if any."""

    source: Source
    module: str
    doc: str | None
    hints: tuple[tuple[str, int | None], ...]
    inputs: tuple[InputSpec, ...]
    definitions: tuple[Definition, ...]
    functions: tuple[FunctionSpec, ...]
    backends: tuple[str, ...]


SPARSE_PARTS = ("values", "rows", "columns")
"""What the parts of a sparse matrix are called, behind its name."""

PROPERTIES = ("symmetric", "spd", "positive", "nonnegative")
BACKENDS = ("numpy", "cupy")
