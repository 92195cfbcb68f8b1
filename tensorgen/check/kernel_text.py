"""The text of kernels, read by a whitelist: expressions of C as those of Python.

A kernel's statements give names to values, each once, or set what it makes. Numbers
are of one type: a literal that is no whole number stands in `T(...)`, and two whole
numbers are not divided.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple

from tensorgen.arrays.kernels import RESERVED, Kernel
from tensorgen.operators.helpers.scalar_functions import IN_C

_TOKEN = re.compile(
    r"\s*(?:(\d+\.?\d*(?:e[-+]?\d+)?)|([A-Za-z_]\w*)|(&&|\|\||[<>=!]=|[-+*/<>?:(),!]))"
)
_STATEMENT = re.compile(r"(?:const (T|bool) )?([A-Za-z_]\w*) = ([^=].*);", re.DOTALL)
_COMPARED: Mapping[str, type[ast.cmpop]] = {
    "<": ast.Lt,
    "<=": ast.LtE,
    ">": ast.Gt,
    ">=": ast.GtE,
    "==": ast.Eq,
    "!=": ast.NotEq,
}
_LEVELS: tuple[Mapping[str, type[ast.operator]], ...] = (
    {"||": ast.BitOr},
    {"&&": ast.BitAnd},
    {},  # comparisons
    {"+": ast.Add, "-": ast.Sub},
    {"*": ast.Mult, "/": ast.Div},
)
_COMPARISONS = 2
_IN_C = frozenset(IN_C.values())
WHERE, TYPE = "?:", "T"


class Unsound(Exception):
    """Text of a kernel that is not known to be what is printed."""


class Line(NamedTuple):
    """A statement: the kind of what it declares, nothing for what is made, and more."""

    kind: str
    name: str
    value: ast.expr


@lru_cache(maxsize=4096)
def lines_of(kernel: Kernel) -> tuple[Line, ...]:
    """The statements of a kernel; every name is known before it is read."""
    made = {text.split()[1]: text.split()[0] for text in kernel.outputs}
    known = {text.split()[1] for text in kernel.inputs}
    functions = {WHERE, TYPE, *(function.name for function in kernel.functions)}
    missing, found = {*made}, []
    taken = {*RESERVED, *functions, *_IN_C}
    if known & made.keys() or (known | made.keys()) & taken:
        raise Unsound(f"names of {kernel.word}")
    for text in kernel.lines:
        match = _STATEMENT.fullmatch(text)
        if match is None:
            raise Unsound(text)
        kind, name, value = match.groups()
        is_fresh = name not in known and name not in taken
        if not is_fresh or (kind is None) != (name in missing):
            raise Unsound(text)
        tree = _Reader(value, known, functions).whole()
        known.add(name)
        missing.discard(name)
        found.append(Line(kind or made[name], name, tree))
    if missing:
        raise Unsound(f"{kernel.word} does not make {', '.join(sorted(missing))}")
    return tuple(found)


class _Reader:
    """Reads one expression."""

    def __init__(self, text: str, known: set[str], functions: set[str]) -> None:
        self.text, self.known, self.functions = text, known, functions
        self.tokens = [*_tokens(text), ("", "end")]
        self.place = 0

    def whole(self) -> ast.expr:
        """The expression, up to the end of the text."""
        found = self.choice()
        if self.tokens[self.place] != ("", "end"):
            raise Unsound(self.text)
        return found

    def choice(self) -> ast.expr:
        """What stands on its own: perhaps one of two values."""
        first = self.joined(0)
        if not self._skip("?"):
            return first
        yes = self.choice()
        self._expect(":")
        return _call(WHERE, first, yes, self.choice())

    def joined(self, level: int) -> ast.expr:
        """Operands of operations that bind as tightly as some level, or more."""
        if level == len(_LEVELS):
            return self.signed()
        left = self.joined(level + 1)
        if level == _COMPARISONS:
            for sign, compared in _COMPARED.items():
                if self._skip(sign):
                    right = self.joined(level + 1)
                    return ast.Compare(left, [compared()], [right])
            return left
        signs = _LEVELS[level]
        while op := next((op for s, op in signs.items() if self._skip(s)), None):
            right = self.joined(level + 1)
            if op is ast.Div and _is_whole(left) and _is_whole(right):
                raise Unsound(self.text)
            left = ast.BinOp(left, op(), right)
        return left

    def signed(self) -> ast.expr:
        """A value with a sign, a negation, or by itself."""
        if self._skip("-"):
            return ast.UnaryOp(ast.USub(), self.signed())
        if self._skip("!"):
            return ast.UnaryOp(ast.Invert(), self.signed())
        return self.atom()

    def atom(self) -> ast.expr:
        """A number, a name, a call, or what stands in parentheses."""
        kind, text = self.tokens[self.place]
        self.place += 1
        if kind == "number":
            return ast.Constant(self._number(text))
        if (kind, text) == ("sign", "("):
            found = self.choice()
            self._expect(")")
            return found
        if kind == "name" and self._skip("("):
            if text not in self.functions and text not in _IN_C:
                raise Unsound(text)
            args = [self.choice()]
            while self._skip(","):
                args.append(self.choice())
            self._expect(")")
            return _call(text, *args)
        if kind == "name" and text in self.known:
            return ast.Name(text)
        raise Unsound(self.text)

    def _number(self, text: str) -> int | float:
        if text.isdigit():
            return int(text)
        # A double makes doubles of all that it is added to, or multiplied with.
        around = [self.tokens[k][1] for k in (self.place - 3, self.place - 2)]
        signed = self.tokens[self.place - 2][1] == "-"
        if signed:
            around = [self.tokens[k][1] for k in (self.place - 4, self.place - 3)]
        if around != [TYPE, "("] or self.tokens[self.place][1] != ")":
            raise Unsound(self.text)
        return float(text)

    def _skip(self, sign: str) -> bool:
        found = self.tokens[self.place] == ("sign", sign)
        self.place += found
        return found

    def _expect(self, sign: str) -> None:
        if not self._skip(sign):
            raise Unsound(self.text)


def _tokens(text: str) -> Iterator[tuple[str, str]]:
    place = 0
    text = text.rstrip()
    while place < len(text):
        match = _TOKEN.match(text, place)
        if match is None:
            raise Unsound(text)
        number, name, sign = match.groups()
        kind = "number" if number else "name" if name else "sign"
        yield kind, number or name or sign
        place = match.end()


def _call(name: str, *args: ast.expr) -> ast.Call:
    return ast.Call(ast.Name(name), [*args], [])


def _is_whole(node: ast.expr) -> bool:
    if isinstance(node, ast.UnaryOp):
        return _is_whole(node.operand)
    return isinstance(node, ast.Constant) and isinstance(node.value, int)
