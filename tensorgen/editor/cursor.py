"""Where in a spec somebody types: the keys around, though the text may not be whole.

A text that ends in the middle of a list is no YAML, and an expression that does takes
the lines below for its own. So a word is put where the next character would go, with
what closes it: the first ending with which the text can be read tells where it stands.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tensorgen.errors import Faults, Source, SpecError
from tensorgen.spec.yaml_nodes import Listing, Mapping, Node, Scalar
from tensorgen.spec.yaml_tree import read_tree

_WORD = "x"
_ENDINGS = ("", ":", "}", "]", "]}", "}}", '"', '"}', "'", "'}")
_CLOSING = {"(": ")", "[": "]", "{": "}"}
_BEFORE = re.compile(r"(?:(?P<of>[A-Za-z]\w*)\.)?(?P<word>(?:[A-Za-z]\w*)?)\Z")


@dataclass(frozen=True, slots=True)
class Cursor:
    """A place where a word is typed that starts at `start`, behind `of` and a dot.

    The `path` has the keys around it in `source`, a text that can be read, and `[]` for
    an item of a list. At a key there are `others` beside it; a value that `opens` the
    lines below its key may become one as well.
    """

    source: Source
    start: int
    of: str
    path: tuple[str, ...]
    is_key: bool
    opens: bool
    others: tuple[str, ...]


def cursor(source: Source, offset: int) -> Cursor | None:
    """Return where an offset is, None where the text cannot be read around it."""
    text = source.text
    line = text.rfind("\n", 0, offset) + 1
    before = _BEFORE.search(text, line, offset)
    assert before is not None
    if _is_comment(text[line : before.start()]):
        return None
    end = text.find("\n", offset)
    closing = _closing(text[line:offset], text[offset : end if end >= 0 else None])
    for ending in (closing, *_ENDINGS):
        whole = Source(source.name, text[:offset] + _WORD + ending + text[offset:])
        try:
            root = read_tree(whole, Faults())
        except SpecError:
            continue
        for path, node, is_key, others in scalars(root):
            if node.span.start <= offset < node.span.end:
                opens = not is_key and not text[line : before.start()].strip()
                opens = opens and not node.style and node.span.start >= line
                start, of = before.start("word"), before["of"] or ""
                return Cursor(whole, start, of, path, is_key, opens, others)
    return None


def _closing(before: str, behind: str) -> str:
    """What closes the brackets that a line opens before a place, and not behind it."""
    opened: list[str] = []
    for char in before + behind:
        if char in _CLOSING:
            opened.append(_CLOSING[char])
        elif opened and char == opened[-1]:
            opened.pop()
    return "".join(reversed(opened))


def _is_comment(line: str) -> bool:
    return re.search(r"(?:^|\s)#", line) is not None


def scalars(
    node: Node, path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], Scalar, bool, tuple[str, ...]]]:
    """Yield each text with the keys around it, whether it is one, and those beside."""
    match node:
        case Scalar():
            yield path, node, False, ()
        case Listing():
            for item in node.items:
                yield from scalars(item, (*path, "[]"))
        case Mapping():
            keys = [key for key, _ in node.pairs if isinstance(key, Scalar)]
            for key, value in node.pairs:
                if isinstance(key, Scalar):
                    others = (x.text.value for x in keys if x is not key)
                    yield path, key, True, tuple(others)
                    yield from scalars(value, (*path, key.text.value.strip()))
