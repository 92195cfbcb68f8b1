"""Indices of a function's left side in its `where`: `f[i]: ...` with `v = 15 - i`.

Such a line is about each i, so it is read as `v[i] = 15 - i`, and where the lines below
it say `v`, they mean `v[i]`.
"""

from __future__ import annotations

import ast
from collections.abc import Container, Iterator, Sequence
from copy import deepcopy
from dataclasses import replace

from tensorgen.errors import Text
from tensorgen.lang.extremes import OF_TWO
from tensorgen.lang.grouping import Line
from tensorgen.lang.statement import CONSTANTS
from tensorgen.lang.syntax import Expression, names_in, parsed, places_of
from tensorgen.operators.functions import FUNCTIONS
from tensorgen.spec.model import Definition, FunctionSpec

Body = Expression | None


def with_left(
    function: FunctionSpec, lines: Sequence[Line], body: Body, known: Container[str]
) -> tuple[list[Line], Body]:
    """Return the lines and the expression with what they mean by these indices.

    A `known` name, as that of a dim, stands for what it is everywhere else. What steps,
    or is given entry by entry, says its indices itself.
    """
    pairs = zip(function.indices or (), function.ranges, strict=False)
    left = {text.value: (text, stated) for text, stated in pairs}
    left = {name: own for name, own in left.items() if name not in known}
    meant: dict[str, tuple[str, ...]] = {}
    found: list[Line] = []
    for definition, text in lines:
        own = {x.value for x in definition.indices or ()}
        if text is not None and left and not definition.gives_entries:
            free = _free(text.tree, {*left})
            through = {i for name in names_in(text.tree) for i in meant.get(name, ())}
            named = tuple(i for i in left if i in (free | through) - own)
            text = _read(text, meant)
            if named:
                meant[definition.name] = named
                definition = _about(definition, [left[i] for i in named])
        found.append((definition, text))
    return found, None if body is None else _read(body, meant)


def _about(
    definition: Definition, left: Sequence[tuple[Text, Text | None]]
) -> Definition:
    """The definition with indices in front of those that it has."""
    indices = tuple(text for text, _ in left)
    stated = tuple(text for _, text in left)
    places = definition.places and (*indices, *definition.places)
    own = definition.indices or ()
    ranges = (*stated, *(definition.ranges or (None,) * len(own)))
    return replace(definition, indices=(*indices, *own), ranges=ranges, places=places)


def _free(tree: ast.AST, names: set[str], inside: bool = False) -> set[str]:
    """Which names a text mentions as indices that it does not bind.

    What is a constant elsewhere is an index in brackets alone.
    """
    if isinstance(tree, ast.Name):
        is_index = tree.id in names and (inside or tree.id not in CONSTANTS)
        return {tree.id} if is_index else set()
    if isinstance(tree, ast.Call):
        names = names - {
            x.id if isinstance(x, ast.Name) else x.arg for x in bound(tree)
        }
    found: set[str] = set()
    for field, value in ast.iter_fields(tree):
        brackets = inside or (isinstance(tree, ast.Subscript) and field == "slice")
        for part in value if isinstance(value, list) else [value]:
            if isinstance(part, ast.AST):
                found |= _free(part, names, brackets)
    return found


def bound(tree: ast.Call) -> Iterator[ast.Name | ast.keyword]:
    """Yield where a reduction binds indices; `max(0, i)` is one of two numbers."""
    name = tree.func.id if isinstance(tree.func, ast.Name) else ""
    if name in FUNCTIONS and FUNCTIONS[name].reduces:
        others = [x for x in tree.args[1:] if isinstance(x, ast.Name)]
        if name in OF_TWO:
            body = names_in(tree.args[0])
            others = [x for x in others if x.id in body]
        yield from others
        yield from tree.keywords


def _read(text: Expression, meant: dict[str, tuple[str, ...]]) -> Expression:
    if not names_in(text.tree) & {*meant}:
        return text
    return replace(text, tree=_Entries(meant).visit(deepcopy(text.tree)))


class _Entries(ast.NodeTransformer):
    """Puts entries for names, `v[i]` for `v`, but where a text says that itself."""

    def __init__(self, meant: dict[str, tuple[str, ...]]) -> None:
        self.meant = meant

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id not in self.meant:
            return node
        return parsed(f"{node.id}[{', '.join(self.meant[node.id])}]", node)

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        if self._is_entry(node):
            node.slice = self.visit(node.slice)
        else:
            self.generic_visit(node)
        return node

    def _is_entry(self, node: ast.Subscript) -> bool:
        """Whether a text says the indices itself: `v[i]`."""
        if not isinstance(node.value, ast.Name) or node.value.id not in self.meant:
            return False
        own = self.meant[node.value.id]
        named = [x.id if isinstance(x, ast.Name) else "" for x in places_of(node)]
        return (*named[: len(own)],) == own
