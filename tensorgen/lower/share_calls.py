"""Masks that stand in several statements are made once.

The graph shares nodes; what lowering itself adds to statements, `np.where(mask, x, 0)`
around an operand and the triangle that is the mask, it shares only here, by its text.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tensorgen.lower.names import Names

NAMES = {"where": "masked", "triu": "upper", "tril": "lower", "tri": "mask"}
"""The functions whose calls are shared, and what their values are called."""


def share_calls(
    lines: Sequence[str], returns: Sequence[str], alias: str, names: Names
) -> tuple[list[str], list[str]]:
    """Return statements and expressions in which no such call is made twice.

    Ends: each round leaves fewer calls.
    """
    texts, count = [*lines, *returns], len(lines)
    if sum(text.count(f"{alias}.{name}(") for text in texts for name in NAMES) < 2:
        return list(lines), list(returns)
    while (found := _repeated(texts, count, alias)) is not None:
        text, function, places = found
        first = places[0]
        whole = _assigned(texts[first], text) if first < count else None
        if whole is None:
            name = names.pick([NAMES[function]])
            texts.insert(min(first, count), f"{name} = {text}")
            count += 1
            places = [place + 1 for place in places]
        else:
            name, places = whole, places[1:]
        for place in places:
            texts[place] = texts[place].replace(text, name)
    return texts[:count], texts[count:]


class Repeat(NamedTuple):
    """A call by its text, its function, and the statements in which it stands."""

    text: str
    function: str
    places: list[int]


def _repeated(texts: Sequence[str], count: int, alias: str) -> Repeat | None:
    """The longest call that may be made once for several statements."""
    trees = [ast.parse(text) for text in texts]
    uses: dict[str, Repeat] = {}
    for place, (text, tree) in enumerate(zip(texts, trees, strict=True)):
        for call, function in _calls(tree, alias):
            own = ast.get_source_segment(text, call) or ""
            repeat = uses.setdefault(own, Repeat(own, function, []))
            # A whole array is changed or returned by its own name.
            mine = _assigned(text, own) is not None or (place >= count and text == own)
            if not mine or (place < count and not repeat.places):
                repeat.places.append(place)
    changed = [set(_changed(tree)) for tree in trees]
    found = [r for r in uses.values() if _is_shared(r, texts, changed)]
    return max(found, key=lambda r: (len(r.text), -r.places[0]), default=None)


def _is_shared(
    repeat: Repeat, texts: Sequence[str], changed: Sequence[set[str]]
) -> bool:
    """Whether a call stands in several places and gives one value in all of them."""
    if len(repeat.places) < 2:
        return False
    first, last = repeat.places[0], repeat.places[-1]
    nodes = ast.walk(ast.parse(repeat.text))
    read = {node.id for node in nodes if isinstance(node, ast.Name)}
    if any(read & names for names in changed[first:last]):
        return False
    own = _assigned(texts[first], repeat.text)
    return own is None or not any(own in names for names in changed)


def _calls(tree: ast.AST, alias: str) -> Iterator[tuple[ast.Call, str]]:
    for node in ast.walk(tree):
        match node:
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id=module), attr=function)
            ) if (module == alias and function in NAMES):
                yield node, function


def _assigned(text: str, value: str) -> str | None:
    """The name to which a statement binds just this value."""
    name, found, right = text.partition(" = ")
    return name if found and right == value and name.isidentifier() else None


def _changed(tree: ast.Module) -> Iterator[str]:
    """The arrays to which a statement writes."""
    for node in ast.walk(tree):
        match node:
            case ast.AugAssign(target=target):
                yield from _base(target)
            case ast.Assign(targets=[ast.Subscript() as target]):
                yield from _base(target)
            case ast.Expr(value=ast.Call(args=[first, *_])):
                yield from _base(first)  # np.add.at(x, ...)


def _base(node: ast.AST) -> Iterator[str]:
    while isinstance(node, ast.Subscript | ast.Attribute):
        node = node.value
    if isinstance(node, ast.Name):
        yield node.id
