"""How what a program writes into a spec is spelled in YAML."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence

_PLAIN = re.compile(r"([\w(.]|-\S)(?!.*(: | #|:$))", re.ASCII)
_WORD = re.compile(r"[A-Za-z_][\w.]*", re.ASCII)

Flow = str | int | float | Sequence["Flow"] | Mapping[str, "Flow"]


def is_plain(text: str) -> bool:
    """Whether YAML takes a line as the same text without quotes."""
    return _PLAIN.match(text) is not None and text == text.strip()


def quoted(text: str) -> str:
    """Return a text as a scalar on one line, in quotes where it needs them.

    Line breaks are spaces then.
    """
    line = " ".join(text.split())
    return line if is_plain(line) and line.isprintable() else json.dumps(line)


def flow(value: Flow) -> str:
    """Return words, numbers, lists and mappings as YAML on one line."""
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, str):
        return value if _WORD.fullmatch(value) else json.dumps(value)
    if isinstance(value, Mapping):
        inside = ", ".join(f"{flow(key)}: {flow(x)}" for key, x in value.items())
        return f"{{{inside}}}"
    return f"[{', '.join(map(flow, value))}]"
