"""Where the name under the pointer is defined, in the spec or in the prelude."""

from __future__ import annotations

from importlib.resources import files

from tensorgen.editor.hover import word_at
from tensorgen.editor.occurrences import occurrence, places
from tensorgen.errors import Source, Span
from tensorgen.lang.prelude import prelude

PRELUDE = str(files("tensorgen.lang") / "prelude.tg")
"""The file with what is defined in the language itself."""


def defined(source: Source, offset: int) -> list[Span]:
    """Return where the name at an offset is defined: a recurrence in several places."""
    found = occurrence(source, offset)
    if found is not None:
        return [x.span for x in places(source, found.name) if x.defines]
    word = word_at(source, offset)
    if word is None:
        return []
    macro = prelude().get(source.text[word.start : word.end])
    if macro is None or macro.body is None:
        return []
    text = macro.body.text
    start = text.source.text.rfind("\n", 0, text.positions[0]) + 1
    return [Span(Source(PRELUDE, text.source.text), start, start + len(macro.name))]


def mentioned(source: Source, offset: int, with_definitions: bool) -> list[Span]:
    """Return all places of the name at an offset of a spec."""
    found = occurrence(source, offset)
    if found is None:
        return []
    own = places(source, found.name)
    return [x.span for x in own if with_definitions or not x.defines]
