"""The language: expression text becomes nodes of the graph."""

from tensorgen.lang.program import ElaboratedFunction, Local, Program, elaborate
from tensorgen.lang.protocol import Differentiator

__all__ = ["Differentiator", "ElaboratedFunction", "Local", "Program", "elaborate"]
