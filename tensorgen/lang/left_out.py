"""Indices that an expression takes and does not bind: on the left, they would be."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tensorgen.lang.binding_calls import binds
from tensorgen.lang.reach import positions
from tensorgen.lang.scope import Names
from tensorgen.operators.functions import FUNCTIONS


def left_out(tree: ast.expr, names: Names, own: str) -> list[str]:
    """The free indices of an expression that says what `own` is.

    They are in the order of entries of `own` that have all of them, such as `W[i, j]`;
    without any, in that of the text.
    """
    found = [*dict.fromkeys(_free(tree, names, frozenset()))]
    for part, items in positions(tree):
        if isinstance(part.value, ast.Name) and part.value.id == own:
            taken = [item.id for item in items if isinstance(item, ast.Name)]
            if sorted(taken) == sorted(found):
                return taken
    return found


def _free(tree: ast.AST, names: Names, bound: frozenset[str]) -> Iterator[str]:
    """The names in brackets that stand for nothing but indices around all."""
    if isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name):
        function = FUNCTIONS.get(tree.func.id)
        if function is not None and function.reduces and binds(function, tree):
            behind = (x.id for x in tree.args[1:] if isinstance(x, ast.Name))
            bound |= {*behind, *(x.arg for x in tree.keywords if x.arg is not None)}
    if isinstance(tree, ast.Subscript):
        yield from _free(tree.value, names, bound)
        for name in (x.id for x in ast.walk(tree.slice) if isinstance(x, ast.Name)):
            if not (name in bound or names.get(name) or name in FUNCTIONS):
                yield name
        return
    for child in ast.iter_child_nodes(tree):
        yield from _free(child, names, bound)
