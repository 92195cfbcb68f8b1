"""Templates of the operator table, filled in with as few parentheses as needed."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from tensorgen.ir.nodes import Label
from tensorgen.lower.text import Expr, Level
from tensorgen.lower.writer import Writer

_PLACE = re.compile(r"\{(\d+)\}")


@dataclass(frozen=True)
class Template:
    """How a template binds, and how tightly each of its places must be filled."""

    text: str
    level: Level
    places: dict[int, Level]
    counts: dict[int, int]
    helpers: tuple[str, ...]

    def fill(
        self, writer: Writer, arguments: Sequence[Expr], labels: tuple[Label, ...]
    ) -> Expr:
        """The call of a template with aligned arguments."""
        writer.helpers.update(dict.fromkeys(self.helpers))
        if "dtype" in self.text:
            writer.dtype()  # has it bound
        filled = [
            arg.at(self.places.get(k, Level.ATOM)) for k, arg in enumerate(arguments)
        ]
        text = _PLACE.sub(
            lambda match: filled[int(match[1])], writer.template(self.text)
        )
        return Expr(text, self.level, labels)


@cache
def template(text: str) -> Template:
    """Read a template once; `{axis}` must have been filled in."""
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
    return Template(text, _level(tree), places, counts, tuple(helpers))


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
