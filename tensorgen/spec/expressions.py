"""Expressions as the file has them: still text, but on one line and trimmed."""

from __future__ import annotations

from collections.abc import Iterator

from tensorgen.errors import Faults, Span, Text
from tensorgen.spec.yaml_nodes import Listing, Node, Scalar, describe


def read_expression(node: Node, what: str, place: Span, faults: Faults) -> Text | None:
    """Return the text of an expression, whatever YAML would make of it.

    `[x, 2*y]` is a list to YAML and an array to us, so it is taken as it stands.
    `place` is pointed at where there is nothing to point at.
    """
    if isinstance(node, Listing) and node.flow:
        start, end = node.span.start, node.span.end
        source = node.span.source
        text = Text(source.text[start:end], source, tuple(range(start, end + 1)))
    elif isinstance(node, Scalar):
        text = node.text
    else:
        message = f"{what} must be an expression, not {describe(node)}"
        hint = "an expression that starts with '-' or '{' has to be quoted"
        faults.add(message, _first(node.span), hint=hint)
        return None
    text = tidy(text)
    if not text.value:
        faults.add(f"{what} has no expression", place)
        return None
    return text


def tidy(text: Text) -> Text:
    """Return the text without comments, line breaks and white space around it.

    Each is replaced by blanks, so that positions stay one for one.
    """
    return Text("".join(_blanked(text.value)), text.source, text.positions).strip()


def _blanked(value: str) -> Iterator[str]:
    quote = ""
    comment = False
    for char in value:
        if char == "\n":
            quote, comment = "", False
        elif quote:
            quote = "" if char == quote else quote
        elif char in "'\"":
            quote = "" if comment else char
        elif char == "#":
            comment = True
        yield " " if comment or char in "\t\n\r" else char


def _first(span: Span) -> Span:
    """Return the first line of a span: more would not be drawn."""
    stop = span.source.text.find("\n", span.start, span.end)
    return span if stop < 0 else Span(span.source, span.start, stop)
