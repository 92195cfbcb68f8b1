"""What rendering needs to know of a problem: a function bound to its data.

Its class holds the data and what follows from them; a second class is one point, at
which each part is computed when it is first asked for.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tensorgen.calculus.kinds import JACOBIAN, Kind
from tensorgen.emit.interface import Body, Function, Parameter, every
from tensorgen.ir.dims import Dim


@dataclass(frozen=True, slots=True)
class Part:
    """Values that are computed together: what methods share, or what one returns.

    `reads` are the inputs and the values of earlier parts that the body uses. What
    methods share is held under the names that `body.returns` has; `kind` is that of the
    first of them, or of the one that returns these values. A value has `dims`;
    `function` says what a Hessian or Jacobian is made of.
    """

    kind: Kind
    body: Body
    reads: tuple[str, ...] = ()
    dims: tuple[Dim, ...] = ()
    function: Function | None = None

    @property
    def name(self) -> str:
        """The name of the method."""
        return self.kind.name


@dataclass(frozen=True, slots=True)
class Following:
    """What is computed of some data, `sources`, and held; they may be sizes alone."""

    sources: tuple[str, ...]
    body: Body
    reads: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Check:
    """A condition on sizes that must not hold, of the dims `symbols`."""

    wrong: str
    symbols: tuple[str, ...]
    message: str


@dataclass(frozen=True, slots=True)
class BoundFunction:
    """A function of the module, bound to its data.

    `inputs` are all of its inputs, `data` what is computed of those that are not in
    `wrt`, by those it follows from, `shared` what several methods use, `methods` what
    each of them finishes, some from `directions` too. With a `constant` Hessian,
    products with directions are its own.
    """

    function: str
    inputs: tuple[Parameter, ...]
    wrt: tuple[str, ...]
    data: tuple[Following, ...]
    shared: tuple[Part, ...]
    methods: tuple[Part, ...]
    directions: tuple[str, ...]
    checks: tuple[Check, ...] = ()
    constant: bool = False

    @property
    def bodies(self) -> Iterator[Body]:
        """Everything that is computed anywhere."""
        yield from self.before
        yield from (part.body for part in self.methods)

    @property
    def before(self) -> Iterator[Body]:
        """Everything that methods finish from."""
        yield from (part.body for part in self.data)
        yield from (part.body for part in self.shared)

    @property
    def held(self) -> tuple[str, ...]:
        """The names of what is computed of the data."""
        return tuple(name for part in self.data for name in part.body.returns)

    @property
    def functions(self) -> Iterator[Function]:
        """The functions whose derivative objects it makes, in all forms."""
        made = (part.function for part in self.methods if part.function is not None)
        return (form for function in made for form in function.forms)

    @property
    def taken(self) -> set[str]:
        """The names that methods bind: inputs, sizes, values held."""
        sizes = {s for p in self.inputs for dim in p.dims for s in dim.symbols}
        shared = (name for part in self.shared for name in part.body.returns)
        return {*(p.name for p in every(self.inputs)), *sizes, *self.held, *shared}

    def is_joint_jacobian(self, part: Part) -> bool:
        """Whether a part is a Jacobian over several inputs."""
        return len(self.wrt) > 1 and part.kind.holder == JACOBIAN.holder

    def method(self, kind: Kind) -> Part | None:
        """Return what a method finishes, if there is that method."""
        return next((part for part in self.methods if part.name == kind.name), None)


@dataclass(frozen=True, slots=True)
class Limited:
    """A variable or a constraint; `text` says between what it lies, if anything."""

    name: str
    dims: tuple[Dim, ...]
    text: str


@dataclass(frozen=True, slots=True)
class Limits:
    """One side of the bounds of all variables, or constraints: an expression each.

    Those of the `values` that are no plain numbers are what the body computes of data,
    and of what follows from these, as `reads` says.
    """

    name: str
    body: Body
    reads: tuple[str, ...]
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Moved:
    """How an optimum moves with `parameters`: by products of a `function`.

    That is by the variables, multipliers and parameters, in this order. Of multipliers
    the last are of bounds: the side, and the number of what it bounds.
    """

    function: Function
    multipliers: tuple[str, ...]
    limits: tuple[tuple[str, int], ...]
    parameters: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ConstrainedProblem:
    """A problem with bounds and constraints, all of whose methods are `bound`.

    These are the objective and its gradient, the constraints, their Jacobians, and the
    Hessian of the Lagrangian. `sense` says what is sought; Jacobians that follow from
    sizes alone are `constant`. Where parameters are named, its optimum is `moved`.
    """

    name: str
    doc: str | None
    sense: str
    bound: BoundFunction
    variables: tuple[Limited, ...]
    constraints: tuple[Limited, ...]
    limits: tuple[Limits, ...]
    constant: tuple[str, ...] = ()
    moved: Moved | None = None
