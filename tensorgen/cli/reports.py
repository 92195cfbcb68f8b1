"""Diagnostics for machines: JSON, GitHub's workflow commands, SARIF.

Lines and columns count from 1, and an end column is one past the last character.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import PurePath
from typing import Any

from tensorgen import __version__
from tensorgen.errors import Diagnostic, Span

Told = Sequence[tuple[str, Diagnostic]]
"""Severities ("error", "warning" or "note") and what is reported."""

RULES = {
    "spec": "A fault of a spec",
    "unchecked": "A function that was not checked against calculus",
    "zero": "A derivative that is zero everywhere",
    "dense": "A large derivative without a structure",
    "filled": "A dense derivative for which sparse matrices are filled in",
    "promise": "A promise that would help",
    "forms": "A function whose form depends on sizes",
    "hurried": "A function that takes long to plan, whose first plan is used",
    "matrices": "A product by entries that looks like one of matrices",
}
"""What is reported, by its codes."""

GITHUB = {"error": "error", "warning": "warning", "note": "notice"}
SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def report(form: str, told: Told) -> str:
    """Return the report of a form, with a line break at its end."""
    return FORMS[form](told)


def _json(told: Told) -> str:
    found = [
        {
            "severity": severity,
            "code": one.code,
            "message": one.message,
            "hint": one.hint,
            **_place(one.span),
            "labels": [
                {**_place(span), "text": text} for span, text in one.marks if text
            ],
        }
        for severity, one in told
    ]
    return json.dumps(found, indent=2, ensure_ascii=False) + "\n"


def _github(told: Told) -> str:
    lines = []
    for severity, one in told:
        place = _place(one.span)
        names = {
            "file": place["file"],
            "line": place["line"],
            "endLine": place["end_line"],
            "col": place["column"],
            "endColumn": place["end_column"],
        }
        given = {name: value for name, value in names.items() if value is not None}
        keys = ",".join(f"{k}={_escaped(str(v), ':,')}" for k, v in given.items())
        text = one.message + (f"\nhint: {one.hint}" if one.hint else "")
        lines.append(f"::{GITHUB[severity]} {keys}".rstrip() + f"::{_escaped(text)}\n")
    return "".join(lines)


def _escaped(text: str, more: str = "") -> str:
    """What GitHub takes for an end is escaped as a number."""
    for c in "%\r\n" + more:
        text = text.replace(c, f"%{ord(c):02X}")
    return text


def _sarif(told: Told) -> str:
    results = []
    for severity, one in told:
        text = one.message + (f"\nhint: {one.hint}" if one.hint else "")
        result: dict[str, Any] = {
            "ruleId": one.code,
            "level": severity,
            "message": {"text": text},
        }
        place = _place(one.span)
        if place["file"] is not None:
            region = {
                "startLine": place["line"],
                "startColumn": place["column"],
                "endLine": place["end_line"],
                "endColumn": place["end_column"],
            }
            where = {"artifactLocation": {"uri": PurePath(place["file"]).as_posix()}}
            physical = where if place["line"] is None else {**where, "region": region}
            result["locations"] = [{"physicalLocation": physical}]
        results.append(result)
    rules = [
        {"id": code, "shortDescription": {"text": text}} for code, text in RULES.items()
    ]
    driver = {"name": "tensorgen", "version": __version__, "rules": rules}
    run = {"tool": {"driver": driver}, "results": results, "columnKind": COLUMNS}
    whole = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    return json.dumps(whole, indent=2, ensure_ascii=False) + "\n"


COLUMNS = "unicodeCodePoints"


def _place(span: Span | None) -> dict[str, Any]:
    if span is None:
        return dict.fromkeys(("file", "line", "column", "end_line", "end_column"))
    found: dict[str, Any] = {"file": span.source.name}
    if not span.source.text:
        rest = ("line", "column", "end_line", "end_column")
        return found | dict.fromkeys(rest)
    end = Span(span.source, max(span.end, span.start), span.end)
    return found | {
        "line": span.line,
        "column": span.column,
        "end_line": end.line,
        "end_column": end.column,
    }


FORMS: dict[str, Callable[[Told], str]] = {
    "json": _json,
    "github": _github,
    "sarif": _sarif,
}
