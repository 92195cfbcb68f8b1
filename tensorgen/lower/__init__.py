"""Lowering: from nodes to the statements that an expert would write."""

from tensorgen.lower.code import Code
from tensorgen.lower.lowering import lower

__all__ = ["Code", "lower"]
