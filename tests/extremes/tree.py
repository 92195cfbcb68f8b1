"""Naive texts as trees, so that a failing one can be made smaller."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

INPUTS = {
    "x": "[n]",
    "y": "[n]",
    "v": "{shape: [n]}",
    "p": "{shape: [n], positive: true}",
    "w": "{shape: [n], nonnegative: true}",
    "c": "{shape: [n], nonnegative: true}",
    "t": "[n]",
    "M": "[n, n]",
    "s": "{shape: scalar, positive: true}",
    "q": "scalar",
}


@dataclass(frozen=True)
class Expr:
    """A template with its arguments; the kind says where it may stand."""

    template: str
    args: tuple[Expr, ...] = ()
    kind: str = "number"
    promised: bool = True

    @property
    def raw(self) -> str:
        """The text with all parentheses that could be needed."""
        return self.template.format(*(f"({arg.raw})" for arg in self.args))

    @property
    def text(self) -> str:
        """The text as one would write it."""
        return ast.unparse(ast.parse(self.raw, mode="eval"))

    @property
    def is_promised(self) -> bool:
        """Whether everything in it belongs to the class of texts that are stable."""
        return self.promised and all(arg.is_promised for arg in self.args)

    def subtrees(
        self, path: tuple[int, ...] = ()
    ) -> Iterator[tuple[tuple[int, ...], Expr]]:
        """All subtrees with their paths, the root first."""
        yield path, self
        for k, arg in enumerate(self.args):
            yield from arg.subtrees((*path, k))

    def replaced(self, path: tuple[int, ...], new: Expr) -> Expr:
        """The tree with the subtree at `path` replaced."""
        if not path:
            return new
        args = list(self.args)
        args[path[0]] = args[path[0]].replaced(path[1:], new)
        return replace(self, args=tuple(args))


@dataclass(frozen=True)
class Program:
    """A scalar function of one variable."""

    seed: int
    tree: Expr
    wrt: str

    @property
    def words(self) -> set[str]:
        """The inputs that the text mentions."""
        return set(re.findall(r"\b[a-zA-Z]\b", self.tree.text)) & set(INPUTS)

    @property
    def spec(self) -> str:
        """The spec of the program."""
        inputs = [f"  {name}: {INPUTS[name]}" for name in INPUTS if name in self.words]
        lines = ["tensorgen: 1", "inputs:", *inputs, "functions:", "  f:"]
        lines += [f"    expr: {self.tree.text}", f"    wrt: {self.wrt}"]
        lines += ["    emit: [value, gradient, hessian]"]
        return "\n".join(lines) + "\n"


def smaller(program: Program) -> Iterator[Program]:
    """Programs one step simpler, the boldest steps first."""
    for path, tree in program.tree.subtrees():
        inner = [below for place, below in tree.subtrees() if place]
        leaves = [below for below in inner if not below.args]
        for below in (*leaves, *inner):
            if below.kind == tree.kind:
                yield replace(program, tree=program.tree.replaced(path, below))
