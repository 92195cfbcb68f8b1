"""The text of a Python file: its functions, what its names refer to, and its places."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NoReturn

from tensorgen.errors import Source, Span, fail

Meant = float | str | None
LONGEST = 1 << 20
"""Characters of a file that is read: more is no program that people write."""


@dataclass(frozen=True)
class PythonFile:
    """A file of Python: it is parsed, and nothing of it is run.

    `outside` says what names refer to that the file does not bind: numbers, or dotted
    paths of modules and functions; `closure` does so of names around the function that
    is read, which come before those of the file, None where it is neither.
    """

    source: Source
    tree: ast.Module = field(repr=False)
    outside: Mapping[str, Meant] = field(default_factory=dict, repr=False)
    closure: Mapping[str, Meant] = field(default_factory=dict, repr=False)

    @classmethod
    def parse(
        cls,
        source: Source,
        outside: Mapping[str, Meant] | None = None,
        closure: Mapping[str, Meant] | None = None,
    ) -> PythonFile:
        """Return the file; raises `SpecError` where it is no Python."""
        if len(source.text) > LONGEST:
            fail(f"the file is longer than {LONGEST} characters", Span(source, 0, 1))
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                tree = ast.parse(source.text)
        except SyntaxError as error:
            lines = source.text.splitlines(keepends=True)
            before = sum(map(len, lines[: max((error.lineno or 1) - 1, 0)]))
            start = min(before + max((error.offset or 1) - 1, 0), len(source.text))
            fail(f"this is no Python: {error.msg}", Span(source, start, start + 1))
        except (RecursionError, MemoryError, ValueError):
            fail("this is nested too deeply, or no text", Span(source, 0, 1))
        return cls(source, tree, outside or {}, closure or {})

    # Places

    @cached_property
    def _starts(self) -> list[int]:
        starts, at = [0], 0
        for line in self.source.text.split("\n"):
            at += len(line) + 1
            starts.append(at)
        return starts

    def offset(self, line: int, column: int) -> int:
        """Return the place of a line and a column, in bytes, as `ast` counts them."""
        start, end = self._starts[line - 1], self._starts[line] - 1
        text = self.source.text[start:end]
        if text.isascii():
            return start + min(column, len(text))
        return start + len(text.encode("utf-8")[:column].decode("utf-8", "replace"))

    def ends(self, node: ast.AST) -> tuple[int, int]:
        """Return where a part of the file starts and ends."""
        assert isinstance(node, ast.expr | ast.stmt | ast.arg | ast.keyword)
        start = self.offset(node.lineno, node.col_offset)
        if node.end_lineno is None or node.end_col_offset is None:
            return start, start
        return start, self.offset(node.end_lineno, node.end_col_offset)

    def span(self, node: ast.AST) -> Span:
        """Return where a part stands; of a statement of several lines its first one."""
        start, end = self.ends(node)
        if isinstance(node, ast.FunctionDef):
            start = self.source.text.index("def", start) + len("def")
            start = self.source.text.index(node.name, start)
            return Span(self.source, start, start + len(node.name))
        if isinstance(node, ast.stmt):
            end = self.source.text.find("\n", start, end) % (end + 1)
        return Span(self.source, start, end)

    def between(self, left: ast.AST, right: ast.AST, sign: str) -> int:
        """Return where an operator stands between two operands."""
        begin, end = self.ends(left)[1], self.ends(right)[0]
        at = self.source.text.find(sign, begin, end)
        return at if at >= 0 else end

    def written(self, node: ast.AST) -> str:
        """Return the text of a part, in one line and shortened."""
        start, end = self.ends(node)
        text = " ".join(self.source.text[start:end].split())
        return text if len(text) <= 40 else text[:37] + "..."

    def fail(self, message: str, node: ast.AST, hint: str | None = None) -> NoReturn:
        """Raise a `SpecError` about a part."""
        fail(message, self.span(node), hint=hint)

    # Names

    def function(self, name: str | None, line: int | None = None) -> ast.FunctionDef:
        """Return a function by its name, or the only one; `line` chooses among several.

        The line is that of `def`, or of the first decorator.
        """
        every = [x for x in ast.walk(self.tree) if isinstance(x, ast.FunctionDef)]
        own = [x for x in every if name in (None, x.name)]
        if line is not None:
            own = [x for x in own if line in (first_line(x), x.lineno)]
        if name is None and len(own) > 1:
            own = [x for x in own if x in self.tree.body]
        if len(own) == 1:
            return own[0]
        start = Span(self.source, 0, 0)
        if not every:
            fail("there is no function in this file", start)
        known = ", ".join(dict.fromkeys(x.name for x in every))
        if name is None or own:
            fail("which of several functions is meant?", start, hint=f"one of {known}")
        fail(f"there is no function '{name}'", start, hint=f"there are: {known}")

    @cached_property
    def paths(self) -> dict[str, str]:
        """What imports in the file bind, at its top first: dotted paths by names."""
        found: dict[str, str] = {}
        for node in (*ast.walk(self.tree), *self.tree.body):
            found.update(_imported(node))
        return found

    @cached_property
    def helpers(self) -> dict[str, ast.FunctionDef]:
        """The functions of the file's top, by their names."""
        return {x.name: x for x in self.tree.body if isinstance(x, ast.FunctionDef)}

    @cached_property
    def constants(self) -> dict[str, ast.expr]:
        """What the file's top assigns to names that are assigned once."""
        counts: dict[str, int] = {}
        found: dict[str, ast.expr] = {}
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Global):
                counts.update(dict.fromkeys(node.names, 2))
        for statement in self.tree.body:
            for name in _stored(statement):
                counts[name] = counts.get(name, 0) + 1
            match statement:
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    found[name] = value
                case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                    found[name] = value
        return {name: x for name, x in found.items() if counts[name] == 1}


def first_line(function: ast.FunctionDef) -> int:
    """Return the line of a function's first decorator, or of its `def`."""
    return min([function.lineno, *(x.lineno for x in function.decorator_list)])


def _imported(node: ast.AST) -> Iterator[tuple[str, str]]:
    if isinstance(node, ast.Import):
        for alias in node.names:
            # `import a.b` binds a.
            first = alias.name.split(".")[0]
            yield (alias.asname, alias.name) if alias.asname else (first, first)
    elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
        for alias in node.names:
            yield alias.asname or alias.name, f"{node.module}.{alias.name}"


def _stored(statement: ast.stmt) -> list[str]:
    """The names that a statement of the file's top binds, functions aside."""
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return [statement.name]
    return assigned(statement)


def assigned(tree: ast.AST) -> list[str]:
    """The names that some text assigns to."""
    names = (x for x in ast.walk(tree) if isinstance(x, ast.Name))
    return [x.id for x in names if isinstance(x.ctx, ast.Store)]
