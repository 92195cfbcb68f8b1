"""Python as HTML: a class for each sort of word, for a style sheet to colour."""

from __future__ import annotations

import io
import keyword
import tokenize
from collections.abc import Iterator
from html import escape

_SORTS = {
    tokenize.STRING: "string",
    tokenize.NUMBER: "number",
    tokenize.COMMENT: "comment",
}
_FORMATTED_START = getattr(tokenize, "FSTRING_START", None)
_FORMATTED_END = getattr(tokenize, "FSTRING_END", None)


def highlighted(code: str) -> str:
    """Return code with spans around its words: the text of it is the code."""
    lines = code.splitlines(keepends=True)
    pieces, at = [], (1, 0)
    for start, end, sort in _words(code):
        word = escape(_between(lines, start, end), quote=False)
        pieces.append(escape(_between(lines, at, start), quote=False))
        pieces.append(f'<span class="{sort}">{word}</span>')
        at = end
    pieces.append(escape(_between(lines, at, (len(lines) + 1, 0)), quote=False))
    return "".join(pieces)


Place = tuple[int, int]


def _words(code: str) -> Iterator[tuple[Place, Place, str]]:
    """Yield where words begin and end, and of which sort they are."""
    before = ""
    inside: list[Place] = (
        []
    )  # the starts of formatted strings, which Python 3.12 divides
    for token in tokenize.generate_tokens(io.StringIO(code).readline):
        if token.type == _FORMATTED_START:
            inside.append(token.start)
        if inside:
            if token.type == _FORMATTED_END:
                start = inside.pop()
                if not inside:
                    yield start, token.end, "string"
            continue
        sort = _SORTS.get(token.type, "")
        if token.type == tokenize.NAME:
            if keyword.iskeyword(token.string):
                sort = "keyword"
            elif before in ("def", "class"):
                sort = "defined"
        if sort:
            yield token.start, token.end, sort
        if token.string.strip():
            before = token.string


def _between(lines: list[str], start: Place, end: Place) -> str:
    """The text from a place to another; lines count from 1, columns from 0."""
    (first, left), (last, right) = start, end
    if first == last:
        return lines[first - 1][left:right] if first <= len(lines) else ""
    whole = lines[first - 1 : last - 1]
    rest = lines[last - 1][:right] if last <= len(lines) else ""
    return ("".join(whole) + rest)[left:]
