"""The language: expression text becomes nodes of the graph."""

from tensorgen.lang.program import ElaboratedFunction, Local, Program, elaborate

__all__ = ["ElaboratedFunction", "Local", "Program", "elaborate"]
