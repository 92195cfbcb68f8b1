"""What is known while a function over NumPy is read: its spec so far."""

from __future__ import annotations

import ast
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from tensorgen.errors import Text
from tensorgen.frontends.known_shapes import KnownShapes
from tensorgen.frontends.over_numpy.numpy_values import INT, Thing, Value, joined
from tensorgen.frontends.python_source import PythonFile
from tensorgen.ir.dims import Dim
from tensorgen.spec.names import FRAME, unused

DEEPEST = 60
MOST_LINES = 2000
CONSTANTS = ("pi", "inf")
"""Names that texts use as numbers: nothing else is called so."""
_WORD = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_LONGEST = 50


class Unbounded(Exception):
    """An array of integers is used as positions, and nothing says below which size."""

    def __init__(self, name: str, below: Dim) -> None:
        super().__init__(name)
        self.name, self.below = name, below


@dataclass(frozen=True)
class Line:
    """A local definition: `name = text`."""

    name: Text
    text: Text


class Program:
    """The local definitions of a spec, as they are read one after the other."""

    def __init__(
        self,
        file: PythonFile,
        shapes: KnownShapes,
        taken: set[str],
        unbounded: frozenset[str],
        readers: Mapping[type[ast.AST], Callable[[Any, Any], Thing]],
    ) -> None:
        """Know the inputs' shapes, the names that are in use, and what is `unbounded`.

        These are inputs of integers of which nobody said how large they are. `readers`
        read expressions of some kinds: they take an `Expressions`, and the expression.
        """
        self.readers = readers
        self.file, self.shapes, self.taken = file, shapes, taken
        self.unbounded = unbounded
        self.lines: list[Line] = []
        self.remarks: dict[str, None] = {}
        self._depth = 0
        self._reading: list[str] = []

    @contextmanager
    def deeper(self, node: ast.AST) -> Iterator[None]:
        """Read a part of an expression: not without end."""
        if self._depth >= DEEPEST:
            self.file.fail("the expression is nested too deeply", node)
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1

    @contextmanager
    def reading(self, name: str, node: ast.AST) -> Iterator[None]:
        """Read what a name of the file stands for: it must not need itself."""
        if name in self._reading:
            hint = "what calls itself, or needs itself, cannot be read"
            self.file.fail(f"'{name}' is defined by itself", node, hint)
        self._reading.append(name)
        try:
            yield
        finally:
            self._reading.pop()

    def define(self, wanted: str, value: Value, node: ast.AST) -> Value:
        """Give a value a name of its own, like the one that is wanted."""
        if len(self.lines) >= MOST_LINES:
            self.file.fail(f"more than {MOST_LINES} local names", node)
        plain = spec_name(wanted)
        if plain not in self.taken and plain in mentioned([value.text]):
            # A name that its own text calls would be defined by itself.
            plain += "_"
        name = self.free(plain)
        self.shapes.define(name, value.text)
        text = joined(self.file, node, name)
        self.lines.append(Line(text, value.text))
        return Value(text, kind=value.kind)

    def free(self, wanted: str) -> str:
        """Take a name that nothing has yet, numbered where the wanted one is in use."""
        plain = spec_name(wanted)
        name, number = plain, 2
        while name in self.taken:
            name, number = f"{plain}_{number}", number + 1
        self.taken.add(name)
        return name

    def needed(self, result: Text) -> list[Line]:
        """Return the lines that a result needs, in order."""
        wanted = mentioned([result])
        found: list[Line] = []
        for line in reversed(self.lines):
            if line.name.value in wanted:
                wanted |= mentioned([line.text])
                found.append(line)
        return found[::-1]

    def check_positions(self, value: Value, length: Dim, node: ast.AST) -> None:
        """Raise `Unbounded` where a position is an input without a bound."""
        if value.kind != INT or value.whole is not None:
            return
        for name in _WORD.findall(value.text.value):
            if name not in self.unbounded:
                continue
            if not re.fullmatch(rf"{name}(\[.*\])?", value.text.value):
                hint = f'say how large \'{name}\' may be: "{name}": "... int < n"'
                self.file.fail("positions are computed from whole numbers", node, hint)
            raise Unbounded(name, length)


def mentioned(texts: Iterable[Text]) -> set[str]:
    """Return the names that texts mention, those of functions too."""
    return {name for text in texts for name in _WORD.findall(text.value)}


def spec_name(name: str) -> str:
    """Return a name of Python's as one that specs may use."""
    letters = [
        c if c.isascii() else unicodedata.name(c, "X").split()[-1].lower() for c in name
    ]
    plain = re.sub(r"\W", "_", "".join(letters)).lstrip("_")[:_LONGEST]
    if not plain or not plain[0].isalpha():
        plain = f"v{plain}"
    return unused(plain, {*CONSTANTS, *FRAME})
