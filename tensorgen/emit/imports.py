"""Import statements of generated modules: of every name that their code uses."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Mapping
from functools import lru_cache

from tensorgen.emit.backends import Backend
from tensorgen.emit.layout import parsed

_TYPES = ("Any", "ClassVar", "Generic", "NamedTuple", "Self", "TypeAlias", "TypeVar")
_STANDARD = {
    "copy": "from copy import copy",
    "inspect": "import inspect",
    "math": "import math",
    **{
        name: f"from collections.abc import {name}"
        for name in ("Callable", "Iterable", "Sequence")
    },
    **{
        name: f"from functools import {name}"
        for name in ("cached_property", "lru_cache", "partial")
    },
    "accumulate": "from itertools import accumulate",
    "SimpleNamespace": "from types import SimpleNamespace",
    **{name: f"from typing import {name}" for name in _TYPES},
}


def imports(code: str, backend: Backend, support: Mapping[str, Collection[str]]) -> str:
    """Return the statements for what `code` uses and does not define.

    `support` says by the names of modules beside it what they define.
    """
    used = _used(code)
    beside = {
        name: f"from {module} import {name}"
        for module, names in support.items()
        for name in sorted(names, key=rank)
    }
    library = {name: s for name, s in backend.library.items() if name not in beside}
    blocks = (_STANDARD, library, beside)
    texts = (_block(statements, used) for statements in blocks)
    return "\n\n".join(text for text in texts if text)


def _used(code: str) -> set[str]:
    """The names that code uses or binds.

    Most definitions are those of the frame, which modules have in common: each is
    read once. Where an empty line within a text cuts it, all is read at once.
    """
    try:
        return set().union(*map(_names, re.split(r"\n\n+(?=\S)", code)))
    except SyntaxError:
        return _named(parsed(code))


@lru_cache(maxsize=1 << 10)
def _names(code: str) -> set[str]:
    return _named(ast.parse(code))


def _named(tree: ast.Module) -> set[str]:
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}


def defined(code: str) -> list[str]:
    """Return the names that code defines at its margin, in order."""
    found: list[str] = []
    for node in parsed(code).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.append(node.name)
        elif isinstance(node, ast.Assign):
            found += [x.id for x in node.targets if isinstance(x, ast.Name)]
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            found.append(node.target.id)
    return found


def rank(name: str) -> tuple[bool, str]:
    """Where a name stands among those of one statement: classes come first."""
    return not name[0].isupper(), name.lower()


def listed(name: str) -> tuple[int, list[tuple[int, str]]]:
    """Where a name stands in `__all__`: constants, classes, others; numbers by size."""
    kind = 0 if len(name) > 1 and name.isupper() else 1 if name[0].isupper() else 2
    parts = re.findall(r"\d+|\D+", name)
    return kind, [(int(x), "") if x.isdigit() else (-1, x) for x in parts]


def _block(statements: Mapping[str, str], used: Collection[str]) -> str:
    """The statements of the names that are used, one for each module."""
    heads: dict[str, list[str]] = {}
    for name, statement in statements.items():
        if name in used:
            head, _, what = statement.partition(" import ")
            heads.setdefault(head, []).append(what)
    return "\n".join(
        f"{head} import {', '.join(names)}" if names != [""] else head
        for head, names in heads.items()
    )
