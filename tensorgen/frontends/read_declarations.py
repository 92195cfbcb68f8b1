"""Declarations of variables in words: `symmetric matrix A`, `x is a vector`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import takewhile

from tensorgen.errors import fail, suggest
from tensorgen.frontends.cursor import Token
from tensorgen.frontends.declared import ORDERS, Declared

_ORDER = {word: k for k, one in enumerate(ORDERS) for word in (one, one + "s")}
_ORDER["matrices"] = 2
_PROPERTIES = {
    "symmetric": "symmetric",
    "spd": "spd",
    "definite": "spd",
    "psd": "symmetric",
    "semidefinite": "symmetric",
    "sparse": "sparse",
    "positive": "positive",
    "nonnegative": "nonnegative",
    "nonneg": "nonnegative",
}
"""What a word promises; a matrix that is semidefinite may be singular: symmetric."""
_OF_MATRICES = ("symmetric", "spd", "sparse")
_VERBS = ("is", "are", "be", "let", "where", ":")
_ARTICLES = ("a", "an", "the")


def is_declaration(words: Sequence[Token]) -> bool:
    """Whether the words of a line say what variables are."""
    if not words or {x.kind for x in words} - {"name", ",", ":"}:
        return False
    return len(words) > 1 and any(map(_is_kind, words))


def read_declarations(words: Sequence[Token]) -> Iterator[Declared]:
    """Yield the variables that words declare; raises `SpecError` for others.

    A kind stands before its names or behind them, properties at the kind, or behind
    a name.
    """
    pending: list[Token] = []
    said: list[Token] = []
    for item in _items(words):
        kind = next((word for word in item if _is_kind(word)), None)
        if kind is None and not said:
            pending.append(item[0])
            _properties(item[1:])
        elif kind is None:
            yield _declared(item[0], [*said, *item[1:]])
        elif _is_said(item[0]):
            _complain_of(pending)
            count = next((k for k, x in enumerate(item) if not _is_said(x)), len(item))
            if count == len(item):
                fail(f"'{kind.text}' declares no name", kind.span)
            said = item[:count]
            yield _declared(item[count], [*said, *item[count + 1 :]])
        else:
            for name in (*pending, item[0]):
                yield _declared(name, item[1:])
            pending, said = [], []
    _complain_of(pending)


def _items(words: Sequence[Token]) -> Iterator[list[Token]]:
    """What stands between commas, without verbs and articles."""
    own: list[Token] = []
    for k, word in enumerate(words):
        text = word.text.lower()
        if word.kind == "," or (text == "and" and own):
            if own:
                yield own
            own = []
        elif word.text in _ARTICLES and _is_kind_ahead(words[k + 1 :]):
            continue
        elif text not in _VERBS:
            own.append(word)
    if own:
        yield own


def _is_kind(word: Token) -> bool:
    return word.text.lower() in _ORDER


def _is_kind_ahead(words: Sequence[Token]) -> bool:
    """Whether a kind stands before the next comma, so that `a` is an article."""
    return any(map(_is_kind, takewhile(lambda word: word.kind != ",", words)))


def _is_said(word: Token) -> bool:
    return _is_kind(word) or word.text.lower() in _PROPERTIES


def _complain_of(names: Sequence[Token]) -> None:
    if names:
        hint = "kinds are scalar, vector and matrix, such as: symmetric matrix A"
        fail(f"nothing says what '{names[0].text}' is", names[0].span, hint=hint)


def _properties(words: Sequence[Token]) -> tuple[str, ...]:
    """What words promise, each once."""
    found: dict[str, None] = {}
    for word in words:
        text = word.text.lower()
        if text in _PROPERTIES:
            found[_PROPERTIES[text]] = None
        elif text not in _ORDER:
            near = suggest(text, [*_ORDER, *_PROPERTIES])
            hint = near or "properties are " + ", ".join(_PROPERTIES)
            fail(f"'{word.text}' is no property that is known", word.span, hint=hint)
    return tuple(found)


def _declared(name: Token, said: Sequence[Token]) -> Declared:
    kinds = [word for word in said if _is_kind(word)]
    if len(kinds) != 1:
        fail(f"'{name.text}' is declared to be two things", kinds[1].span)
    order = _ORDER[kinds[0].text.lower()]
    properties = _properties(said)
    for word in said:
        one = _PROPERTIES.get(word.text.lower())
        if one in _OF_MATRICES and order < 2:
            fail(f"only a matrix is {word.text}", word.span)
    return Declared(name.text, order, properties, span=name.span)
