"""The text of a spec that is written piece by piece, and where the pieces came from.

So a fault that the reader of specs finds is told of what a person wrote.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tensorgen.errors import Diagnostic, Source, Span, SpecError, Text
from tensorgen.spec.written_scalars import is_plain, quoted

Piece = str | Text


class SpecText:
    """A spec as it is written; `name` is what messages call it."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._parts: list[str] = []
        self._length = 0
        self._pieces: list[tuple[int, Text]] = []

    def write(self, *pieces: Piece) -> None:
        """Add pieces to the end."""
        for piece in pieces:
            if isinstance(piece, Text):
                self._pieces.append((self._length, piece))
            own = str(piece)
            self._parts.append(own)
            self._length += len(own)

    def line(self, *pieces: Piece) -> None:
        """Add a line."""
        self.write(*pieces, "\n")

    def scalar(self, key: str, value: Piece, indent: int) -> None:
        """Add the line `key: value`, or a block where YAML would cut the value."""
        before, text = " " * indent, str(value)
        if "\n" not in text and is_plain(text):
            self.line(f"{before}{key}: ", value)
            return
        self.line(f"{before}{key}: |")
        self.block(value, indent + 2)

    def block(self, value: Piece, indent: int) -> None:
        """Add the lines of a text; those that go on are indented deeper."""
        for piece in _lines(value):
            self.line(" " * indent, piece)

    def doc(self, text: str | None, indent: int = 0) -> None:
        """Add the line `doc:`, where there is something to say."""
        if text:
            self.line(f"{' ' * indent}doc: {quoted(text)}")

    @property
    def text(self) -> str:
        """All of it."""
        return "".join(self._parts)

    @property
    def source(self) -> Source:
        """All of it under its name."""
        return Source(self.name, self.text)

    def told(self, error: SpecError, otherwise: Span | None = None) -> SpecError:
        """Return an error about this text as one about what its pieces came from.

        What stands in no piece is told of the place `otherwise`, if there is one.
        """
        return SpecError(self._told(x, otherwise) for x in error.diagnostics)

    def _told(self, fault: Diagnostic, otherwise: Span | None) -> Diagnostic:
        marks = [(self._moved(span), text) for span, text in fault.marks]
        kept = tuple((span, text) for span, text in marks if span is not None)
        if fault.span is None or fault.span.source.name != self.name:
            return fault
        span = self._moved(fault.span)
        if span is None and otherwise is None:
            return fault
        return replace(fault, span=span or otherwise, marks=kept)

    def _moved(self, span: Span) -> Span | None:
        if span.source.name != self.name:
            return span
        for start, piece in self._pieces:
            if start <= span.start < start + max(len(piece.value), 1):
                return piece.span(span.start - start, span.end - start)
        return None


def _lines(value: Piece) -> Iterator[Piece]:
    if isinstance(value, str):
        yield from value.strip("\n").split("\n")
        return
    at = 0
    for line in value.value.split("\n"):
        yield value.slice(at, at + len(line))
        at += len(line) + 1
