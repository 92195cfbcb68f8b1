"""What a spec file says, once it has been read and checked.

Expressions are still text here: `lang` reads them. Everything that a later stage
may want to point at keeps its `Text`, hence its place in the file.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

from tensorgen.calculus.kinds import HVP, Kind
from tensorgen.errors import Source, Span, Text
from tensorgen.ir.dims import Dim


@dataclass(frozen=True, slots=True)
class Definition:
    """`name = body`, `name[i, k] = body` or the macro `name(t, d) = body`.

    At most one of `indices` and `parameters` is given; None means that the
    brackets are absent, which differs from empty ones. A `promise` is one of
    `PROMISES`, of the value as a whole; `ranges` are those that indices state. `places`
    are all that stands between the brackets, where that is more than indices: `:` in
    `x[i, :]`, or which entries it gives, as in `x[0]` and `x[t + 1]`.
    """

    name: str
    indices: tuple[Text, ...] | None
    parameters: tuple[Text, ...] | None
    body: Text
    name_text: Text
    promise: Text | None = None
    ranges: tuple[Text | None, ...] = ()
    places: tuple[Text, ...] = ()

    @property
    def gives_entries(self) -> bool:
        """Whether it gives some entries alone."""
        more = [place for place in self.places if place.value != ":"]
        return len(more) > len(self.indices or ())


@dataclass(frozen=True, slots=True)
class InputSpec:
    """An argument of the functions; a scalar has the shape ().

    What a sparse matrix is to the stages after is its `parts`, which are `of` it: its
    entries, where they stand, and the pairs of entries that one row or column has,
    those of places at which the index array `pairs` is the same. An `unknown` is found
    where it is not given. Of what has a `batch`, a size, callers give an array with one
    axis more in front: `shape` is that of one sample.
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
    pairs: str | None = None
    unknown: bool = False
    batch: Dim | None = None

    @property
    def parts(self) -> tuple[InputSpec, ...]:
        """The arrays that it is given by: itself, but for sparse matrices."""
        if not self.sparse:
            return (self,)
        entries = Dim.symbol(self.part("entries"))
        m, n = self.shape
        bounds = {"values": None, "rows": m, "columns": n}
        found = [self._part(x, entries, bound) for x, bound in bounds.items()]
        for one in ("row", "column"):
            count = Dim.symbol(self.part(f"{one}_pairs"))
            for place in ("first", "second"):
                found.append(self._part(f"{one}_{place}", count, entries, f"{one}s"))
        return tuple(found)

    def part(self, name: str) -> str:
        """What code calls a part or a size of a sparse matrix."""
        return f"{self.name}_{name}"

    def _part(
        self, name: str, size: Dim, index: Dim | None, pairs: str | None = None
    ) -> InputSpec:
        known = self.properties if index is None else frozenset[str]()
        return InputSpec(
            self.part(name),
            self.name_text,
            (size,),
            properties=known,
            index=index,
            of=self,
            pairs=pairs and self.part(pairs),
        )


@dataclass(frozen=True, slots=True)
class UnknownSpec:
    """An array that is given in one of `WAYS`, by what `body` says of it.

    With `parameters` it is a function of these, and solved for wherever it is called;
    the search begins at `start`.
    """

    given: InputSpec
    way: str
    body: Text
    parameters: tuple[InputSpec, ...] = ()
    start: Text | None = None

    @property
    def name(self) -> str:
        """Its name."""
        return self.given.name


@dataclass(frozen=True, slots=True)
class Emit:
    """One entry of `emit`; `inputs` are what one of higher order is taken by."""

    kind: Kind
    inputs: tuple[str, ...]
    text: Text


@dataclass(frozen=True, slots=True)
class Wrt:
    """An input to differentiate by, on one of `SUBSPACES` if it says so.

    Or in the inner product of a `metric`, an expression.
    """

    name: str
    subspace: str
    text: Text
    metric: Text | None = None


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """After how many steps of what `name` steps with a state is kept.

    None is for all names, or for about the root of all steps; `text` is where it says
    so.
    """

    name: str | None
    text: Text
    length: int | None


