"""Indices of a function's left side in its `where`: `f[i]: ...` with `v = 15 - i`.

Such a line is about each i, so it is read as `v[i] = 15 - i`, and where the lines below
it say `v`, they mean `v[i]`.
"""

from __future__ import annotations

import ast
from collections.abc import Container, Iterator, Sequence
from copy import copy
from dataclasses import replace

from tensorgen.errors import Text
from tensorgen.lang.extremes import OF_TWO
from tensorgen.lang.grouping import Line
from tensorgen.lang.statement import CONSTANTS
from tensorgen.lang.syntax import Expression, names_in, places_of
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
        names = names - {*_bound(tree)}
    found: set[str] = set()
    for field, value in ast.iter_fields(tree):
        brackets = inside or (isinstance(tree, ast.Subscript) and field == "slice")
        for part in value if isinstance(value, list) else [value]:
            if isinstance(part, ast.AST):
                found |= _free(part, names, brackets)
    return found


def _bound(tree: ast.Call) -> Iterator[str]:
    """The indices that a reduction binds; `max(0, i)` is one of two numbers."""
    name = tree.func.id if isinstance(tree.func, ast.Name) else ""
    if name in FUNCTIONS and FUNCTIONS[name].reduces:
        others = [x.id for x in tree.args[1:] if isinstance(x, ast.Name)]
        body = names_in(tree.args[0]) if name in OF_TWO else others
        yield from (x for x in others if x in body)
        yield from (x.arg for x in tree.keywords if x.arg is not None)


def _read(text: Expression, meant: dict[str, tuple[str, ...]]) -> Expression:
    if not names_in(text.tree) & {*meant}:
        return text
    return replace(text, tree=_entries(text.tree, meant))


def _entries(tree: ast.expr, meant: dict[str, tuple[str, ...]]) -> ast.expr:
    """Put entries for names: `v[i]` for `v`."""
    if isinstance(tree, ast.Name) and tree.id in meant:
        at: list[ast.expr] = [ast.Name(i, ast.Load()) for i in meant[tree.id]]
        whole = at[0] if len(at) == 1 else ast.Tuple(at, ast.Load())
        made = ast.Subscript(tree, whole, ast.Load())
        for part in ast.walk(made):
            if part is not tree and isinstance(part, ast.expr):
                ast.copy_location(part, tree)
        return made
    other = copy(tree)
    for field, value in ast.iter_fields(tree):
        if not (field == "value" and _says(tree, meant)):
            setattr(other, field, _put(value, meant))
    return other


def _says(tree: ast.expr, meant: dict[str, tuple[str, ...]]) -> bool:
    """Whether a text says the indices itself: `v[i]`."""
    match tree:
        case ast.Subscript(value=ast.Name(id=name)) if name in meant:
            parts = places_of(tree)
            named = [x.id if isinstance(x, ast.Name) else "" for x in parts]
            return (*named[: len(meant[name])],) == meant[name]
    return False


def _put(value: object, meant: dict[str, tuple[str, ...]]) -> object:
    if isinstance(value, list):
        return [_put(part, meant) for part in value]
    if isinstance(value, ast.keyword):
        made = copy(value)
        made.value = _entries(value.value, meant)
        return made
    return _entries(value, meant) if isinstance(value, ast.expr) else value
