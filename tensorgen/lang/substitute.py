"""Expressions in which an index is another one, or a number."""

from __future__ import annotations

import ast
from copy import deepcopy
from dataclasses import replace

from tensorgen.lang.syntax import Expression


class _Replaced(ast.NodeTransformer):
    """Puts a part in the place of a name, wherever that stands."""

    def __init__(self, name: str, part: ast.expr) -> None:
        self.name, self.part = name, part

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id != self.name:
            return node
        return ast.copy_location(deepcopy(self.part), node)


def with_index(body: Expression, old: str, new: str | int) -> Expression:
    """Return an expression with an index or a number in place of an index."""
    if old == new:
        return body
    number = isinstance(new, int)
    part = ast.Constant(new) if number else ast.Name(str(new), ast.Load())
    return replace(body, tree=_Replaced(old, part).visit(deepcopy(body.tree)))