@dataclass(frozen=True, slots=True)
class FunctionSpec:
    """A function; `emit` is empty where the file leaves it to the default.

    Where `expr` is a mapping, `results` are its entries, and `expr` is the key. The
    `metric` is that of its values, an expression. With `standard_errors` its Hessian
    gives those too, and the diagonal of its inverse.
    """

    name: str
    name_text: Text
    indices: tuple[Text, ...] | None
    doc: str | None
    where: tuple[Definition, ...]
    expr: Text
    wrt: tuple[Wrt, ...]
    emit: tuple[Emit, ...]
    ranges: tuple[Text | None, ...] = ()
    places: tuple[Text, ...] = ()
    results: tuple[Definition, ...] = ()
    checkpoints: tuple[Checkpoint, ...] = ()
    metric: Text | None = None
    standard_errors: bool = False


@dataclass(frozen=True, slots=True)
class ExternalSpec:
    """A function that the module imports, by a path for each backend.

    Without a `shape` it is elementwise. `rules` say of derivatives their kind, by which
    argument they are, and an expression.
    """

    name: str
    name_text: Text
    calls: tuple[tuple[str, str], ...]
    call_span: Span
    arguments: tuple[InputSpec, ...]
    shape: tuple[Dim, ...] | None
    rules: tuple[tuple[str, str, Text], ...]
    doc: str | None = None


@dataclass(frozen=True, slots=True)
class Limited:
    """A variable, or a function that is a constraint, and its bounds, if any."""

    name: str
    name_text: Text
    lower: Text | None
    upper: Text | None


@dataclass(frozen=True, slots=True)
class ProblemSpec:
    """A constrained problem; `name_text` is the key where it bears no name.

    Of `parameters` it says how its optimum moves with them.
    """

    name: str
    name_text: Text
    doc: str | None
    objective: Text
    maximize: bool
    variables: tuple[Limited, ...]
    constraints: tuple[Limited, ...]
    parameters: tuple[Text, ...] = ()

    @property
    def lagrangian(self) -> str:
        """What the Lagrangian is called in code, where there are parameters."""
        words = re.findall(r"[A-Z]*[^A-Z]+|[A-Z]+", self.name.removesuffix("Problem"))
        return "_".join([*(word.strip("_").lower() for word in words), "lagrangian"])

    @property
    def made(self) -> tuple[str, ...]:
        """The names of what the module has for them besides the class."""
        if not self.parameters:
            return ()
        name, own = self.lagrangian, self.name.removesuffix("Problem")
        return HVP.public_name(name), HVP.tuple_name(name), f"{own}Sensitivity"


@dataclass(frozen=True, slots=True)
class BlocksSpec:
    """The dim whose rows come in blocks, by its name in code.

    `along` pairs dims, by their names in code, with the index arrays that name the row
    which an entry comes with. The `functions` are all if the file lists none. Where the
    names of `along` stand are `places`.
    """

    size: str
    size_text: Text
    along: tuple[tuple[str, str], ...] = ()
    functions: tuple[Text, ...] = ()
    places: tuple[Text, ...] = ()


@dataclass(frozen=True, slots=True)
class Spec:
    """A whole file. `hints` pairs each dim that is listed with its size, if any.

    Where dims stand in `dims`, in shapes and in sizes, in that order, are `dim_places`.
    """

    source: Source
    module: str
    doc: str | None
    hints: tuple[tuple[str, int | None], ...]
    inputs: tuple[InputSpec, ...]
    definitions: tuple[Definition, ...]
    functions: tuple[FunctionSpec, ...]
    backends: tuple[str, ...]
    problem: ProblemSpec | None = None
    support: str = "inline"
    unknowns: tuple[UnknownSpec, ...] = ()
    externals: tuple[ExternalSpec, ...] = ()
    blocks: BlocksSpec | None = None
    dim_places: tuple[Text, ...] = ()


PROPERTIES = ("symmetric", "spd", "positive", "nonnegative")
BACKENDS = ("numpy", "cupy")
WAYS = ("equation", "fixed_point", "minimises")
SUPPORT = ("inline", "shared")
