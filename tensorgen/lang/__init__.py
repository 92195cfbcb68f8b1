"""The language: expression text becomes nodes of the graph."""

from tensorgen.lang.elaborate_unknowns import ElaboratedUnknown
from tensorgen.lang.elaborated import ElaboratedFunction, Local, requested
from tensorgen.lang.elaborated_problem import Between, ElaboratedProblem
from tensorgen.lang.program import Program, elaborate, program_of

__all__ = [
    "Between",
    "ElaboratedFunction",
    "ElaboratedProblem",
    "ElaboratedUnknown",
    "Local",
    "Program",
    "elaborate",
    "program_of",
    "requested",
]
