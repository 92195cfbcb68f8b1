"""The functions of the language: what calls are checked and built by.

`function_table` has a row for each, `rows` says what a row holds; the other files have
the builders, by what functions are about.
"""

from tensorgen.operators.functions.array import Array, Build
from tensorgen.operators.functions.function_table import FUNCTIONS
from tensorgen.operators.functions.rows import Function, Parameter

__all__ = ["FUNCTIONS", "Array", "Build", "Function", "Parameter"]
