"""Another name in all places of one, if the spec then means what it meant.

Which names a spec may use, and which clash, the compiler says: the renamed text is
read, and refused with its fault. What is no fault, but another meaning, is told by the
places of names: all of them must stand for the same as before.
"""

from __future__ import annotations

from tensorgen.editor.faults import read
from tensorgen.editor.occurrences import (
    Name,
    Occurrence,
    occurrence,
    occurrences,
    places,
)
from tensorgen.errors import Source, Span, SpecError


class Refused(Exception):
    """Why a name keeps its name."""


def renamed(source: Source, offset: int, new: str) -> list[Span]:
    """Return the places where `new` is to be put for the name at an offset.

    Raises `Refused` where there is none, or the spec would mean something else.
    """
    found = renameable(source, offset).name
    spans = [x.span for x in places(source, found)]
    if new == found.name:
        return spans
    if not new.isidentifier():
        raise Refused(f"'{new}' is no name")
    after = Source(source.name, replaced(source, [(span, new) for span in spans]))
    wrong = read(after)
    if isinstance(wrong, SpecError):
        raise Refused(f"{wrong.diagnostics[0].message}")
    line = _other_meaning(source, after, found, new)
    if line is not None:
        raise Refused(
            f"with '{new}' for '{found.name}', line {line} means another thing"
        )
    return spans


def renameable(source: Source, offset: int) -> Occurrence:
    """Return the place of a name that can have another; raises `Refused` otherwise."""
    found = occurrence(source, offset)
    if found is None:
        raise Refused("here is no name that the spec defines")
    if found.name.what == "an argument":
        raise Refused(f"'{found.name.name}' is what code from outside calls it")
    wrong = read(source)
    if isinstance(wrong, SpecError):
        first = wrong.diagnostics[0]
        where = f"line {first.span.line}: " if first.span else ""
        raise Refused(
            f"the spec has a fault, which comes first: {where}{first.message}"
        )
    return found


def replaced(source: Source, edits: list[tuple[Span, str]]) -> str:
    """Return the text of a spec with other characters in some places."""
    pieces, at = [], 0
    for span, text in sorted(edits, key=lambda edit: edit[0].start):
        pieces += [source.text[at : span.start], text]
        at = span.end
    return "".join([*pieces, source.text[at:]])


def _other_meaning(source: Source, after: Source, name: Name, new: str) -> int | None:
    """The first line in which a name stands for another thing than it did, if any."""
    expected: dict[int, Name] = {}
    moved = 0
    for old in occurrences(source):
        expected[old.span.start + moved] = old.name
        if old.name is name:
            moved += len(new) - (old.span.end - old.span.start)
    actual = {x.span.start: x.name for x in occurrences(after)}
    there: dict[Name, Name] = {}
    back: dict[Name, Name] = {}
    for start in sorted({*expected, *actual}):
        one, other = expected.get(start), actual.get(start)
        if one is not None and other is not None:
            same = there.setdefault(one, other) is other
            if same and back.setdefault(other, one) is one:
                continue
        return Span(after, start, start).line
    return None
