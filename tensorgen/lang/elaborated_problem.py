"""What elaboration makes of a problem: objective, constraints and bounds as nodes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tensorgen.ir.nodes import Node
from tensorgen.lang.elaborated import ElaboratedFunction
from tensorgen.operators.functions.array import SizeCheck
from tensorgen.spec.model import FunctionSpec, InputSpec, Limited, ProblemSpec


@dataclass(frozen=True, slots=True)
class Between:
    """A variable or a constraint with its bounds; None is unbounded."""

    spec: Limited
    node: Node
    lower: Node | None
    upper: Node | None


@dataclass(frozen=True, slots=True)
class Limit:
    """A bound that follows from parameters, and its multiplier.

    It is that of the variable, or constraint, of this number on one side.
    """

    side: str
    number: int
    multiplier: InputSpec
    node: Node


@dataclass(frozen=True, slots=True)
class MovedOptimum:
    """The Lagrangian, as a function whose second derivative is emitted.

    It is by the variables, the `multipliers` of constraints and of the `limits`, and
    the `parameters`, in this order.
    """

    function: ElaboratedFunction
    multipliers: tuple[InputSpec, ...]
    limits: tuple[Limit, ...]
    parameters: tuple[InputSpec, ...]


@dataclass(frozen=True, slots=True)
class ElaboratedProblem:
    """A problem as nodes. `arguments` are its variables and all that they meet.

    The objective is to be minimised: it is negated where the file says `maximize`. How
    the optimum is `moved` by parameters is there where the file names some.
    """

    spec: ProblemSpec
    objective: Node
    variables: tuple[Between, ...]
    constraints: tuple[Between, ...]
    arguments: tuple[InputSpec, ...]
    functions: Mapping[str, FunctionSpec]
    checks: tuple[SizeCheck, ...]
    moved: MovedOptimum | None = None
