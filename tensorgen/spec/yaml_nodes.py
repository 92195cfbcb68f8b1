"""The three kinds of nodes of a YAML tree, as the reader of specs wants them."""

from __future__ import annotations

from dataclasses import dataclass

from tensorgen.errors import Span, Text

_LONGEST = 40
"""How much of a text a message shows."""


@dataclass(frozen=True, slots=True)
class Scalar:
    """A text; `style` is empty for plain, else one of `'`, `"`, `|`, `>`."""

    span: Span
    text: Text
    style: str

    @property
    def empty(self) -> bool:
        """Whether nothing at all was written."""
        return not self.style and not self.text.value


@dataclass(frozen=True, slots=True)
class Listing:
    """A YAML sequence; `flow` tells `[a, b]` from lines with dashes."""

    span: Span
    items: tuple[Node, ...]
    flow: bool


@dataclass(frozen=True, slots=True)
class Mapping:
    """A YAML mapping, with the keys as they stand: equal ones are still there."""

    span: Span
    pairs: tuple[tuple[Node, Node], ...]
    flow: bool


Node = Scalar | Listing | Mapping


def describe(node: Node) -> str:
    """Return what a message calls the node."""
    match node:
        case Listing():
            return "a list"
        case Mapping():
            return "a mapping"
        case Scalar():
            return "nothing" if node.empty else f"'{shorten(node.text.value)}'"


def shorten(text: str) -> str:
    """Return the text on one line, cut where it gets too long for a message."""
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"
