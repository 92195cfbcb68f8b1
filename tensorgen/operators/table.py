"""The rows of the tables of functions, and what a row says.

Two kinds of functions exist in the intermediate representation: elementwise ones
(`Elementwise`, nodes of kind `Map`) and functions of whole arrays (`Operator`, nodes
of kind `Call`). Everything else that the language knows is built from these and from
products and sums.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal, NamedTuple, cast

from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Call, Constraint, Node
from tensorgen.ir.remarks import Remark

Trait = Literal[
    "even",  # f(-x) = f(x)
    "odd",  # f(-x) = -f(x)
    "positive",  # f(x) > 0
    "nonnegative",  # f(x) >= 0
    "keeps0",  # f(0) = 0
    "keeps1",  # f(1) = 1
    "bounded",  # by a number, from above
    "overflows",  # is infinite at large arguments
    "vanishes",  # so fast that far out nothing is left to take a logarithm of
    "commutes",  # f(x, y) = f(y, x)
    "log",  # of a sum of exponentials, or a level of one
    "logistic",  # of one exponential, of minus the size of the argument
    "quick",  # takes about as long as a comparison, though it is no operator
    "math",  # Python has it too, for numbers; it cannot raise where they are positive
    "in_place",  # its helper overwrites what it computes
    "internal",  # only derivatives and stable forms use it
]


@dataclass(frozen=True)
class Elementwise:
    """A scalar function of one or more arguments.

    `partials[k]` is the derivative with respect to argument k, in the names `x`, `y`,
    `z` of the arguments and the functions of this same table; it is empty where none is
    known. `numpy` is the template of a call with `{0}`, `{1}`: for arguments in
    parentheses where needed; `np` in it becomes the array module of the backend. A
    template that starts with `_` calls a helper of the generated module. Where `expand`
    is given, an expression in the same names, it is what code is emitted for. `sample`
    are points inside the domain, `extreme` ones where values and derivatives must keep
    their digits. `traits` are words that `has` asks for. Formulas write what is
    `spelled`, names of intermediate values a `word`; `arguments` and `doc` are what a
    user of the language reads. Arguments at `conditions` are truth values;
    `ends` are the values at both infinities, where they are numbers or infinite. Code
    that calls it has the `remark`.
    """

    name: str
    partials: tuple[str, ...]
    numpy: str = ""
    sample: tuple[float, ...] = (-1.7, -0.4, 0.3, 0.9, 2.5)
    extreme: tuple[float, ...] = ()
    boolean: bool = False
    # (argument, a number where all is finite)
    safe: tuple[int, int | Fraction] | None = None
    expand: str = ""
    traits: str = ""
    spelled: str = ""
    word: str = ""
    arguments: tuple[str, ...] = ()
    doc: str = ""
    conditions: tuple[int, ...] = ()
    ends: tuple[float | None, float | None] = (None, None)
    remark: Remark | None = None

    def has(self, trait: Trait) -> bool:
        """Whether the function is known to have a trait."""
        return trait in self.traits.split()

    @property
    def requires(self) -> str:
        """The module that is imported where the function is used, if any."""
        return "scipy.special" if self.numpy.startswith("special.") else ""

    @property
    def arity(self) -> int:
        """The number of arguments."""
        return len(self.partials)


class Partial(NamedTuple):
    """One product that stands in the derivative of a node by one of its operands.

    `d node[out] / d operand[labels] = coefficient * sum(prod(factors))`, where the
    node's axes have the labels 0, 1, ...; labels in neither are summed. Theorems 5 to
    10 of Laue et al. are this form for products, general and elementwise functions.
    """

    operand: Node
    labels: tuple[Hashable, ...]
    coefficient: Fraction = Fraction(1)
    factors: tuple[tuple[Node, Sequence[Hashable]], ...] = ()
    constraints: tuple[Constraint, ...] = ()


class Transfer(NamedTuple):
    """How a call carries tangents and cotangents of one argument.

    For what is no product by labels: a linear call and its transpose, or a matrix
    function. `forward(graph, node, tangent, extra)` takes a tangent of dims
    `argument.dims + extra` to one of dims `node.dims + extra`; its transpose
    `reverse(graph, node, cotangent, rows)` takes `rows + node.dims` to
    `rows + argument.dims`. Where `forward` is products and sums of the tangent, its
    transpose follows from it; a linear call in it needs one of its own.
    """

    forward: Callable[[Graph, Call, Node, Sequence[Dim]], Node]
    reverse: Callable[[Graph, Call, Node, Sequence[Dim]], Node] | None = None


Dims = Callable[[Sequence[Node], Mapping[str, object]], tuple[Dim, ...]]
"""The dims of a result, by the arguments and parameters of a call."""


def shape_of(argument: int) -> Dims:
    """The dims of a result that has the shape of an argument."""
    return lambda args, params: args[argument].dims


same_dims = shape_of(0)


def given_shape(args: Sequence[Node], params: Mapping[str, object]) -> tuple[Dim, ...]:
    """The dims of a result that has a parameter for its shape."""
    return cast(tuple[Dim, ...], params["shape"])


def partials_of_first(graph: Graph, node: Call) -> list[Partial]:
    """The derivative of what is its first argument."""
    return [Partial(node.args[0], tuple(range(node.order)))]


def no_partials(graph: Graph, node: Call) -> list[Partial]:
    """The derivative of what changes in steps alone."""
    return []


Make = Callable[[Graph, str, Sequence[Node]], Node]
"""How calls are made."""

ByParts = Callable[[Graph, Node, Make], Node | None]
"""A function of a matrix that is a product of parts on axes of their own."""


Coefficient = Callable[[Graph, Sequence[Node], Sequence[Node]], Node]
"""The next Taylor coefficient of a function, for those of its argument and its own."""


@dataclass(frozen=True)
class Operator:
    """A function of whole arrays.

    `dims` gives the result's dims from the arguments and parameters. `derivative`
    gives products, or carries tangents and cotangents of each argument that has any.
    `expand`, if given, writes a value in terms of other nodes when code is emitted,
    unless that is `helped`: a helper does it; otherwise `numpy` is the template of a
    call. Where the call `scales` its argument, contractions open it, so that nothing
    large is scaled first. A `view` may share the memory of its argument; a `boolean`
    one takes conditions and is one; `requires` is a module imported lazily. What a
    matrix must not be is in `refuses`: NumPy raises LinAlgError then. Functions of
    matrices cost `work` times n^3; while it runs, a call holds `spare` arrays as large
    as its result beside it. Functions that are `regular`, or their derivatives, want
    regular ones. Names of intermediate values use the `word`, and what the argument
    `named_by` is called. An `internal` one is no
    function of users, and never differentiated. What is known `by_parts` of a matrix,
    an object that stands for it knows too. A `keyed` one takes index arrays after its
    first argument; one of `places` makes an index array, of entries below its parameter
    `bound`. Taylor coefficients follow from the derivative, or from a rule for each
    `coefficient`. What is `of_some` entries has no value of none; a `rowwise` one is
    made a block of rows at a time. Code that calls it has the `remark`.
    The last `matrix_axes` are those of a matrix, and all before them a batch. A block
    of entries gives what `of_block` makes of a call over them, of none as well; what
    blocks give is joined by the function `step` of two. One that is no such reduction
    is local `by_reductions` that are. Where entries of the result follow from parts of
    arguments, `subscripts` say which, as those of einsum do.
    """

    name: str
    dims: Dims
    derivative: Callable[[Graph, Call], list[Partial]] | tuple[Transfer | None, ...]
    numpy: str = ""
    expand: Callable[[Graph, Call], Node] | None = None
    params: tuple[str, ...] = field(default=())
    scales: bool = False
    view: bool = False
    boolean: bool = False
    requires: str = ""
    refuses: str = ""
    work: float = 0.0
    spare: int = 0
    regular: bool = False
    word: str = ""
    named_by: int = 0
    internal: bool = False
    by_parts: ByParts | None = None
    keyed: bool = False
    places: bool = False
    coefficient: Coefficient | None = None
    of_some: bool = False
    rowwise: bool = False
    helped: bool = False
    remark: Remark | None = None
    matrix_axes: int = 0
    of_block: Callable[[Graph, Call], Node] | None = None
    step: str = ""
    by_reductions: Callable[[Graph, Call], Node] | None = None
    subscripts: str = ""
