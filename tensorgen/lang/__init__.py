"""The language: expression text becomes nodes of the graph."""

from tensorgen.lang.functions import ElaboratedFunction, Local, requested
from tensorgen.lang.problem import Between, ElaboratedProblem
from tensorgen.lang.program import Program, elaborate
from tensorgen.lang.unknowns import ElaboratedUnknown

__all__ = [
    "Between",
    "ElaboratedFunction",
    "ElaboratedProblem",
    "ElaboratedUnknown",
    "Local",
    "Program",
    "elaborate",
    "requested",
]
