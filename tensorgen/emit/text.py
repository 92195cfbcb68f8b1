"""Text of a spec inside generated code: docstrings and comments.

Such text is untrusted. It must not end the string or comment that holds it, nor look
to a reader like something else than what Python sees.
"""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterable, Sequence

WIDTH = 88

# Controls, invisible and direction-changing characters, line separators, surrogates.
# A fixed list: categories of characters change with the version of Python.
_HIDDEN = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\xa0\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u2028-\u202f\u2060-\u206f\u3164\ud800-\udfff\ufe00-\ufe0f\ufeff"
    "\uffa0\ufff0-\uffff\U000e0000-\U000e0fff]"
)

_QUOTE = r"\x22"


def escape(text: str) -> str:
    r"""Return text for a docstring: hidden characters as escapes, no closing quotes.

    Lines stay lines; a backslash becomes two, so that none escapes what follows.
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n").expandtabs(4)
    text = text.replace("\\", "\\\\").replace('"""', _QUOTE * 3)
    return _HIDDEN.sub(_as_escape, text)


def _as_escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def literal(text: str) -> str:
    """Return text as a string of Python: several in a row where it is long."""
    rows = textwrap.wrap(
        text,
        64,
        drop_whitespace=False,
        break_long_words=False,
        break_on_hyphens=False,
        expand_tabs=False,
        replace_whitespace=False,
    )
    return " ".join(map(_literal, rows or [""]))


def _literal(text: str) -> str:
    return _HIDDEN.sub(_as_escape, json.dumps(text, ensure_ascii=False))


def mentions(text: str, name: str) -> bool:
    """Return whether code uses a name, other than as an attribute."""
    return re.search(rf"(?<![\w.]){re.escape(name)}\b", text) is not None


def tuple_text(parts: Sequence[str]) -> str:
    """Return expressions as a tuple, or a target of names: `(n,)`, `(m, n)`."""
    return f"({', '.join(parts)}{',' * (len(parts) == 1)})"


def file_name(text: str) -> str:
    """Return a file's name for a comment, where anything unusual becomes `_`.

    A colon or an equals sign could make the comment declare an encoding.
    """
    return re.sub(r"[^\w.+-]", "_", text)


def paragraph(text: str, indent: str = "", hanging: str = "") -> list[str]:
    """Return escaped text as lines that fit, its own line breaks kept."""
    result: list[str] = []
    for line in textwrap.dedent(escape(text)).strip("\n").split("\n"):
        own = line[: len(line) - len(line.lstrip())]
        result += textwrap.wrap(
            line.strip(),
            WIDTH - 8,
            initial_indent=indent + own,
            subsequent_indent=indent + own + hanging,
            break_long_words=False,
            break_on_hyphens=False,
        ) or [""]
    return result


def docstring(*blocks: Iterable[str]) -> str:
    """Return a docstring, quotes included, of blocks of escaped lines.

    Blocks without lines vanish; the others are set apart by an empty line.
    """
    lines: list[str] = []
    for block in blocks:
        rows = [row.rstrip() for row in block]
        lines += ["", *rows] if lines and rows else rows
    # As all versions of black would have it: a quote at either end stands apart, and
    # the lines after the first start at the margin.
    lines[0] = lines[0].lstrip()
    if lines[0].startswith('"'):
        lines[0] = _QUOTE + lines[0][1:]
    if lines[-1].endswith('"'):
        lines[-1] = lines[-1][:-1] + _QUOTE
    if len(lines) == 1:
        return f'"""{lines[0]}"""'
    rest = textwrap.dedent("\n".join(lines[1:]))
    return f'"""{lines[0]}\n{rest}\n"""'
