"""Expressions in which an index is another one, or a number."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import replace

from tensorgen.lang.syntax import Expression


class _Replaced(ast.NodeTransformer):
    """Puts parts in the places of names, wherever these stand."""

    def __init__(self, parts: Mapping[str, ast.expr | str]) -> None:
        self.parts = parts

    def visit_Name(self, node: ast.Name) -> ast.expr:
        part = self.parts.get(node.id)
        if isinstance(part, str):
            return parsed(part, node)
        return node if part is None else deepcopy(part)


def parsed(text: str, place: ast.expr) -> ast.expr:
    """Return the tree of a text that is in no file: it stands where another does."""
    tree = ast.parse(text, mode="eval").body
    for part in ast.walk(tree):
        ast.copy_location(part, place)
    return tree


def with_parts(tree: ast.expr, parts: Mapping[str, ast.expr | str]) -> ast.expr:
    """Return a tree with parts in the places of names."""
    found: ast.expr = _Replaced(parts).visit(deepcopy(tree))
    return found


def with_index(body: Expression, old: str, new: str | int) -> Expression:
    """Return an expression with an index or a number in place of an index."""
    if old == new:
        return body
    return replace(body, tree=with_parts(body.tree, {old: str(new)}))
