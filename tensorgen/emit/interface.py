"""What rendering needs to know of a module: the interface to the stages before.

A `Module` holds `Function`s; a function holds the `Body` that lowering wrote, as text.
Rendering adds everything around it: signature, docstring, checks of the arguments,
what is returned, and the classes that are returned.

`Body.returns` holds one expression an array, as the row of the function's kind says;
of a second derivative those for `pairs(wrt)`, from which the transposed ones follow.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Literal

from tensorgen.arrays.kernels import Kernel
from tensorgen.arrays.written import Written
from tensorgen.calculus.kinds import Blocks, Kind
from tensorgen.emit.backends import Backend
from tensorgen.ir.dims import ZERO, Dim
from tensorgen.ir.remarks import Remarks

OPTIONAL = "ArrayLike | None"
"""The type of an unknown, which is found where it is not given."""

Role = Literal["input", "direction", "cotangent", "unknown", "size"]


@dataclass(frozen=True, slots=True)
class Parameter:
    """An argument: an input, a direction `dX`, the cotangent `ct`, or a size.

    A size is a dim symbol that no shape of the others gives, and an integer.
    `default` is the text of a number; `index` is given for index arrays, whose
    entries lie in `0 ... index - 1`. What a sparse matrix is in code are parameters
    `of` it, each with the `source` of its value: its entries, and where they stand. An
    unknown that is not given is what the call `solved` returns.
    """

    name: str
    dims: tuple[Dim, ...]
    doc: str | None = None
    default: str | None = None
    role: Role = "input"
    index: Dim | None = None
    sparse: bool = False
    of: Parameter | None = None
    source: str = ""
    solved: str = ""

    @property
    def type(self) -> str:
        """The type of what callers pass."""
        if self.solved:
            return OPTIONAL
        if self.role == "size":
            return "int"
        return "Any" if self.sparse else "ArrayLike"

    @property
    def declared(self) -> str:
        """The text of the parameter in a signature."""
        text = f"{self.name}: {self.type}"
        return text if self.default is None else f"{text} = {self.default}"


def given(parameters: Iterable[Parameter]) -> list[Parameter]:
    """Return parameters as callers know them: sparse matrices in place of parts."""
    return list(dict.fromkeys(p.of or p for p in parameters))


def arranged(
    parameters: Iterable[Parameter],
) -> tuple[tuple[Parameter, ...], tuple[Parameter, ...]]:
    """Return the positional and the keyword-only arguments, as callers know them."""
    own = given(parameters)
    plain = [p for p in arrays_among(own) if p.default is None]
    inputs = tuple(p for p in plain if p.role == "input")
    extra = tuple(p for p in plain if p.role != "input")
    named = (*sizes_among(own), *(p for p in own if p.default is not None))
    return inputs + extra, named


def sizes_among(parameters: Iterable[Parameter]) -> list[Parameter]:
    """Return the parameters that are sizes."""
    return [p for p in parameters if p.role == "size"]


def arrays_among(parameters: Iterable[Parameter]) -> list[Parameter]:
    """Return all others."""
    return [p for p in parameters if p.role != "size"]


def needed(
    parameters: Iterable[Parameter], read: Collection[str]
) -> tuple[Parameter, ...]:
    """Return parameters without the places of sparse matrices that nobody reads."""
    return tuple(
        p for p in parameters if p.of is None or p.index is None or p.name in read
    )


def counted(parameters: Iterable[Parameter]) -> dict[str, tuple[str, ...]]:
    """Return the sizes that only entries of index arrays tell, with these arrays."""
    own = list(parameters)
    shapes = [p.dims for x in own for p in (x, *([x.of] if x.of is not None else []))]
    given = {symbol for dims in shapes for dim in dims for symbol in dim.symbols}
    given |= {p.name for p in sizes_among(own)}
    found: dict[str, tuple[str, ...]] = {}
    for p in own:
        symbol = str(p.index)
        if p.index is not None and p.index.symbols == (symbol,) and symbol not in given:
            found[symbol] = (*found.get(symbol, ()), p.name)
    return found


def matrices(parameters: Iterable[Parameter]) -> dict[str, str]:
    """Return the names of sparse matrices by those of their values."""
    return {
        p.name: p.of.name for p in parameters if p.of is not None and p.index is None
    }


def every(parameters: Iterable[Parameter]) -> list[Parameter]:
    """Return parameters as callers know them, then the parts of sparse matrices."""
    own = list(parameters)
    return [*given(own), *(p for p in own if p.of is not None)]


@dataclass(frozen=True, slots=True)
class Body:
    """The statements of a function, and what they need.

    `dims` are the dim symbols that the lines use as Python integers, `positive` those
    that a proof took to be at least 1, `needs_dtype` that they use the common dtype as
    `dtype`. `helpers` are names of module-level functions; `modules` are imported where
    the function starts, and used by their last component (`scipy.special` as
    `special`). Matrices that are what `refusals` say raise LinAlgError. No expression
    of `returns` may be an argument itself or a view of one. About `holds` numbers are
    in memory at a time. What has chosen the forms of its lines has `remarks`. They
    call `kernels`.
    """

    lines: tuple[str, ...]
    returns: tuple[str, ...]
    dims: tuple[str, ...] = ()
    positive: tuple[str, ...] = ()
    helpers: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    needs_dtype: bool = False
    refusals: tuple[str, ...] = ()
    holds: Dim = ZERO
    remarks: Remarks = field(default_factory=dict, compare=False)
    kernels: tuple[Kernel, ...] = ()

    @property
    def text(self) -> tuple[str, ...]:
        """The lines, and what they return."""
        return (*self.lines, *self.returns)


def body_of(text: Written, backend: Backend) -> Body:
    """Return some text as statements of a backend's module."""
    return Body(
        text.lines,
        text.returns,
        text.dims,
        helpers=(*text.helpers, *backend.written(text.modules)),
        modules=backend.imported(text.modules),
        needs_dtype=text.needs_dtype,
        refusals=text.refusals if backend.refuses else (),
        remarks=text.code.remarks,
        kernels=text.kernels,
    )


