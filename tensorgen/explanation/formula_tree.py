"""A formula as a tree, read from its text: for those who lay formulas out.

The text is that of `sum_ranges.py`, whose signs of summation are marked. Where it says
something that is not known here, the tree holds that text as it is: what is printed is
less pretty then, and still right.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from tensorgen.explanation.sum_ranges import (
    CONDITIONS,
    MARKED,
    SIGN,
    SPACE,
    Equation,
    plain,
)
from tensorgen.operators.functions import FUNCTIONS


@dataclass(frozen=True)
class Name:
    """A value, an index or a number by what it is called."""

    text: str


@dataclass(frozen=True)
class Number:
    """A number in digits."""

    text: str


@dataclass(frozen=True)
class Raw:
    """A text that is no formula of ours."""

    text: str


@dataclass(frozen=True)
class Entry:
    """`base[i, j + 1]`."""

    base: Tree
    indices: tuple[Tree, ...]


@dataclass(frozen=True)
class Apply:
    """`function(x, y)`, or over indices, `max_ij(x)`."""

    function: str
    over: str
    arguments: tuple[Tree, ...]


@dataclass(frozen=True)
class Group:
    """`(x)`, a condition in `[]`, or places in `{}`."""

    kind: str
    inside: tuple[Tree, ...]


@dataclass(frozen=True)
class Sign:
    """A sum over one index, from `low` to `high`, of what follows.

    Nothing is added where the conditions `if_` do not hold.
    """

    index: str
    low: Tree
    high: Tree
    body: Tree
    if_: tuple[Tree, ...] = ()


@dataclass(frozen=True)
class Unary:
    """`-x` and `~x`."""

    operator: str
    operand: Tree


@dataclass(frozen=True)
class Binary:
    """`x + y`, and what else stands between two."""

    operator: str
    left: Tree
    right: Tree


Tree = Name | Number | Raw | Entry | Apply | Group | Sign | Unary | Binary

_TOKEN = re.compile(
    rf"(?P<sign>{SIGN.pattern})|(?P<number>\d+(\.\d*)?(e[-+]?\d+)?)"
    r"|(?P<name>[^\W\d]\w*|\?)|(?P<mark>\*\*|//|[<>=!]=|[-+*/@%<>&|~^()\[\]{},])"
    rf"|(?P<space>[\s{SPACE}]+)"
)
_LEVELS = ({"|", "^"}, {"&"}, {"<", ">", "<=", ">=", "==", "!="}, {"+", "-"})
_TIMES = {"*", "/", "//", "%", "@"}
_CLOSING = {"(": ")", "[": "]", "{": "}"}
_OVER = re.compile(r"([^\W\d_]\w*?)_((?:[a-z]\d*)+)")
REDUCTIONS = ("max", "min", "norm", "logsumexp", "softmax", "log_softmax", "prod")
"""Functions whose indices stand in their names: `max_k(x[k])`."""
_DEEPEST = 60


class _UnknownError(Exception):
    """A text is no formula of ours."""


def read(marked: str) -> Tree:
    """Return the tree of a formula."""
    try:
        reader = _Reader(marked)
        found = reader.level(0)
        reader.end()
    except _UnknownError:
        return Raw(plain(marked).replace(SPACE, " "))
    return found


def left_side(told: Equation) -> Tree:
    """Return the tree of what stands left of the sign."""
    name = Name(told.name)
    return Entry(name, tuple(map(read, told.indices))) if told.indices else name


class _Reader:
    def __init__(self, text: str) -> None:
        self.tokens: list[tuple[str, str]] = []
        self.place = self.depth = 0
        at = 0
        while at < len(text):
            found = _TOKEN.match(text, at)
            if found is None:
                raise _UnknownError
            kind = next(
                x for x in ("sign", "number", "name", "mark", "space") if found[x]
            )
            if kind != "space":
                self.tokens.append((kind, found[0]))
            at = found.end()

    @property
    def next(self) -> tuple[str, str]:
        """The token to come."""
        return self.tokens[self.place] if self.place < len(self.tokens) else ("end", "")

    def take(self) -> str:
        """Go past a token."""
        _, text = self.next
        self.place += 1
        return text

    def expect(self, mark: str) -> None:
        """Go past a mark that must stand here."""
        if self.next != ("mark", mark):
            raise _UnknownError
        self.place += 1

    def end(self) -> None:
        """All has been read."""
        if self.next[0] != "end":
            raise _UnknownError

    def level(self, number: int) -> Tree:
        """What operators of a level and of tighter ones hold together."""
        if number == len(_LEVELS):
            return self.product()
        left = self.level(number + 1)
        while self.next[0] == "mark" and self.next[1] in _LEVELS[number]:
            left = Binary(self.take(), left, self.level(number + 1))
        return left

    def product(self) -> Tree:
        """Factors; a sign of summation takes all that follow."""
        left = self.unary()
        while self.next[0] == "mark" and self.next[1] in _TIMES:
            left = Binary(self.take(), left, self.unary())
        return left

    def unary(self) -> Tree:
        """A factor with its signs."""
        self.depth += 1
        if self.depth > _DEEPEST:
            raise _UnknownError
        kind, text = self.next
        if kind == "sign":
            found = self.signs(self.take())
        elif kind == "mark" and text in "-~+":
            operator = self.take()
            # A minus stands before the whole product; a negation binds tightest.
            inside = self.unary() if operator == "~" else self.product()
            found = Unary(operator, inside)
        else:
            found = self.power()
        self.depth -= 1
        return found

    def signs(self, text: str) -> Tree:
        """A sum over some indices, the first one outermost."""
        body = self.product()
        told = CONDITIONS.search(text)
        every = read(f"[{told[1]}]") if told else Group("[", ())
        conditions = every.inside if isinstance(every, Group) else (every,)
        for index, low, high in reversed(MARKED.findall(text)):
            body = Sign(index, read(low), read(high), body, conditions)
            conditions = ()
        return body

    def power(self) -> Tree:
        """What stands alone, and its exponent."""
        base = self.entry()
        if self.next == ("mark", "**"):
            self.take()
            return Binary("**", base, self.unary())
        return base

    def entry(self) -> Tree:
        """A value with its indices or arguments."""
        found = self.atom()
        while True:
            if self.next == ("mark", "["):
                found = Entry(found, self.inside())
            elif self.next == ("mark", "(") and isinstance(found, Name):
                function, over = _split(found.text)
                found = Apply(function, over, self.inside())
            else:
                return found

    def atom(self) -> Tree:
        """A name, a number, or what stands in brackets."""
        kind, text = self.next
        if kind == "number":
            return Number(self.take())
        if kind == "name":
            return Name(self.take())
        if text in _CLOSING:
            return Group(text, self.inside())
        raise _UnknownError

    def inside(self) -> tuple[Tree, ...]:
        """What stands in brackets, with commas between."""
        closing = _CLOSING[self.take()]
        found: list[Tree] = []
        while self.next != ("mark", closing):
            found.append(self.level(0))
            if self.next != ("mark", closing):
                self.expect(",")
        self.take()
        return tuple(found)


def _split(name: str) -> tuple[str, str]:
    """A function, and the indices that it is taken over."""
    found = None if name in FUNCTIONS else _OVER.fullmatch(name)
    if found is not None and found[1] in REDUCTIONS:
        return found[1], found[2]
    return name, ""


def names_in(tree: Tree) -> Iterable[str]:
    """Yield the names in a tree, those of functions left out."""
    match tree:
        case Name(text=text):
            yield text
        case Entry(base=base, indices=own):
            for part in (base, *own):
                yield from names_in(part)
        case Apply(arguments=own) | Group(inside=own):
            for part in own:
                yield from names_in(part)
        case Sign(low=low, high=high, body=body, if_=conditions):
            for part in (low, *conditions, high, body):
                yield from names_in(part)
        case Unary(operand=operand):
            yield from names_in(operand)
        case Binary(left=left, right=right):
            yield from names_in(left)
            yield from names_in(right)
        case Number() | Raw():
            return
