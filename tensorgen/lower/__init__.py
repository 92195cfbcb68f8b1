"""Lowering: from nodes to the statements that an expert would write."""

from tensorgen.arrays.code import Code
from tensorgen.lower.lowering import lower

__all__ = ["Code", "lower"]
