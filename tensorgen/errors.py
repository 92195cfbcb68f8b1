"""Faults and where they are: the user's (`SpecError`) and ours (`InternalError`).

Everything that a person wrote travels as a `Text`, which knows for each of its
characters where in the file it stands, so that any later stage can point at it.
A `Diagnostic` is one fault; how it is drawn is the business of `render`.
"""

from __future__ import annotations

import difflib
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NoReturn


@dataclass(frozen=True, slots=True)
class Source:
    """A text and the name under which messages refer to it."""

    name: str
    text: str = field(repr=False)

    @classmethod
    def decode(cls, name: str, data: bytes) -> Source:
        """Return the source in a file; raises `SpecError` if it is no text.

        Line ends are unified, so that a checkout's line ends change no output.
        """
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError as error:
            hint = "save the file as UTF-8"
            if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
                hint = "it looks like UTF-16: " + hint
            before = data[: error.start].decode("utf-8", "replace")
            here = cls(name, before + "\N{REPLACEMENT CHARACTER}")
            span = Span(here, len(before), len(before) + 1)
            fail("the file is not UTF-8 text", span, hint=hint)
        return cls(name, text.replace("\r\n", "\n").replace("\r", "\n"))


@dataclass(frozen=True, slots=True)
class Span:
    """The characters `start … end - 1` of a source."""

    source: Source
    start: int
    end: int

    @property
    def line(self) -> int:
        """The line of the first character, counted from 1."""
        return self.source.text.count("\n", 0, self.start) + 1

    @property
    def column(self) -> int:
        """The column of the first character, counted from 1."""
        return self.start - (self.source.text.rfind("\n", 0, self.start) + 1) + 1


@dataclass(frozen=True, slots=True)
class Text:
    """A piece of a spec as the language sees it.

    YAML strips indentation, folds lines and resolves escapes, so a character of
    `value` may stand anywhere: `positions` holds its offset in the source, and
    one more for the place just past the end.
    """

    value: str
    source: Source
    positions: tuple[int, ...] = field(repr=False)

    def __post_init__(self) -> None:
        if len(self.positions) != len(self.value) + 1:
            raise ValueError("a Text needs one position a character, and one more")

    @classmethod
    def plain(cls, value: str, name: str = "<text>") -> Text:
        """Return `value` as a text that is its own source."""
        return cls(value, Source(name, value), tuple(range(len(value) + 1)))

    def span(self, start: int = 0, end: int | None = None) -> Span:
        """Return the positions of the characters `start … end - 1` of the value."""
        start, end = self._within(start, end)
        first = self.positions[start]
        # Not positions[end], which may lie behind an indentation or a quote.
        return Span(
            self.source, first, self.positions[end - 1] + 1 if end > start else first
        )

    def slice(self, start: int, end: int | None = None) -> Text:
        """Return the characters `start … end - 1` as a text."""
        start, end = self._within(start, end)
        return Text(self.value[start:end], self.source, self.positions[start : end + 1])

    def extended(self, end: str) -> Text:
        """Return the text with an `end` that the source lacks: it is shown without."""
        *inside, past = self.positions
        places = (*inside, *inside[-1:] * len(end), past)
        return Text(self.value + end, self.source, places)

    def _within(self, start: int, end: int | None) -> tuple[int, int]:
        last = len(self.value)
        start = min(max(start, 0), last)
        return start, last if end is None else min(max(end, start), last)

    def strip(self) -> Text:
        """Return the text without white space at either end."""
        start = len(self.value) - len(self.value.lstrip())
        return self.slice(start, max(start, len(self.value.rstrip())))

    def __str__(self) -> str:
        return self.value


class Suggestion(str):
    """A hint that says what is meant: `word`, in the place of what is wrong.

    That is what the fault is at, unless the hint has a `place` of its own. What people
    read is the text; editors, which replace the one by the other, read the parts.
    """

    word: str
    place: Span | None

    def __new__(cls, text: str, word: str, place: Span | None = None) -> Suggestion:
        """Return the hint `text`."""
        made = super().__new__(cls, text)
        made.word, made.place = word, place
        return made

    def __reduce__(self) -> tuple[object, ...]:
        return Suggestion, (str(self), self.word, self.place)


def extended(hint: str, more: str) -> str:
    """Return a hint that says more, and suggests the same."""
    text = f"{hint} {more}".strip()
    if isinstance(hint, Suggestion):
        return Suggestion(text, hint.word, hint.place)
    return text


