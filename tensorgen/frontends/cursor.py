"""What parsers read: tokens in a row, with their places."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn

from tensorgen.errors import Source, Span, fail

DEEPEST = 60
"""Levels of parentheses and the like; what has more was made to exhaust a parser."""
MOST_TOKENS = 20_000


@dataclass(frozen=True, slots=True)
class Token:
    """A word, number or sign; `kind` says which, the text of a sign is its kind."""

    kind: str
    text: str
    span: Span


class Cursor:
    """A place in a row of tokens that moves forward."""

    def __init__(self, tokens: Sequence[Token], source: Source, end: int) -> None:
        """Stand at the first token; what lies behind the last one is at `end`."""
        self.source = source
        self._end = Token("end", "", Span(source, end, end))
        self._tokens = tokens
        self._at = 0
        self._depth = 0
        if len(tokens) > MOST_TOKENS:
            fail(f"the formula has more than {MOST_TOKENS:,} words", tokens[0].span)

    @property
    def next(self) -> Token:
        """The token that is read next."""
        return self.ahead(0)

    def ahead(self, count: int) -> Token:
        """Return a token further on."""
        at = self._at + count
        return self._tokens[at] if at < len(self._tokens) else self._end

    @property
    def last(self) -> Token:
        """The token that was read last."""
        return self._tokens[self._at - 1] if self._at else self._end

    def advance(self) -> Token:
        """Read a token."""
        found = self.next
        self._at = min(self._at + 1, len(self._tokens))
        return found

    def take(self, *kinds: str) -> Token | None:
        """Read a token if it is one of these."""
        return self.advance() if self.next.kind in kinds else None

    def expect(self, kind: str, opened: Token) -> Token:
        """Read the token that ends what another one began."""
        if self.next.kind == kind:
            return self.advance()
        message = f"'{opened.text}' is not closed: '{kind}' is missing"
        marks = [(opened.span, "opened here")]
        if self.next.kind != "end":
            message += f" before '{self.next.text}'"
            marks.append((self.next.span, ""))
        fail(message, self.next.span, marks=marks)

    def unexpected(self, wanted: str) -> NoReturn:
        """Say what stands in the place of what was wanted."""
        found = self.next
        if found.kind == "end":
            fail(f"the formula ends where {wanted} is expected", found.span)
        fail(f"'{found.text}' stands where {wanted} is expected", found.span)

    def enter(self) -> None:
        """Go one level down, unless that is too deep for any formula."""
        self._depth += 1
        if self._depth > DEEPEST:
            message = f"the formula is nested deeper than {DEEPEST} levels"
            fail(message, self.next.span)

    def leave(self) -> None:
        """Go back up."""
        self._depth -= 1

    def since(self, start: Span) -> Span:
        """Return the place from there to the last token."""
        return Span(self.source, start.start, max(self.last.span.end, start.end))