@dataclass(frozen=True, slots=True)
class Holder:
    """How a derivative object is made of the next expressions of `Body.returns`.

    A dense one is made of one array; one of a class of its own, `class_name`, of an
    array for each of `fields`, and of `sizes`, of which those that are `positive` are
    at least 1. Its `structure` is an equation, which has a name in `words`. A block
    with few entries a row is told its `sides`, the shapes of rows and columns. What is
    `filled` is that as a dense array.
    """

    class_name: str | None = None
    fields: tuple[str, ...] = ()
    sizes: tuple[str, ...] = ()
    structure: str = "dense"
    positive: tuple[str, ...] = ()
    words: str = ""
    sides: tuple[str, ...] = ()
    filled: bool = False

    @property
    def text(self) -> tuple[str, ...]:
        """What it is told beside those expressions."""
        return (*self.sizes, *self.sides)

    @property
    def count(self) -> int:
        """How many expressions it takes."""
        return 1 if self.class_name is None else len(self.fields)


@dataclass(frozen=True, slots=True)
class Private:
    """A function that public ones call, of one formula: what they share of its code.

    It takes arrays and objects, each with its type, then sizes, and `dtype` last if its
    body needs that: those which it does not read off its arrays by what it `reads`. It
    returns `outputs`, the fields of a class if it `makes` one; or else what the
    function that it `builds` for returns, whose arrays its body has.
    """

    name: str
    arrays: tuple[tuple[str, str], ...]
    sizes: tuple[str, ...]
    doc: str
    outputs: tuple[tuple[str, str], ...]
    body: Body
    makes: str = ""
    builds: Function | None = None
    reads: tuple[str, ...] = ()

    @property
    def takes(self) -> tuple[str, ...]:
        """The names of its arguments."""
        arrays = (name for name, _ in self.arrays)
        return (*arrays, *self.sizes, *["dtype"] * self.body.needs_dtype)

    def called(self, given: Mapping[str, str] = MappingProxyType({})) -> str:
        """Its call, by who has what it takes under the same names, or as is `given`."""
        return f"{self.name}({', '.join(given.get(x, x) for x in self.takes)})"


