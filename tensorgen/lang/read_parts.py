"""Which part of a syntax tree is read where."""

from __future__ import annotations

import ast

from tensorgen.lang.elaborate_calls import call
from tensorgen.lang.operator_syntax import operation
from tensorgen.lang.statement import Statement
from tensorgen.lang.subscripts import subscript
from tensorgen.operators.functions.array import Array


def read_value(statement: Statement, tree: ast.expr) -> Array | None:
    """Return the value of a part that is no name, or None where a fault was noted."""
    match tree:
        case ast.Call():
            return call(statement, tree)
        case ast.Subscript():
            return subscript(statement, tree)
        case _:
            return operation(statement, tree)
