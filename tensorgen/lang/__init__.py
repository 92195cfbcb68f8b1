"""The language: expression text becomes nodes of the graph."""

from tensorgen.lang.problem import Between, ElaboratedProblem
from tensorgen.lang.program import ElaboratedFunction, Local, Program, elaborate

__all__ = [
    "Between",
    "ElaboratedFunction",
    "ElaboratedProblem",
    "Local",
    "Program",
    "elaborate",
]