@dataclass(frozen=True, slots=True)
class Function:
    """A public function: one kind of derivative of one function of the spec.

    `formula` is the text of the function, `derivatives` texts of what is returned
    (`loss_grad[j] = ...`), which there is `more` of. `holders` has one a Jacobian,
    block or derivative object, if any; all are dense without; `cost` says what it
    computes and holds. With `choices`, the first whose condition holds is taken; the
    body needs what all forms need. Of several `results`, each is a function with the
    lines of all and what it returns itself. One that is `composed` calls what is in
    `calls`: its body returns the parts that callers get. Sizes that are `compared` are
    `refused` by some lines. What is `undivided` is the same without the parts of
    matrices, for where these cancel. What a function returns in a place is `within`:
    its name is called instead of what the body says. The first axis of what is
    returned may be `over` the samples of a batch.
    """

    function: str
    kind: Kind
    parameters: tuple[Parameter, ...]
    wrt: tuple[str, ...]
    dims: tuple[Dim, ...]
    body: Body
    doc: str | None = None
    formula: tuple[str, ...] = ()
    derivatives: tuple[str, ...] = ()
    more: bool = False
    order: tuple[str, ...] = ()
    holders: tuple[Holder, ...] = ()
    choices: tuple[Choice, ...] = ()
    results: tuple[tuple[str, Function], ...] = ()
    cost: str = ""
    calls: tuple[Private, ...] = ()
    composed: bool = False
    refused: tuple[str, ...] = ()
    compared: tuple[str, ...] = ()
    undivided: Function | None = None
    within: tuple[str, int] | None = None
    over: Dim | None = None

    def of_part(self, part: Kind) -> list[tuple[str, Function]]:
        """Return the results that have a part of what is returned, by their names.

        What is of all results together has no name.
        """
        return [(x, f) for x, f in self.results if f.has(part)]

    def has(self, part: Kind) -> bool:
        """Whether a part, such as the value, is among what is returned."""
        return part.name in [own.name for own in self.kind.parts]

    @property
    def alone(self) -> tuple[Function, ...]:
        """The function, or what it returns of each of its results."""
        return tuple(f for _, f in self.results) or (self,)

    @property
    def text(self) -> tuple[str, ...]:
        """The lines of the body, and all that what is returned is made of."""
        return (*self.body.text, *(row for h in self.holders for row in h.text))

    @property
    def forms(self) -> tuple[Function, ...]:
        """The function as it stands, and in its other forms if there are any."""
        whole = [] if self.undivided is None else [self.undivided]
        return (self, *(choice.function for choice in self.choices), *whole)

    @property
    def name(self) -> str:
        """The name in Python."""
        return self.kind.public_name(self.function, self.order)

    @property
    def blocks(self) -> Blocks:
        """The inputs that each of its own results is differentiated by."""
        return self.kind.blocks(self.wrt, self.order)

    def block_dims(self, kind: Kind, block: Sequence[str]) -> tuple[Dim, ...]:
        """Return the dims of a derivative of some kind by the inputs of a block."""
        own = self.dims
        if kind.argument == "cotangent":
            own = () if self.over is None else (self.over,)
        return own + tuple(d for x in block for d in self.sample_dims(x))

    def sample_dims(self, name: str) -> tuple[Dim, ...]:
        """Return the dims of an argument, of one sample if it has all of a batch."""
        dims = self.parameter(name).dims
        return dims[1:] if dims and dims[0] == self.over else dims

    def parameter(self, name: str) -> Parameter:
        """Return the argument of that name."""
        return next(p for p in self.parameters if p.name == name)

    @property
    def arguments(self) -> list[Parameter]:
        """All arguments, as callers know them, in the order of the signature."""
        return [p for group in self.signature for p in group]

    @property
    def signature(self) -> tuple[tuple[Parameter, ...], tuple[Parameter, ...]]:
        """The positional and the keyword-only arguments, in their order."""
        return arranged(self.parameters)


@dataclass(frozen=True, slots=True)
class Choice:
    """Another form of a function, to be taken where a condition on sizes holds."""

    condition: str
    function: Function


def chosen(
    function: Function, choices: Sequence[Choice], sizes: Iterable[str]
) -> Function:
    """Return a function in several forms, whose conditions compare `sizes`."""
    others = [choice.function.body for choice in choices]
    body = _together(function.body, others, sizes)
    return replace(function, body=body, choices=tuple(choices))


def or_undivided(function: Function, other: Function) -> Function:
    """Return a function that is another one where the parts of a matrix cancel."""
    body = _together(function.body, [other.body])
    calls = (*function.calls, *other.calls)
    return replace(function, body=body, calls=calls, undivided=other)


def _together(first: Body, others: Sequence[Body], sizes: Iterable[str] = ()) -> Body:
    """A body that needs what others do too."""
    bodies = [first, *others]

    def every(part: Callable[[Body], Sequence[str]]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(x for body in bodies for x in part(body)))

    return replace(
        first,
        dims=tuple(dict.fromkeys((*every(lambda body: body.dims), *sizes))),
        positive=every(lambda body: body.positive),
        helpers=every(lambda body: body.helpers),
        modules=every(lambda body: body.modules),
        refusals=every(lambda body: body.refusals),
        needs_dtype=any(body.needs_dtype for body in bodies),
        kernels=tuple(dict.fromkeys(x for body in bodies for x in body.kernels)),
    )


@dataclass(frozen=True, slots=True)
class Helper:
    """A module-level function that bodies call, as source with `np` as it should be.

    `modules` are the lazy imports inside; `uses` names other helpers.
    """

    name: str
    source: str
    modules: tuple[str, ...] = ()
    uses: tuple[str, ...] = ()
