r"""Limits of sums and subscripts in LaTeX: affine forms of indices and sizes."""

from __future__ import annotations

from collections.abc import Sequence

from tensorgen.errors import Span, fail
from tensorgen.frontends.cursor import Cursor, Token
from tensorgen.frontends.latex_symbols import Subscript, Symbols
from tensorgen.frontends.latex_tokens import GREEK
from tensorgen.ir.dims import Dim

Limits = tuple[Dim, Dim] | None


def read_below(cursor: Cursor) -> Subscript:
    """Read what stands behind `_`: places between commas, or side by side."""
    words = _group(cursor)
    span = Span(cursor.source, words[0].span.start, words[-1].span.end)
    text = "".join(x.text.strip("\\") for x in words if x.kind not in ("{", "}"))
    if all(x.kind == "letter" for x in words):
        return Subscript(tuple(Dim.symbol(x.text) for x in words), text, span)
    if any(x.kind not in ("letter", "number", "+", "-", ",") for x in words):
        return Subscript(None, text, span)
    places = [read_place(part, span) for part in _split(words)]
    return Subscript(tuple(places), text, span)


def read_limits(
    cursor: Cursor, start: Token, symbols: Symbols, outer: Sequence[str]
) -> list[tuple[str, Limits]]:
    """Read the indices of a sum with their limits, in places that count from 0.

    Those of `outer` sums may stand in limits.

    Raises `SpecError` where limits are no affine forms.
    """
    below: list[Token] | None = None
    above: list[Token] | None = None
    while sign := cursor.take("_", "^"):
        words = _group(cursor)
        below, above = (words, above) if sign.kind == "_" else (below, words)
    if below is None:
        hint = rf"say over which index: {start.text}_{{i=1}}^n"
        fail(f"{start.text} has no index", start.span, hint=hint)
    span = Span(cursor.source, below[0].span.start, below[-1].span.end)
    at = next((k for k, x in enumerate(below) if x.kind == "="), None)
    left = below if at is None else below[:at]
    if any(x.kind not in ("letter", ",") for x in left):
        hint = r"limits are written \sum_{i=1}^{n}, or \sum_{i, j}"
        wrong = next(x for x in left if x.kind not in ("letter", ","))
        fail(f"'{wrong.text}' has no meaning below a sum", wrong.span, hint=hint)
    letters = [x for x in left if x.kind == "letter"]
    names = [x.text for x in letters]
    if not names:
        fail("the limits name no index", span, hint=r"\sum_{i=1}^{n}")
    for k, word in enumerate(letters):
        if word.text in (*outer, *names[:k]):
            fail(f"the index {word.text} is bound already", word.span)
        if word.text in symbols.sizes:
            fail(f"{word.text} is a size elsewhere, and an index here", word.span)
    if at is None:
        if above is not None:
            fail("there is an upper limit without a lower one", span)
        return [(name, None) for name in names]
    if above is None:
        hint = rf"{start.text}_{{{names[0]}=1}}^n"
        fail("there is a lower limit without an upper one", span, hint=hint)
    first = read_place(below[at + 1 :], span)
    ends = Span(cursor.source, above[0].span.start, above[-1].span.end)
    last = read_place(above, ends)
    if first.constant == 0:
        symbols.first = 0
    found = [x for x in (*last.symbols, *first.symbols) if x not in outer]
    symbols.sizes |= dict.fromkeys(found)
    start_, last_ = (symbols.from_zero(x, outer) for x in (first, last))
    count = (last_ + 1 - start_).constant
    if count is not None and count < 0:
        fail("the last place is before the first", span)
    return [(name, (start_, last_ + 1)) for name in names]


def _group(cursor: Cursor) -> list[Token]:
    """The words of a group in braces, or the one word in place of it."""
    opened = cursor.take("{")
    if opened is None:
        if cursor.next.kind == "end":
            cursor.unexpected("a subscript")
        word = cursor.next
        if word.kind == "number" and len(word.text) > 1:
            hint = f"in braces it is one: {{{word.text}}}"
            fail("LaTeX takes the first digit alone", word.span, hint=hint)
        return [cursor.advance()]
    words: list[Token] = []
    depth = 0
    while depth or cursor.next.kind != "}":
        if cursor.next.kind == "end":
            cursor.expect("}", opened)
        depth += {"{": 1, "}": -1}.get(cursor.next.kind, 0)
        words.append(cursor.advance())
    cursor.advance()
    if not words:
        fail("there is nothing in the braces", opened.span)
    return words


def _split(words: list[Token]) -> list[list[Token]]:
    parts: list[list[Token]] = [[]]
    for word in words:
        if word.kind == ",":
            parts.append([])
        else:
            parts[-1].append(word)
    return parts


def read_place(words: list[Token], span: Span) -> Dim:
    """An affine form: `n`, `2n - 1`, `i + k`."""
    if not words:
        fail("a place is missing", span)
    found, sign, factor = Dim(), 1, Dim.of(1)
    has_value = False
    for word in words:
        if word.kind in ("+", "-"):
            if has_value:
                found, factor, has_value = found + factor * sign, Dim.of(1), False
                sign = 1
            sign = -sign if word.kind == "-" else sign
        elif word.kind == "number" and word.text.isdigit():
            factor, has_value = factor * int(word.text), True
        elif word.kind == "letter" or word.kind in GREEK:
            name = GREEK.get(word.kind, word.text)
            factor, has_value = factor * Dim.symbol(name), True
        elif word.kind not in ("{", "}"):
            hint = "places are sums of indices, sizes and whole numbers"
            fail(f"'{word.text}' stands in a place", word.span, hint=hint)
    if not has_value:
        fail("a place ends with a sign", span)
    found = found + factor * sign
    if found.degree > 1:
        fail("a place has products of sizes or indices", span)
    return found
