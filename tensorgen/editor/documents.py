"""Documents of an editor as sources of the compiler, and places in both.

Editors count lines and columns from 0, and columns in the units they agreed on, UTF-16
as a rule; the compiler counts characters.
"""

from __future__ import annotations

from lsprotocol import types
from pygls.exceptions import JsonRpcInvalidParams
from pygls.workspace import TextDocument

from tensorgen.editor.faults import is_spec
from tensorgen.errors import Source, Span
from tensorgen.files import LARGEST_TEXT


def source_of(document: TextDocument) -> Source | None:
    """Return the text of a document, None if it is no spec."""
    text = document.source
    if len(text) > LARGEST_TEXT or not is_spec(text):
        return None
    name = document.filename or "spec.yaml"
    return Source(name, text.replace("\r\n", "\n").replace("\r", "\n"))


def offset_of(source: Source, document: TextDocument, at: types.Position) -> int:
    """Return the offset of a place; raises an error of the protocol if it is none."""
    lines = document.lines
    if at.line > len(lines):
        raise JsonRpcInvalidParams(f"there is no line {at.line}")
    place = document.position_codec.position_from_client_units(lines, at)
    before = source.text.split("\n")[: place.line]
    return sum(len(line) + 1 for line in before) + place.character


def range_of(span: Span, document: TextDocument) -> types.Range:
    """Return the characters of a span as the range that an editor counts."""
    codec = document.position_codec
    return codec.range_to_client_units(document.lines, range_in_file(span))


def range_in_file(span: Span) -> types.Range:
    """Return the same where columns are characters, as in a file that is ASCII."""
    end = Span(span.source, max(span.start, span.end), span.end)
    return types.Range(
        types.Position(span.line - 1, span.column - 1),
        types.Position(end.line - 1, end.column - 1),
    )
