"""Text of a spec inside generated code: docstrings and comments.

Such text is untrusted. It must not end the string or comment that holds it, nor look
to a reader like something else than what Python sees.
"""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterable
from itertools import pairwise

from tensorgen.ir.dims import tuple_text

WIDTH = 88
# Lines of docstrings, which stand in functions and methods.
FILLED = WIDTH - 8
# Text that an assignment in a class has room for.
ASSIGNED = WIDTH - len('        ""')
# Characters in parentheses that one line holds.
SHORT = 40

# Escaped text never has it.
_GLUE = "\0"
# The word before a space where a line does not end: an operator, the sign of a sum.
_UNBREAKABLE = re.compile(r"^([-+*/@%<>&|]|[<>=!]?=)$|\bsum_[\w,]+$")
# The space before a short last argument.
_LAST = re.compile(r"(?<=,) [^(),]{,12}\)")
_ITEM = re.compile(r"([-*+]|\d+[.)]) ")

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


def quoted_names(names: Iterable[str]) -> str:
    """Return names as the text of a tuple of strings."""
    return tuple_text([f'"{name}"' for name in names])


def words(lines: Iterable[str]) -> set[str]:
    """Return all words of some code."""
    return {word for line in lines for word in re.findall(r"\w+", line)}


def literal(text: str, room: int = ASSIGNED) -> str:
    """Return text as a string of Python: several in a row where it needs more room.

    What has room is one string: formatters disagree on several that would fit.
    """
    rows = (
        [text]
        if len(text) <= room
        else textwrap.wrap(
            text,
            64,
            drop_whitespace=False,
            break_long_words=False,
            break_on_hyphens=False,
            expand_tabs=False,
            replace_whitespace=False,
        )
    )
    return " ".join(map(_literal, rows or [""]))


def _literal(text: str) -> str:
    return _HIDDEN.sub(_as_escape, json.dumps(text, ensure_ascii=False))


def file_name(text: str) -> str:
    """Return a file's name for a comment, where anything unusual becomes `_`.

    A colon or an equals sign could make the comment declare an encoding.
    """
    return re.sub(r"[^\w.+-]", "_", text)


def paragraph(text: str, indent: str = "", hanging: str = "") -> list[str]:
    """Return escaped text as lines that fit, its own line breaks kept.

    Lines at the margin of which one is too long are filled anew, up to an empty one.
    """
    result: list[str] = []
    waiting: list[str] = []

    def flush() -> None:
        fits = all(len(indent + line) <= FILLED for line in waiting)
        for line in waiting if fits else filter(None, [" ".join(waiting)]):
            result.extend(_wrapped(line, indent, indent + hanging))
        waiting.clear()

    for line in _lines(text):
        own = line[: len(line) - len(line.lstrip())]
        if line and not own and not _ITEM.match(line):
            waiting.append(line.rstrip())
            continue
        flush()
        result += _wrapped(line.strip(), indent + own, indent + own + hanging) or [""]
    flush()
    return result


def filled(title: str, items: Iterable[str]) -> list[str]:
    """Return escaped items behind a title, as lines that fit; none where there is none.

    No line ends inside of an item.
    """
    rows: list[str] = []
    for item in map(escape, items):
        if rows and len(rows[-1]) + 2 + len(item) < FILLED:
            rows[-1] += f", {item}"
        else:
            rows.append("    " + item if rows else title + item)
    return [row + "," for row in rows[:-1]] + rows[-1:]


def equation(text: str, indent: str = "    ") -> list[str]:
    """Return an escaped equation as lines that fit.

    They break between terms, and inside of terms and of brackets before an operator
    where these are long.
    """
    result: list[str] = []
    for line in _lines(text):
        rows: list[str] = []
        for term in _terms(line.strip()):
            if rows and len(rows[-1]) + 1 + len(term) <= FILLED:
                rows[-1] += " " + term
                continue
            first = indent + "    " if rows else indent
            rows += _wrapped(term, first, indent + "    ")
        result += rows or [""]
    return [row.replace(_GLUE, " ") for row in result]


def _lines(text: str) -> list[str]:
    return textwrap.dedent(escape(text)).strip("\n").split("\n")


def _wrapped(line: str, first: str, others: str) -> list[str]:
    return textwrap.wrap(
        line,
        FILLED,
        initial_indent=first,
        subsequent_indent=others,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _terms(line: str) -> list[str]:
    """Cut an equation before the signs of its terms.

    Another character stands for the spaces at which no line ends.
    """
    glued = list(line)
    left = line.find(" = ") + 2
    opened: list[int] = []
    cuts = [0]
    for at, char in enumerate(line):
        if char in "([{":
            opened.append(at)
        elif char in ")]}" and opened:
            start = opened.pop()
            if line[start] in "[{" or at - start <= SHORT:
                inside = line[start:at].replace(" ", _GLUE)
                glued[start:at] = inside
        elif char == " ":
            if (
                at <= left
                or line[at + 1] == "/"
                or _UNBREAKABLE.search(line[line.rfind(" ", 0, at) + 1 : at])
                or _LAST.match(line, at)
            ):
                glued[at] = _GLUE
            elif not opened and line[at + 1] in "+-":
                cuts.append(at + 1)
    return ["".join(glued[a:b]).strip() for a, b in pairwise([*cuts, len(line)])]


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
