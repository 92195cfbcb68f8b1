"""What rendering is given: a module, and everything that its bytes depend on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tensorgen.emit.blocked import BlockedFunction
from tensorgen.emit.bound_problems import BoundFunction, ConstrainedProblem
from tensorgen.emit.interface import Function, Helper, Private
from tensorgen.emit.unknown_solvers import Solver
from tensorgen.structure.classes import StructuredClass


@dataclass(frozen=True, slots=True)
class Module:
    """A generated module: everything that its bytes depend on.

    `helpers` are all that exist, in the order in which those used are written;
    `problems` are the functions that have a class bound to data, beside which there may
    be a problem that is `constrained`; `solvers` find unknowns, and
    what is called `outside` is called through helpers. What is `blocked` has data in
    blocks of rows. With `standard_errors` Hessians give those too.
    """

    name: str
    spec_name: str
    spec_hash: str
    version: str
    backend: str
    functions: tuple[Function, ...]
    doc: str | None = None
    helpers: tuple[Helper, ...] = ()
    problems: tuple[BoundFunction, ...] = ()
    constrained: ConstrainedProblem | None = None
    classes: tuple[StructuredClass, ...] = ()
    solvers: tuple[Solver, ...] = ()
    outside: tuple[Helper, ...] = ()
    blocked: tuple[BlockedFunction, ...] = ()
    standard_errors: bool = False

    @property
    def bound(self) -> tuple[BoundFunction, ...]:
        """All that is bound to data."""
        more = () if self.constrained is None else (self.constrained.bound,)
        return (*self.problems, *more)

    @property
    def private(self) -> tuple[Private, ...]:
        """What its functions call, each once."""
        return tuple(dict.fromkeys(own for f in self.functions for own in f.calls))

    @property
    def forms(self) -> Iterator[Function]:
        """Its functions, also in their other forms."""
        return (
            own
            for function in self.functions
            for form in function.forms
            for own in form.alone
        )
