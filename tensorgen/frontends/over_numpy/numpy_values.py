"""What names and expressions of a function over NumPy stand for while it is read."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from tensorgen.errors import Text
from tensorgen.frontends.python_source import PythonFile
from tensorgen.ir.dims import Dim
from tensorgen.spec.names import in_spec

COMPARE, OR, AND, SUM, PRODUCT, UNARY, POWER, ATOM = range(8)
"""How tightly the outermost operation of a text binds, the loosest first."""

FLOAT, INT, BOOL = "float", "int", "bool"
"""What NumPy's entries are: conditions are added up and multiplied by rules of their
own, and integers have no negative powers."""


@dataclass(frozen=True, slots=True)
class Value:
    """An array or a number as an expression of the language.

    `whole` is its value where that is a whole number that follows from sizes.
    """

    text: Text
    level: int = ATOM
    kind: str = FLOAT
    whole: Dim | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """A tuple or a list, whose items are known one by one."""

    items: tuple[Thing, ...]
    is_list: bool = False


@dataclass(frozen=True, slots=True)
class Known:
    """What is no array, and known: None, True, a text, `...`."""

    value: object


@dataclass(frozen=True, slots=True)
class Path:
    """A module of a library, or what is in it, by its dotted path."""

    dotted: str


@dataclass(frozen=True, slots=True)
class Helper:
    """A function of the same file, which is read where it is called."""

    node: ast.FunctionDef


@dataclass(frozen=True, slots=True)
class Method:
    """A method of an array, before it is called."""

    owner: Thing
    name: str


Thing = Value | Row | Known | Path | Helper | Method


def joined(file: PythonFile, node: ast.AST, *parts: str | Text) -> Text:
    """Return parts as one text that stands where a part of the file does."""
    start, end = file.ends(node)
    value, places, at = "", list[int](), start
    for part in parts:
        value += str(part)
        if isinstance(part, str):
            places += [at] * len(part)
        else:
            places += part.positions[:-1]
            at = part.positions[-1] if start <= part.positions[-1] < end else end - 1
    places[0], places[-1] = start, max(end - 1, start)
    return Text(value, file.source, (*places, end))


def sign(file: PythonFile, left: ast.AST, right: ast.AST, written: str) -> Text:
    """Return an operator as a text that stands where it does between two operands."""
    at = file.between(left, right, written)
    return Text(written, file.source, tuple(range(at, at + len(written) + 1)))


def bound(value: Value, level: int, file: PythonFile, node: ast.AST) -> Text:
    """Return a text for a place where operations bind so tightly, in parentheses."""
    if value.level >= level:
        return value.text
    return joined(file, node, "(", value.text, ")")


def level_of(tree: ast.expr) -> int:
    """Return how tightly the outermost operation of an expression binds."""
    match tree:
        case ast.Compare():
            return COMPARE
        case ast.BinOp(op=op):
            return LEVELS[type(op)]
        case ast.UnaryOp():
            return UNARY
    return ATOM


LEVELS: dict[type[ast.operator], int] = {
    ast.BitOr: OR,
    ast.BitAnd: AND,
    ast.Add: SUM,
    ast.Sub: SUM,
    ast.Mult: PRODUCT,
    ast.Div: PRODUCT,
    ast.FloorDiv: PRODUCT,
    ast.Mod: PRODUCT,
    ast.MatMult: PRODUCT,
    ast.Pow: POWER,
}
SIGNS: dict[type[ast.operator], str] = {
    ast.BitOr: "|",
    ast.BitAnd: "&",
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.MatMult: "@",
    ast.Pow: "**",
}


def written_size(size: Dim) -> str:
    """Return a size as a spec writes it."""
    names = {name: Dim.symbol(in_spec(name)) for name in size.symbols}
    if all(name == str(own) for name, own in names.items()):
        return str(size)
    renamed = Dim()
    for monomial, coefficient in size.terms:
        term = Dim.of(coefficient)
        for name in monomial:
            term = term * names[name]
        renamed = renamed + term
    return str(renamed)


def whole_number(file: PythonFile, node: ast.AST, size: Dim) -> Value:
    """Return a whole number that follows from sizes."""
    text = written_size(size)
    level = level_of(ast.parse(text, mode="eval").body)
    return Value(joined(file, node, text), level, INT, size)
