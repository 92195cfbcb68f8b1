"""Flow mappings, `{a: b, c: d}`, where YAML cuts an expression into pieces.

`{expr: sum(X, axis=0), wrt: X}` is to YAML a mapping with the keys `expr`,
`axis=0)` and `wrt`. The brackets show what was meant: that is said, and reading
goes on with it, so that one slip does not hide the other faults of the file.
"""

from __future__ import annotations

import re

from tensorgen.errors import Diagnostic, Faults, Source, Span
from tensorgen.spec.positions import locate
from tensorgen.spec.yaml_nodes import Mapping, Node, Scalar

_CLOSERS = {"(": ")", "[": "]", "{": "}"}
_COMMENT = re.compile(r"\s#[^\n]*")
# Texts for people may hold commas; these keys may follow them nevertheless.
_AFTER_DOC = """
doc shape default index symmetric spd positive nonnegative expr where wrt emit
inputs functions definitions dims module backends support tensorgen
"""


def mend_flow(mapping: Mapping, faults: Faults) -> Mapping:
    """Return the mapping with the values that YAML cut put together again."""
    pairs: list[tuple[Node, Node]] = []
    resume = mapping.span.start
    for number, (key, value) in enumerate(mapping.pairs):
        if key.span.start < resume:
            continue  # a piece of the value before it
        if isinstance(value, Scalar) and not value.style:
            if isinstance(key, Scalar) and key.text.value == "doc":
                value = _whole_doc(value, mapping.pairs[number + 1 :])
            else:
                value = _whole_expression(value, mapping, faults)
            resume = value.span.end
        pairs.append((key, value))
    return Mapping(mapping.span, tuple(pairs), mapping.flow)


def is_bare(key: Node, value: Node) -> bool:
    """Whether an entry of a flow mapping is a key alone, without a colon."""
    after = key.span.source.text[key.span.end :].lstrip()
    return isinstance(value, Scalar) and value.empty and not after.startswith(":")


def _whole_doc(value: Scalar, rest: tuple[tuple[Node, Node], ...]) -> Scalar:
    """Return a doc with the commas that stand in it: prose is not cut."""
    end = value.span.end
    for key, nothing in rest:
        known = isinstance(key, Scalar) and key.text.value in _AFTER_DOC.split()
        if known or not is_bare(key, nothing):
            break
        end = key.span.end
    return value if end == value.span.end else _raw(value.span.source, value, end)


def _whole_expression(value: Scalar, mapping: Mapping, faults: Faults) -> Scalar:
    if balanced(value.text.value):
        return value
    source = value.span.source
    end = _entry_end(source.text, value.span.start)
    if end is None or end <= value.span.end:
        return value
    after = source.text[value.span.end : end]
    cut = value.span.end + len(after) - len(after.lstrip())
    whole = _raw(source, value, len(source.text[:end].rstrip()))
    faults.extend([_cut(source, cut, whole.span, mapping.span.start)])
    return whole


def _raw(source: Source, begin: Node, end: int) -> Scalar:
    """Return the source from the start of a node up to `end` as a plain scalar."""
    start = begin.span.start
    folded = " ".join(source.text[start:end].split())
    text = locate(folded, source, start, end, "")
    return Scalar(Span(source, start, end), text, "")


def cut_by_error(source: Source, start: int, at: int) -> Diagnostic | None:
    """Explain a syntax error at `at` in the flow mapping that starts at `start`."""
    for begin, end in _entries(source.text, start):
        colon = source.text.find(": ", begin, end)
        if colon < 0:
            continue
        value = colon + 1 + len(source.text[colon + 1 : end])
        value -= len(source.text[colon + 1 : end].lstrip())
        if source.text[value : value + 1] in ("'", '"', "[", "{"):
            continue
        comment = _COMMENT.search(source.text, value, end)
        if comment and comment.start() < at:
            return _cut(source, comment.start() + 1, Span(source, value, end), start)
        if value < at < end:
            return _cut(source, at, Span(source, value, end), start)
    return None


def _cut(source: Source, at: int, whole: Span, start: int) -> Diagnostic:
    sign = source.text[at : at + 1]
    why = ", which starts a comment" if sign == "#" else ""
    return Diagnostic(
        f"inside {{...}}, YAML cuts this expression at '{sign}'{why}",
        Span(source, at, at + 1),
        ((whole, ""),),
        quoted_or(_block_form(source.text, start)),
    )


def quoted_or(block: list[str]) -> str:
    """Return the hint to quote a text, or to write these lines instead."""
    first = "quote it, or use the block form, which needs no quotes:"
    return "\n".join([first, *("      " + line for line in block)])


def _block_form(text: str, start: int) -> list[str]:
    """Return the lines of the flow mapping at `start` as a block, without comments."""
    lines: list[str] = []
    for begin, end in _entries(text, start):
        entry = " ".join(_COMMENT.sub("", text[begin:end]).split())
        key, _, value = entry.partition(": ")
        # In a block it is ': ' alone that still needs a text of its own lines.
        cut = ": " in value and value[0] not in "{['\""
        lines += [f"{key}: |", f"  {value}"] if cut else [entry]
    return lines


def _entries(text: str, start: int) -> list[tuple[int, int]]:
    """Split the flow mapping at `start` by its commas outside of brackets."""
    found: list[tuple[int, int]] = []
    at = start + 1
    while (end := _entry_end(text, at)) is not None:
        if text[at:end].strip():
            found.append((at, end))
        if text[end] == "}":
            break
        at = end + 1
    return found


def _entry_end(text: str, start: int) -> int | None:
    """Return where the `,` or `}` stands that ends the entry, heeding brackets."""
    closers: list[str] = []
    quote = ""
    for at in range(start, len(text)):
        char = text[at]
        if quote:
            quote = "" if char == quote else quote
        elif char in "'\"" and not text[at - 1 : at].isalnum():
            quote = char
        elif not closers and char in ",}":
            return at
        elif char in _CLOSERS:
            closers.append(_CLOSERS[char])
        elif char in ")]}" and (not closers or closers.pop() != char):
            return None
    return None


def balanced(text: str) -> bool:
    """Whether every bracket that the text opens is closed in it."""
    depth = 0
    for char in text:
        depth += (char in "([{") - (char in ")]}")
    return depth <= 0
