"""Masks that stand in several statements are made once.

The graph shares nodes; what lowering itself adds to statements, `np.where(mask, x, 0)`
around an operand and the triangle that is the mask, it shares only here, by its text.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from functools import cache, partial
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
    read = cache(partial(_read, alias=alias))
    while (found := _repeated([read(text) for text in texts], count)) is not None:
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


class Call(NamedTuple):
    """A call by its text and its function."""

    text: str
    function: str

    @property
    def names(self) -> frozenset[str]:
        """The names that it reads."""
        tree = ast.parse(self.text, mode="eval")
        return frozenset(n.id for n in ast.walk(tree) if isinstance(n, ast.Name))


class Statement(NamedTuple):
    """A statement by its text, its calls, and the arrays to which it writes."""

    text: str
    calls: tuple[Call, ...]
    changed: frozenset[str]


class Repeat(NamedTuple):
    """A call by its text, its function, and the statements in which it stands."""

    text: str
    function: str
    places: list[int]


def _read(text: str, alias: str) -> Statement:
    tree = ast.parse(text)
    calls = [Call(_source(text, node), name) for node, name in _calls(tree, alias)]
    return Statement(text, tuple(calls), frozenset(_changed(tree)))


def _source(text: str, node: ast.Call) -> str:
    """The text of a call; what Python has for this cuts all lines for each."""
    if "\n" in text or not text.isascii():
        return ast.get_source_segment(text, node) or ""
    return text[node.col_offset : node.end_col_offset]


def _repeated(statements: Sequence[Statement], count: int) -> Repeat | None:
    """The longest call that may be made once for several statements."""
    uses: dict[Call, list[int]] = {}
    for place, (text, calls, _) in enumerate(statements):
        for call in calls:
            places = uses.setdefault(call, [])
            # A whole array is changed or returned by its own name.
            own = call.text
            mine = _assigned(text, own) is not None or (place >= count and text == own)
            if not mine or (place < count and not places):
                places.append(place)
    found = [
        Repeat(call.text, call.function, places)
        for call, places in uses.items()
        if _is_shared(call, places, statements)
    ]
    return max(found, key=lambda r: (len(r.text), -r.places[0]), default=None)


def _is_shared(
    call: Call, places: Sequence[int], statements: Sequence[Statement]
) -> bool:
    """Whether a call stands in several places and gives one value in all of them."""
    if len(places) < 2:
        return False
    first, last = places[0], places[-1]
    names = call.names
    if any(names & statement.changed for statement in statements[first:last]):
        return False
    own = _assigned(statements[first].text, call.text)
    return own is None or not any(own in other.changed for other in statements)


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
