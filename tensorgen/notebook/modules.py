"""A module as a notebook shows it: its functions with what they take and cost."""

from __future__ import annotations

import inspect
import re
from html import escape
from types import FunctionType, ModuleType

_FACT = re.compile(r"^(Arguments|Structure|Cost): *(.+(?:\n {8,}.+)*)", re.MULTILINE)
_KEYWORD = (inspect.Parameter.KEYWORD_ONLY,)


def table(module: ModuleType) -> str:
    """Return what a generated module offers as HTML, in the order of its text."""
    names = [name for name in vars(module) if name in module.__all__]
    doc = inspect.getdoc(module) or ""
    first = doc.split("\n\n")[0].strip()
    head = "".join(
        f'<th style="text-align: left">{x}</th>'
        for x in ("function", "takes", "structure", "cost")
    )
    rows = "".join(_row(name, vars(module)[name]) for name in names)
    told = f"<p>{escape(first)}</p>" if first and ":" not in first[-1:] else ""
    return f"{told}<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def _row(name: str, made: object) -> str:
    doc = inspect.getdoc(made) or ""
    facts = {key: " ".join(text.split()) for key, text in _FACT.findall(doc)}
    cells = [
        f'<code title="{escape(doc)}">{escape(name + _signature(made))}</code>',
        escape(facts.get("Arguments", "")),
        escape(facts.get("Structure", "")),
        escape(facts.get("Cost", "")),
    ]
    inside = "".join(f'<td style="text-align: left">{cell}</td>' for cell in cells)
    return f"<tr>{inside}</tr>"


def _signature(made: object) -> str:
    """The names of a function's arguments, and the defaults."""
    if not isinstance(made, FunctionType):
        return ""
    texts, keyword = [], False
    for parameter in inspect.signature(made).parameters.values():
        if parameter.kind in _KEYWORD and not keyword:
            texts.append("*")
            keyword = True
        bare = parameter.replace(annotation=inspect.Parameter.empty)
        texts.append(str(bare))
    return f"({', '.join(texts)})"
