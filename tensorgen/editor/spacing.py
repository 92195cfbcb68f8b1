"""The spacing of a spec: blanks in expressions, and at the ends of lines.

What is formatted are blanks between two signs of one line. So the signs, the
lines, and all comments and docs stay as they are. Operators are set apart on both sides
or on none, as they were written: of one that is apart on one side alone, the other side
follows.
"""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterator
from itertools import pairwise

from tensorgen.editor.cursor import scalars
from tensorgen.editor.occurrences import reading, sketch
from tensorgen.errors import Faults, Source, Span, SpecError, Text
from tensorgen.spec.model import Definition
from tensorgen.spec.yaml_tree import read_tree

Edit = tuple[Span, str]

_BLANK = re.compile(r"[ \t]*")
_TRAILING = re.compile(r"[ \t]+$", re.MULTILINE)
_EQUALS = re.compile(r"(?P<before>[ \t]*)=(?P<after>[ \t]*)\Z")
_OPERATORS = frozenset(("+", "-", "*", "/", "@", "%", "//", "**", "&", "|", "^")) | {
    *("<", "<=", ">", ">=", "==", "!=")
}
_UNARY = frozenset("+-~")
_OPENING, _CLOSING = frozenset("([{"), frozenset(")]}")


def spacing(source: Source) -> list[Edit]:
    """Return the edits that format a spec: other blanks in some places.

    There are none where it is no YAML.
    """
    spec = sketch(source)
    if spec is None:
        return []
    found: dict[Span, str] = {}
    for expression in reading(source).expressions:
        found.update(_in_expression(expression.text))
    for definition in (
        *spec.definitions,
        *(line for f in spec.functions for line in f.where),
    ):
        found.update(_around_equals(definition))
    found.update(_at_ends(source))
    edits = ((span, text) for span, text in found.items() if _now(span) != text)
    return sorted(edits, key=lambda edit: edit[0].start)


def _now(span: Span) -> str:
    return span.source.text[span.start : span.end]


def _in_expression(text: Text) -> Iterator[Edit]:
    signs = [*_signs(text.value)]
    gaps = [_gap(text, one.end, other.start) for one, other in pairwise(signs)]
    for k, gap in enumerate(gaps):
        if gap is not None and _BLANK.fullmatch(_now(gap)):
            wanted = _wanted(signs, gaps, k)
            if wanted is not None:
                yield gap, wanted


class _Sign:
    """A name, a number or a sign of an expression; `unary` ones have one operand."""

    def __init__(self, text: str, start: int, before: _Sign | None) -> None:
        self.text, self.start, self.end = text, start, start + len(text)
        operand = before is not None and (
            before.text in _CLOSING or before.text[-1].isalnum() or before.is_quoted
        )
        self.unary = text in _UNARY and not operand
        self.binary = text in _OPERATORS and operand

    @property
    def is_quoted(self) -> bool:
        return self.text[-1] in "'\"_"


def _signs(value: str) -> Iterator[_Sign]:
    """Yield the signs of an expression, which is one line that Python can read."""
    before: _Sign | None = None
    for token in tokenize.generate_tokens(io.StringIO(value).readline):
        if token.string.strip():
            before = _Sign(token.string, token.start[1], before)
            yield before


def _gap(text: Text, end: int, start: int) -> Span | None:
    """What stands between two signs in the file, None where that is no text."""
    first, last = text.positions[end - 1] + 1, text.positions[start]
    return Span(text.source, first, last) if first <= last else None


def _wanted(signs: list[_Sign], gaps: list[Span | None], k: int) -> str | None:
    """The blanks between two signs; None where they are left as they are.

    None is put behind a colon: `: ` means something to YAML.
    """
    left, right = signs[k], signs[k + 1]
    inside = left.text in _OPENING or right.text in _CLOSING
    if inside or right.text == "," or left.unary or "." in (left.text, right.text):
        return ""
    if left.text == ",":
        return " "
    if "=" in (left.text, right.text):
        return ""  # k=range(5), axis=0
    if right.binary:
        return " " if _is_apart(gaps, k) or _is_apart(gaps, k + 1) else ""
    if left.binary:
        return " " if _is_apart(gaps, k - 1) or _is_apart(gaps, k) else ""
    if right.text in ("(", "["):
        return "" if left.text[-1].isalnum() or left.text[-1] in "_)]" else None
    return None


def _is_apart(gaps: list[Span | None], k: int) -> bool:
    """Whether anything stands in a gap, as a line break does."""
    gap = gaps[k]
    return gap is None or gap.end > gap.start


def _around_equals(definition: Definition) -> Iterator[Edit]:
    """Blanks around the sign of a definition; several before it may align it."""
    body = definition.body.span()
    start = definition.name_text.span().end
    found = _EQUALS.search(body.source.text, start, body.start)
    if found is None or "\n" in found[0]:
        return
    before, after = Span(body.source, *found.span("before")), found.span("after")
    yield before, _now(before) or " "
    yield Span(body.source, *after), " "


def _at_ends(source: Source) -> Iterator[Edit]:
    """Blanks at the ends of lines, but in docs; one line break at the end of all."""
    text, docs = source.text, [*_docs(source)]
    last = len(text.rstrip())
    for found in _TRAILING.finditer(text):
        start, end = found.span()
        kept = any(doc.start <= start < doc.end for doc in docs)
        if not kept and end <= last:
            yield Span(source, start, end), ""
    if not any(last < doc.end for doc in docs):
        yield Span(source, last, len(text)), "\n"


def _docs(source: Source) -> Iterator[Span]:
    """Yield where texts for people stand that have several lines."""
    try:
        root = read_tree(source, Faults())
    except SpecError:
        return
    for path, node, is_key, _ in scalars(root):
        if path[-1:] == ("doc",) and not is_key and "\n" in _now(node.span):
            yield node.span
