"""What rendering needs to know of a problem: a function bound to its data.

Its class holds the data and what follows from them; a second class is one point, at
which each part is computed when it is first asked for.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tensorgen.calculus.kinds import JACOBIAN, Kind
from tensorgen.emit.model import Body, Function, Parameter
from tensorgen.ir.dims import Dim


@dataclass(frozen=True, slots=True)
class Part:
    """Values that are computed together: what methods share, or what one returns.

    `reads` are the inputs and the values of earlier parts that the body uses. What
    methods share is held under the names that `body.returns` has. `function` says what
    a Hessian or Jacobian is made of, `sources` which data replace what follows from
    them.
    """

    name: str
    body: Body
    reads: tuple[str, ...] = ()
    function: Function | None = None
    sources: tuple[str, ...] = ()


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
    each of them finishes. With a `constant` Hessian, products with directions are its
    own.
    """

    function: str
    dims: tuple[Dim, ...]
    inputs: tuple[Parameter, ...]
    wrt: tuple[str, ...]
    data: tuple[Part, ...]
    shared: tuple[Part, ...]
    methods: tuple[Part, ...]
    checks: tuple[Check, ...] = ()
    constant: bool = False

    @property
    def bodies(self) -> Iterator[Body]:
        """Everything that is computed anywhere."""
        return (part.body for part in (*self.data, *self.shared, *self.methods))

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
    def joint_jacobian(self) -> bool:
        """Whether it has a Jacobian over several inputs."""
        return len(self.wrt) > 1 and self.method(JACOBIAN) is not None

    def method(self, kind: Kind) -> Part | None:
        """Return what a method finishes, if there is that method."""
        return next((part for part in self.methods if part.name == kind.name), None)