Mark = tuple[Span, str]


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One fault: what is wrong, where, what to look at, and what may be meant.

    What else is a remark has its code.
    """

    message: str
    span: Span | None
    marks: tuple[Mark, ...] = ()
    hint: str | None = None
    code: str = "spec"

    @property
    def fix(self) -> tuple[Span, str] | None:
        """The characters to replace, and by what, where the hint says what is meant."""
        if not isinstance(self.hint, Suggestion):
            return None
        place = self.hint.place or self.span
        return None if place is None else (place, self.hint.word)

    def render(self, color: bool = False) -> str:
        """Return the message with its source lines, as plain text by default."""
        paint = _Paint(color)
        where = "" if self.span is None else printable(_where(self.span))
        message = printable(self.message)
        if self.code != "spec":
            message += f" [{self.code}]"
        lines = [paint.bold(where) + paint.red("error:") + " " + paint.bold(message)]
        lines += _snippets(self.span, self.marks, paint)
        if self.hint is not None:
            first, *others = self.hint.split("\n")
            lines.append("   " + paint.blue("hint:") + " " + printable(first))
            # Indented, so that no text of a spec looks like a fault of its own.
            lines += ["   " * (line[:3] != "   ") + printable(line) for line in others]
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class Remark:
    """What is no fault, but worth to be known, or warned of; a code says which."""

    message: str
    span: Span
    code: str
    is_warning: bool = False

    def __str__(self) -> str:
        kind = "warning" if self.is_warning else "note"
        told = f"{kind}: {self.message} [{self.code}]"
        return printable(f"{_where(self.span)}{told}")


class SpecError(Exception):
    """A wrong spec: the user's fault, with one diagnostic for each fault."""

    diagnostics: tuple[Diagnostic, ...]

    def __init__(self, diagnostics: Diagnostic | Iterable[Diagnostic]) -> None:
        if isinstance(diagnostics, Diagnostic):
            diagnostics = (diagnostics,)
        self.diagnostics = tuple(diagnostics)
        # What pickle calls the class with again.
        super().__init__(self.diagnostics)

    def __str__(self) -> str:
        return self.render()

    def render(self, color: bool = False) -> str:
        """Return all diagnostics, each as `Diagnostic.render` draws it."""
        return "\n".join(d.render(color) for d in self.diagnostics)


class SpecWarning(UserWarning):
    """A warning about a spec, issued in Python."""


class InternalError(Exception):
    """A broken promise inside tensorgen: our fault, never the user's."""


class NoDerivative(Exception):
    """A derivative that no row states; whoever knows the function's name reports it."""


def fail(
    message: str,
    span: Span | None,
    *,
    marks: Iterable[Mark] = (),
    hint: str | None = None,
) -> NoReturn:
    """Raise a `SpecError` with this one diagnostic."""
    raise SpecError(Diagnostic(message, span, tuple(marks), hint))


@dataclass(slots=True)
class Faults:
    """Collects faults, so that all of a run are reported at once."""

    _found: dict[Diagnostic, None] = field(default_factory=dict)

    def add(
        self,
        message: str,
        span: Span | None,
        *,
        marks: Iterable[Mark] = (),
        hint: str | None = None,
    ) -> None:
        """Note one fault; the same fault in the same place counts once."""
        self.extend([Diagnostic(message, span, tuple(marks), hint)])

    def extend(self, diagnostics: Iterable[Diagnostic]) -> None:
        """Note faults found elsewhere, such as those of an error that was caught."""
        self._found.update(dict.fromkeys(diagnostics))

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """The faults so far, in the order in which they were found."""
        return tuple(self._found)

    def __bool__(self) -> bool:
        return bool(self._found)

    def raise_if_any(self) -> None:
        """Raise one `SpecError` with all faults in the order of their positions."""
        if self._found:
            raise SpecError(sorted(self._found, key=_place))


def _where(span: Span) -> str:
    return f"{span.source.name}:{span.line}:{span.column}: "


def _place(diagnostic: Diagnostic) -> tuple[bool, str, int]:
    span = diagnostic.span
    if span is None:
        return (True, "", 0)
    return (False, span.source.name, span.start)


def suggest(
    name: str, candidates: Iterable[str], place: Span | None = None
) -> str | None:
    """Return "did you mean 'x'?" for the candidate that is most like `name`.

    It is a `Suggestion`: the `place` of the name is that of the fault, if nothing else
    is said.
    """
    pool = list(candidates)
    close = difflib.get_close_matches(name, pool, n=1, cutoff=0.6)
    if not close:
        # The similarity of difflib minds case, a reader does not.
        folded = {c.lower(): c for c in reversed(pool)}
        near = difflib.get_close_matches(name.lower(), list(folded), n=1, cutoff=0.6)
        close = [folded[c] for c in near]
    return did_you_mean(close[0], place) if close else None


def did_you_mean(word: str, place: Span | None = None) -> Suggestion:
    """Return the hint that a word is meant."""
    return Suggestion(f"did you mean '{word}'?", word, place)


