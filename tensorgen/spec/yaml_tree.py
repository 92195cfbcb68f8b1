"""A YAML file as a small tree of nodes with positions.

Read from the parser's events rather than composed by PyYAML: so nothing recurses,
nothing is resolved to a value (`no`, `1e3` and `null` stay text), and anchors,
aliases and tags never come to life.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass, field
from typing import Any, NoReturn

import yaml

from tensorgen.errors import Faults, Source, Span, SpecError, fail
from tensorgen.spec.flow import cut_by_error, mend_flow, quoted_or
from tensorgen.spec.positions import locate
from tensorgen.spec.yaml_nodes import Listing, Mapping, Node, Scalar

DEEPEST = 16


@dataclass(slots=True)
class _Open:
    """A collection whose end has not been read; a mapping's children alternate."""

    start: int
    flow: bool
    mapping: bool
    children: list[Node] = field(default_factory=list)


def read_tree(source: Source, faults: Faults) -> Node:
    """Return the root node; raises where the file cannot be read to its end."""
    try:
        return _build(source, faults)
    except SpecError as error:
        faults.extend(error.diagnostics)
        faults.raise_if_any()
        raise


def _build(source: Source, faults: Faults) -> Node:
    builder = _Builder(source, faults)
    try:
        for event in yaml.parse(source.text, Loader=yaml.SafeLoader):
            builder.take(event)
    except yaml.YAMLError as error:
        _translate(error, builder)
    except (ValueError, OverflowError):
        _refuse_number(source)
    if builder.root is None:
        fail("the file is empty", Span(source, 0, 0), hint=_FIRST_LINE)
    return builder.root


_ESCAPE = re.compile(r"\\U[0-9A-Fa-f]{8}")


def _refuse_number(source: Source) -> NoReturn:
    """Raise a diagnostic for a number that PyYAML makes no character or version of."""
    for match in _ESCAPE.finditer(source.text):
        if int(match[0][2:], 16) > sys.maxunicode:
            fail(f"there is no character {match[0]}", Span(source, *match.span()))
    directive = re.search(r"^%.*", source.text, re.MULTILINE)
    start, end = directive.span() if directive else (0, 0)
    fail("not valid YAML: a number is too large", Span(source, start, end))


_FIRST_LINE = "a spec starts with 'tensorgen: 1'"


class _Builder:
    def __init__(self, source: Source, faults: Faults) -> None:
        self.source = source
        self.faults = faults
        self.root: Node | None = None
        self.stack: list[_Open] = []
        self.left: list[_Open] = []  # what the line at hand has ended

    def take(self, event: yaml.Event) -> None:
        """Grow the tree by one event."""
        if isinstance(event, yaml.NodeEvent):
            self._refuse(event)
        if isinstance(event, yaml.ScalarEvent):
            self._scalar(event)
        elif isinstance(event, yaml.CollectionStartEvent):
            self._open(event)
        elif isinstance(event, yaml.CollectionEndEvent):
            self._close(event)
        elif isinstance(event, yaml.DocumentStartEvent) and self.root is not None:
            span = self._span(_at(event.start_mark), _at(event.end_mark))
            fail("a spec is one YAML document, and here a second one starts", span)

    def _refuse(self, event: yaml.NodeEvent) -> None:
        """Report what specs have no use for: anchors, aliases and tags."""
        span = self._span(_at(event.start_mark), _at(event.end_mark))
        hint = "if it is part of an expression, quote the expression"
        if isinstance(event, yaml.AliasEvent):
            fail("a spec has no YAML aliases ('*name')", span, hint=hint)
        span = self._span(span.start, span.start + 1)
        if event.anchor is not None:
            fail("a spec has no YAML anchors ('&name')", span, hint=hint)
        if getattr(event, "tag", None) is not None:
            fail("a spec has no YAML tags ('!name')", span, hint=hint)

    def _scalar(self, event: yaml.ScalarEvent) -> None:
        self.left.clear()
        start, end = _at(event.start_mark), _at(event.end_mark)
        style = event.style or ""
        text = locate(event.value, self.source, start, end, style)
        self._add(Scalar(self._span(start, end), text, style))

    def _open(self, event: yaml.CollectionStartEvent) -> None:
        start = _at(event.start_mark)
        if len(self.stack) >= DEEPEST:
            fail("the file is nested too deeply", self._span(start, start + 1))
        mapping = isinstance(event, yaml.MappingStartEvent)
        self.stack.append(_Open(start, bool(event.flow_style), mapping))

    def _close(self, event: yaml.CollectionEndEvent) -> None:
        done = self.stack.pop()
        self.left.append(done)
        end = _at(event.end_mark)
        if not done.flow:
            # A block ends where the next token starts; its text ends before.
            end = done.children[-1].span.end if done.children else done.start
        span = self._span(done.start, end)
        if not done.mapping:
            self._add(Listing(span, tuple(done.children), done.flow))
            return
        pairs = tuple(zip(done.children[::2], done.children[1::2], strict=True))
        mapping = Mapping(span, pairs, done.flow)
        self._add(mend_flow(mapping, self.faults) if done.flow else mapping)

    def _add(self, node: Node) -> None:
        if self.stack:
            self.stack[-1].children.append(node)
        else:
            self.root = node

    def _span(self, start: int, end: int) -> Span:
        return Span(self.source, start, end)


