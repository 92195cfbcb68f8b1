"""The parts of a spec that a program makes, and how they are written as YAML."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tensorgen.frontends.spec_text import Piece, SpecText
from tensorgen.spec.written_scalars import Flow, flow, quoted

Lines = str | Sequence[tuple[Piece, Piece]]
"""Local definitions: a text, or left sides and expressions."""


@dataclass(frozen=True)
class InputPart:
    """An input: its name, and what is said of it in YAML.

    `meaning` is what is said but for its documentation.
    """

    name: Piece
    entry: Piece
    meaning: str


@dataclass(frozen=True)
class FunctionPart:
    """A function: its left side, what it is, and what is asked for.

    `wrt` and `emit` are written as YAML already.
    """

    left: Piece
    expr: Piece | Mapping[str, str]
    doc: str | None = None
    where: Lines = ()
    wrt: Piece = ""
    emit: Piece = ""

    def write(self, text: SpecText) -> None:
        """Add the function to a spec."""
        text.line("  ", self.left, ":")
        text.doc(self.doc, 4)
        if isinstance(self.where, str) and self.where.strip():
            text.line("    where: |")
            text.block(self.where, 6)
        elif self.where and not isinstance(self.where, str):
            text.line("    where: |")
            for left, body in self.where:
                text.line("      ", left, " = ", body)
        if isinstance(self.expr, Mapping):
            text.line("    expr:")
            for name, body in self.expr.items():
                text.scalar(name, body, 6)
        else:
            text.scalar("expr", self.expr, 4)
        for key, value in (("wrt", self.wrt), ("emit", self.emit)):
            if str(value):
                text.line(f"    {key}: ", value)


@dataclass
class SpecParts:
    """All of a spec: sections in the order in which they are written."""

    module: str
    doc: str | None = None
    dims: dict[str, int | None] = field(default_factory=dict)
    inputs: list[InputPart] = field(default_factory=list)
    unknowns: dict[str, Flow] = field(default_factory=dict)
    definitions: list[tuple[str, str]] = field(default_factory=list)
    functions: list[FunctionPart] = field(default_factory=list)
    problem: dict[str, Flow] = field(default_factory=dict)

    def written(self, name: str) -> SpecText:
        """Return the text of the spec, which messages call by a name."""
        text = SpecText(name)
        text.line("tensorgen: 1")
        text.line(f"module: {quoted(self.module)}")
        text.doc(self.doc)
        if self.dims:
            hinted = ", ".join(_hint(*own) for own in self.dims.items())
            text.line(f"dims: {{{hinted}}}")
        if self.inputs:
            text.line("inputs:")
        for own in self.inputs:
            text.line("  ", own.name, ": ", own.entry)
        _section(text, "unknowns", self.unknowns)
        if self.definitions:
            text.line("definitions:")
        for left, body in self.definitions:
            text.scalar(quoted(left), body, 2)
        if self.functions:
            text.line("functions:")
        for function in self.functions:
            function.write(text)
        _section(text, "problem", self.problem)
        return text


def _hint(name: str, size: int | None) -> str:
    return f"{name}: {'' if size is None else size}".rstrip()


def _section(text: SpecText, title: str, entries: Mapping[str, Flow]) -> None:
    if entries:
        text.line(f"{title}:")
    for name, entry in entries.items():
        text.line(f"  {name}: {flow(entry)}")