def listed(words: Sequence[str]) -> str:
    """Return words as a text lists them: `a, b and c`."""
    *others, last = words
    return f"{', '.join(others)} and {last}" if others else last


# --- drawing ----------------------------------------------------------------

_GUTTER = 5
_WIDEST = 160


@dataclass(frozen=True, slots=True)
class _Paint:
    on: bool

    def bold(self, text: str) -> str:
        return self._wrap("1", text)

    def red(self, text: str) -> str:
        return self._wrap("1;31", text)

    def blue(self, text: str) -> str:
        return self._wrap("1;34", text)

    def _wrap(self, code: str, text: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.on and text else text


def _snippets(main: Span | None, marks: tuple[Mark, ...], paint: _Paint) -> list[str]:
    """Draw the line of `main`, then every other line that has a mark."""
    lines: list[str] = []
    home = (main.source, main.line) if main is not None else None
    if main is not None:
        here = [mark for mark in marks if (mark[0].source, mark[0].line) == home]
        lines += _snippet(main, here, paint)
    groups: dict[tuple[Source, int], list[Mark]] = {}
    for mark in marks:
        place = (mark[0].source, mark[0].line)
        if place != home:
            groups.setdefault(place, []).append(mark)
    for (source, line), group in groups.items():
        if main is None or source.name != main.source.name:
            lines.append(f"   {printable(source.name)}:{line}:")
        lines += _snippet(None, group, paint)
    return lines


def _snippet(main: Span | None, marks: list[Mark], paint: _Paint) -> list[str]:
    """Draw one source line, its underline and the labels of its marks."""
    anchor = main if main is not None else marks[0][0]
    row = _Row(anchor)
    under: list[str] = []
    spans = [span for span, _ in marks] or ([main] if main is not None else [])
    for span in spans:
        row.put(under, span, "~" * max(row.width(span), 1))
    if main is not None:
        row.put(under, main, "^")
    blank = paint.blue(" " * (_GUTTER + 1) + "| ")
    lines = [
        (paint.blue(f"{anchor.line:>{_GUTTER}} | ") + row.text).rstrip(),
        blank + paint.red("".join(under)),
    ]
    lines += [blank + labels for labels in _label_rows(row, marks)]
    return lines


def _label_rows(row: _Row, marks: list[Mark]) -> Iterator[str]:
    """Set each label under its mark, on a further row where there is no room."""
    rows: list[list[str]] = []
    for span, label in sorted(marks, key=lambda mark: mark[0].start):
        if not label:
            continue
        at = row.at(span.start)
        free = next((r for r in rows if not r or len(r) < at), None)
        if free is None:
            free = []
            rows.append(free)
        row.put(free, span, printable(label))
    return ("".join(r) for r in rows)


class _Row:
    """One source line as it is printed, and the columns of its characters."""

    def __init__(self, anchor: Span) -> None:
        text = anchor.source.text
        begin = text.rfind("\n", 0, anchor.start) + 1
        end = text.find("\n", begin)
        line = text[begin : end if end >= 0 else len(text)].rstrip("\r\n")
        # Of a very long line only the part around the fault is shown.
        skip = 0
        if len(line) > _WIDEST:
            skip = max(0, anchor.start - begin - _WIDEST // 2)
            line = line[skip : skip + _WIDEST]
        self.begin = begin + skip
        self.text = "".join(_glyph(c) for c in line)
        self.edges = [0]
        for c in self.text:
            self.edges.append(self.edges[-1] + _cells(c))

    def at(self, offset: int) -> int:
        """The screen column, from 0, of an offset of the source."""
        return self.edges[min(max(offset - self.begin, 0), len(self.edges) - 1)]

    def width(self, span: Span) -> int:
        """The screen columns that a span covers on this line."""
        return self.at(span.end) - self.at(span.start)

    def put(self, canvas: list[str], span: Span, text: str) -> None:
        """Write `text` on the canvas where the span starts."""
        at = self.at(span.start)
        canvas.extend(" " * (at + len(text) - len(canvas)))
        canvas[at : at + len(text)] = text


def _glyph(c: str) -> str:
    """Return what is shown for a character: never a control sequence."""
    return c if c.isprintable() else " " if c.isspace() else "\N{REPLACEMENT CHARACTER}"


def printable(text: str) -> str:
    """Return a text on one line, with what would steer a terminal or hide escaped.

    So neither a line break nor a change of direction in a name, or in what a spec
    quotes, can make a message look like another one.
    """
    return "".join(
        c if c.isprintable() else c.encode("unicode_escape").decode() for c in text
    )


def _cells(c: str) -> int:
    if unicodedata.combining(c):
        return 0
    return 2 if unicodedata.east_asian_width(c) in "WF" else 1
