"""A module as a notebook shows it: its functions with what they take and cost."""

from __future__ import annotations

import inspect
import re
from html import escape
from types import ModuleType

_FACTS = ("Arguments", "Structure", "Cost")
_FACT = re.compile(rf"^({'|'.join(_FACTS)}):(.*(?:\n {{4,}}.+)*)", re.MULTILINE)


def table(module: ModuleType) -> str:
    """Return what a generated module offers as HTML, in the order of its text."""
    offered = {x: made for x, made in vars(module).items() if x in module.__all__}
    doc = inspect.getdoc(module) or ""
    first = doc.split("\n\n")[0]
    head = "".join(
        f'<th style="text-align: left">{x}</th>'
        for x in ("function", "takes", "structure", "cost")
    )
    rows = "".join(_row(*pair) for pair in offered.items() if not _is_tuple(pair[1]))
    whole = f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody>"
    return f"<p>{escape(first)}</p><table>{whole}</table>"


def _row(name: str, made: object) -> str:
    doc = inspect.getdoc(made) or ""
    facts = {key: _rows(text) for key, text in _FACT.findall(doc)}
    cells = [
        f'<code title="{escape(doc)}">{escape(name + _signature(made))}</code>',
        *("<br>".join(map(escape, facts.get(key, []))) for key in _FACTS),
    ]
    inside = "".join(f'<td style="text-align: left">{cell}</td>' for cell in cells)
    return f"<tr>{inside}</tr>"


def _rows(text: str) -> list[str]:
    """The rows of a fact; one that is indented deeper goes on with the one before."""
    found: list[str] = []
    for row in text.strip("\n").split("\n"):
        if found and row.startswith(" " * 8):
            found[-1] += " " + row.strip()
        else:
            found.append(row.strip())
    return [row for row in found if row]


def _is_tuple(made: object) -> bool:
    """Whether it is a class of results, whose fields functions list."""
    return isinstance(made, type) and issubclass(made, tuple)


def _signature(made: object) -> str:
    """The names of the arguments, and the defaults."""
    if not callable(made):
        return ""
    texts, keyword = [], False
    for parameter in inspect.signature(made).parameters.values():
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY and not keyword:
            texts.append("*")
            keyword = True
        bare = parameter.replace(annotation=inspect.Parameter.empty)
        texts.append(str(bare))
    return f"({', '.join(texts)})"
