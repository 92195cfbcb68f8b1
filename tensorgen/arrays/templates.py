"""Templates of the operator table, filled in with as few parentheses as needed."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cache
from typing import NamedTuple

_PLACE = re.compile(r"\{(\d+)\}")
_ALIAS = re.compile(r"(?<![\w.])np\.")


class Level(IntEnum):
    """How tightly the outermost operation of a text binds."""

    COMPARE = 0
    BIT = 1
    SUM = 2
    MATMUL = 3
    TERM = 4
    UNARY = 5
    POWER = 6
    ATOM = 7


class Text(NamedTuple):
    """An expression as text, and how tightly it binds."""

    text: str
    level: Level = Level.ATOM

    def at(self, minimum: Level) -> str:
        """The text, in parentheses if it binds less tightly than `minimum`."""
        return self.text if self.level >= minimum else f"({self.text})"


@dataclass(frozen=True)
class Template:
    """How a template binds, and how tightly each of its places must be filled.

    `is_call` tells that it is one call of the array module.
    """

    text: str
    level: Level
    places: dict[int, Level]
    counts: dict[int, int]
    helpers: tuple[str, ...]
    is_call: bool

    def fill(self, alias: str, arguments: Sequence[Text]) -> Text:
        """The template with arguments, for the array module called `alias`."""
        filled = [
            arg.at(self.places.get(k, Level.ATOM)) for k, arg in enumerate(arguments)
        ]
        text = _ALIAS.sub(f"{alias}.", self.text)
        return Text(_PLACE.sub(lambda match: filled[int(match[1])], text), self.level)


@cache
def template(text: str) -> Template:
    """Read a template once; what it has beside places must have been filled in."""
    tree = ast.parse(_PLACE.sub(r"_arg\1", text), mode="eval").body
    places: dict[int, Level] = {}
    counts: dict[int, int] = {}
    helpers: dict[str, None] = {}
    for parent in ast.walk(tree):
        for child in ast.iter_child_nodes(parent):
            if isinstance(child, ast.Name) and child.id.startswith("_arg"):
                place = int(child.id.removeprefix("_arg"))
                level = _required(parent, child)
                places[place] = max(level, places.get(place, Level.COMPARE))
                counts[place] = counts.get(place, 0) + 1
            elif isinstance(child, ast.Name) and child.id.startswith("_"):
                helpers[child.id] = None
    is_call = isinstance(tree, ast.Call) and ast.unparse(tree.func).startswith("np.")
    return Template(text, _level(tree), places, counts, tuple(helpers), is_call)


def _required(parent: ast.AST, child: ast.expr) -> Level:
    match parent:
        case ast.Call(func=function) if function is not child:
            return Level.COMPARE
        case ast.Compare():
            return Level.SUM
        case ast.BinOp(op=ast.BitAnd() | ast.BitOr()):
            return Level.SUM
        case ast.UnaryOp():
            return Level.POWER
        case _:
            return Level.ATOM


def _level(tree: ast.expr) -> Level:
    match tree:
        case ast.Compare():
            return Level.COMPARE
        case ast.BinOp(op=ast.BitAnd() | ast.BitOr()):
            return Level.BIT
        case ast.BinOp(op=ast.Add() | ast.Sub()):
            return Level.SUM
        case ast.BinOp(op=ast.Pow()):
            return Level.POWER
        case ast.BinOp():
            return Level.TERM
        case ast.UnaryOp():
            return Level.UNARY
        case _:
            return Level.ATOM
