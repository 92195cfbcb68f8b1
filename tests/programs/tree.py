"""Programs as trees of text: what the random programs are made of.

A tree renders to the text of a spec, and the same text, read by Python with NumPy's
functions in reach, is its meaning (`tests.programs.meaning`). Nothing here knows of
the compiler.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

ADD, MUL, NEG, POW, ATOM = range(1, 6)  # how tightly a text binds
Shape = tuple[str, ...]
Array = Any


@dataclass(frozen=True)
class Expr:
    """A template with its arguments; parentheses come from binding strengths."""

    template: str
    args: tuple[Expr, ...] = ()
    shape: Shape = ()
    level: int = ATOM
    needs: tuple[int, ...] = ()

    @property
    def text(self) -> str:
        """The expression as a spec says it."""
        needs = self.needs or (0,) * len(self.args)
        parts = (
            f"({arg.text})" if arg.level < need else arg.text
            for arg, need in zip(self.args, needs, strict=True)
        )
        return self.template.format(*parts)

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


def _between_commas(template: str, slot: str) -> int:
    return len(re.findall(rf"[(,] ?{re.escape(slot)}[,)]", template))


def needs_of(template: str) -> tuple[int, ...]:
    """How tightly the arguments of a template must bind: not at all between commas."""
    count = 1 + max(int(digit) for digit in re.findall(r"{(\d)}", template))
    loose = [_between_commas(template, f"{{{k}}}") for k in range(count)]
    all_ = [template.count(f"{{{k}}}") for k in range(count)]
    return tuple(0 if a == b else ATOM for a, b in zip(loose, all_, strict=True))


@dataclass(frozen=True)
class Statement:
    """`name[i, j] = body`; without indices the body is in array notation."""

    name: str
    body: Expr
    shape: Shape
    indices: tuple[str, ...] = ()

    @property
    def left(self) -> str:
        """What stands left of the sign of equality."""
        return self.name + (f"[{', '.join(self.indices)}]" if self.indices else "")

    def __str__(self) -> str:
        return f"{self.left} = {self.body.text}"


def _words(statement: Statement) -> set[str]:
    return set(re.findall(r"(?<![.\w])[A-Za-z_]\w*", statement.body.text))


@dataclass(frozen=True)
class RandomProgram:
    """A spec with one function to test, arguments for it, and its tree."""

    seed: int
    sizes: Mapping[str, int]
    inputs: Mapping[str, Shape]
    positive: frozenset[str]
    arguments: Mapping[str, Array]
    shared: tuple[Statement, ...]  # other functions of the file, used by name
    where: tuple[Statement, ...]
    result: Statement
    wrt: tuple[str, ...]
    indexed: Mapping[str, str] = field(default_factory=dict)  # index arrays' dims
    promises: Mapping[str, str] = field(default_factory=dict)  # symmetric or spd
    projected: frozenset[str] = frozenset()  # variables on the symmetric matrices
    more: tuple[Any, ...] = ()  # what else to emit

    @property
    def statements(self) -> tuple[Statement, ...]:
        """All statements in an order in which they can be evaluated."""
        return (*self.shared, *self.where, self.result)

    @property
    def emit(self) -> list[Any]:
        """What the function is asked for; two halves of it take turns by seed."""
        even = self.seed % 2 == 0
        if self.result.shape:
            more = ["dense_jacobian"] if even else ["jvp", "vjp"]
            return ["value", "jacobian", *more, *self.more]
        more = ["hessian", "dense_hessian"] if even else ["hvp", "jvp", "vjp"]
        return ["value", "gradient", *more, *self.more]

    @property
    def live(self) -> tuple[Statement, ...]:
        """The statements that the result rests on, itself last."""
        return self.below(self.result)

    def below(self, last: Statement) -> tuple[Statement, ...]:
        """A statement after those that it rests on."""
        words = {last.name}
        found: list[Statement] = []
        for statement in reversed(self.statements):
            if statement.name in words:
                found.append(statement)
                words |= _words(statement)
        return tuple(reversed(found))

    @property
    def words(self) -> set[str]:
        """All names that the live statements mention."""
        return {word for statement in self.live for word in _words(statement)}

    @property
    def used(self) -> list[str]:
        """The function's arguments: inputs in its text or its `wrt`, in order."""
        words = self.words | set(self.wrt)
        return [name for name in self.inputs if name in words]

    @property
    def binds_its_dims(self) -> bool:
        """Whether the arguments of each function have all dims that it mentions."""
        for function in (*self.shared, self.result):
            words = {w for s in self.below(function) for w in _words(s)}
            words |= set(self.wrt) if function is self.result else set()
            used = [name for name in self.inputs if name in words]
            bound = {dim for name in used for dim in self.inputs[name]}
            for name in used:
                sizes = [*self.inputs[name], self.indexed.get(name, "")]
                words |= set(re.findall(r"[a-z]", " ".join(sizes)))
            if any(dim in words and dim not in bound for dim in self.sizes):
                return False
        return True

    def pruned(self) -> RandomProgram:
        """The program without the statements that the result does not need."""
        live = self.live
        shared = tuple(s for s in self.shared if s in live)
        return replace(
            self, shared=shared, where=tuple(s for s in self.where if s in live)
        )

    @property
    def text(self) -> str:
        """The spec."""
        lines = ["tensorgen: 1", "module: program"]
        lines += [f"dims: [{', '.join(self.sizes)}]", "inputs:"]
        for name in self.used:
            properties = [f"shape: [{', '.join(self.inputs[name])}]"]
            if name in self.positive:
                properties.append("positive: true")
            if name in self.promises:
                properties.append(f"{self.promises[name]}: true")
            if name in self.indexed:
                properties.append(f"index: {self.indexed[name]}")
            lines.append(f"  {name}: {{{', '.join(properties)}}}")
        lines += ["definitions: |", "  bump(t) = t / (1 + t**2)", "functions:"]
        for statement in self.shared:
            lines += [f"  {statement.left}: |", f"    {statement.body.text}"]
        lines.append(f"  {self.result.left}:")
        if self.where:
            lines.append("    where: |")
            lines += [f"      {statement}" for statement in self.where]
        lines += ["    expr: |", textwrap.indent(self.result.body.text, "      ")]
        wrt = [f"{{{x}: symmetric}}" if x in self.projected else x for x in self.wrt]
        emit = [f"[{', '.join(x)}]" if isinstance(x, tuple) else x for x in self.emit]
        lines.append(f"    wrt: [{', '.join(wrt)}]")
        lines.append(f"    emit: [{', '.join(map(str, emit))}]")
        return "\n".join(lines) + "\n"
