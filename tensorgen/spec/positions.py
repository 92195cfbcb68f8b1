"""Where the characters of a YAML scalar stand in the file.

YAML strips indentation, folds lines and resolves escapes, and the parser tells
only where a scalar starts and ends. But whatever the style, the characters that
are not white space keep their order; so walking both texts at once finds each.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tensorgen.errors import Source, Text

_HEX_DIGITS = {"x": 2, "u": 4, "U": 8}
_BLANK_TO_BREAK = re.compile(r"[^\S\n]*\n")
_ESCAPED_BREAK = re.compile(r"\\[^\S\n]*\n\s*")
_BLOCK_HEADER = re.compile(r"[^\n]*\n?")


def locate(value: str, source: Source, start: int, end: int, style: str) -> Text:
    """Return `value`, the scalar at `start … end - 1`, with its positions.

    `style` is YAML's indicator: empty for plain, else one of `'`, `"`, `|`, `>`.
    """
    raw = source.text
    if style in ("|", ">"):
        header = _BLOCK_HEADER.match(raw, start, end)
        start = header.end() if header else start
    elif style:
        start, end = start + 1, end - 1
    if raw[start:end] == value:
        return Text(value, source, tuple(range(start, end + 1)))
    return Text(value, source, tuple(_walk(value, raw, start, end, style)))


def _walk(value: str, raw: str, start: int, end: int, style: str) -> Iterator[int]:
    at = start
    for char in value:
        if style == '"' and (skipped := _ESCAPED_BREAK.match(raw, at, end)):
            at = skipped.end()
        if char.isspace():
            at = _before_space(char, raw, at, end)
            width = _space_width(raw, at, end, style)
        else:
            at, width = _find(char, raw, at, end, style)
        yield min(at, end)
        at += width
    yield min(at, end)


def _before_space(char: str, raw: str, at: int, end: int) -> int:
    """Return where a break stands: behind blanks that YAML dropped before it."""
    if char == "\n" and (blank := _BLANK_TO_BREAK.match(raw, at, end)):
        return blank.end() - 1
    return at


def _space_width(raw: str, at: int, end: int, style: str) -> int:
    if at >= end:
        return 0
    if style == '"' and raw[at] == "\\":
        return _escape_width(raw, at)
    return 1 if raw[at].isspace() else 0


def _find(char: str, raw: str, at: int, end: int, style: str) -> tuple[int, int]:
    """Return where `char` stands from `at` on, and how many characters spell it."""
    while at < end:
        if style == '"' and raw[at] == "\\":
            width = _escape_width(raw, at)
            if _unescape(raw[at + 1 : at + width]) == char:
                return at, width
            at += width
        elif raw[at] == char:
            return at, 2 if style == "'" == char else 1
        else:
            at += 1
    return end, 0


def _escape_width(raw: str, at: int) -> int:
    return 2 + _HEX_DIGITS.get(raw[at + 1 : at + 2], 0)


def _unescape(code: str) -> str:
    if code[:1] in _HEX_DIGITS:
        return chr(int(code[1:], 16))
    # The named escapes that are not white space or control stand for themselves;
    # the rest spell no character that an expression may hold.
    return {"0": "\0", "a": "\a", "b": "\b", "e": "\x1b"}.get(code, code)