def _at(mark: Any) -> int:
    # The stubs allow for events without marks, which the parser never makes.
    return int(mark.index)


def _translate(error: yaml.YAMLError, builder: _Builder) -> NoReturn:
    """Raise what PyYAML says about the syntax as a diagnostic."""
    source = builder.source
    if isinstance(error, yaml.reader.ReaderError):
        at = int(error.position)
        code = f"U+{ord(source.text[at]):04X}"
        fail(f"the character {code} is not allowed in YAML", Span(source, at, at + 1))
    if not isinstance(error, yaml.MarkedYAMLError) or error.problem_mark is None:
        fail(f"not valid YAML: {error}", Span(source, 0, 0))
    at = min(error.problem_mark.index, len(source.text))
    mapping = next((c for c in reversed(builder.stack) if c.flow and c.mapping), None)
    if mapping and (cut := cut_by_error(source, mapping.start, at)):
        raise SpecError(cut)
    problem = str(error.problem)
    if problem.startswith("mapping values") and not _inside_value(source, at):
        problem = "expected <block end>, but found"
        entry = _entry(source, at)
        at = at if entry is None else entry.start("key")
    if problem.startswith("could not find expected ':'") and error.context_mark:
        at = error.context_mark.index
    for beginning, message, hint in _SYNTAX:
        if problem.startswith(beginning):
            if message == _OUT_OF_LINE:
                hint = f"{_columns(builder)}; {hint}"
            fail(message, Span(source, at, at + 1), hint=hint or _block(source, at))
    context = f"{error.context}, " if error.context else ""
    marks: list[tuple[Span, str]] = []
    if error.context_mark is not None and error.context_mark.index < at:
        begin = error.context_mark.index
        marks.append((Span(source, begin, begin + 1), "it starts here"))
    fail(
        f"not valid YAML: {context}{problem}",
        Span(source, at, at + 1),
        marks=marks,
        hint=_block(source, at),
    )


_OUT_OF_LINE = "this line does not continue what is above it"
# What PyYAML says, what we say, and what to do about it (None: the block form).
_SYNTAX: tuple[tuple[str, str, str | None], ...] = (
    (r"found character '\t'", "YAML allows no tabs here", "indent with spaces"),
    (
        "expected chomping",
        "'|' and '>' start a block of text, which begins on the next line",
        "a norm is norm(x), an absolute value abs(x)",
    ),
    (
        "could not find expected ':'",
        "this line is no 'key: value'",
        "the text of a block is indented further than its key",
    ),
    ("found character", "a text without quotes cannot start like this", None),
    ("mapping values are not allowed", "YAML cuts this text at ': '", None),
    (
        "expected <block end>, but found",
        _OUT_OF_LINE,
        "an expression that starts with a quote or '[' and goes on behind it needs "
        "quotes around all of it",
    ),
)


def _columns(builder: _Builder) -> str:
    """Say where the keys of the mappings start that a line may continue."""
    open_or_left = [*builder.stack, *builder.left]
    starts = sorted(x.start for x in open_or_left if x.mapping and not x.flow)
    columns = [str(Span(builder.source, at, at).column) for at in starts]
    rule = "the keys of one mapping are indented alike"
    return f"{rule}: here at column {' or '.join(columns)}" if columns else rule


_ENTRY = re.compile(r"(?P<indent>\s*)(?P<key>[^\s:][^:\n]*):[ \t]+(?P<value>\S.*)")


def _entry(source: Source, at: int) -> re.Match[str] | None:
    """Return the key and the value on the line of `at`."""
    return _ENTRY.match(source.text, source.text.rfind("\n", 0, at) + 1)


def _inside_value(source: Source, at: int) -> bool:
    entry = _entry(source, at)
    return entry is not None and at >= entry.start("value")


def _block(source: Source, at: int) -> str | None:
    """Show the line at `at` as a block scalar, where nothing needs quoting."""
    entry = _entry(source, at)
    if entry is None or len(entry["value"]) > 200 or entry["value"][0] in "{|>":
        return None
    return quoted_or([f"{entry['key']}: |", f"  {entry['value'].strip()}"])
