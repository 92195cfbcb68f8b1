"""All that is told of functions as one page, which asks for nothing from elsewhere.

A value by name lights up wherever it stands while one points at it: in formulas, in
statements, in the picture. Rules of style do that; there is no script.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape as escaped
from textwrap import dedent

from tensorgen.emit.documentation import summary
from tensorgen.emit.kernels import named
from tensorgen.emit.text import escape
from tensorgen.explanation.dag import dag_of
from tensorgen.explanation.drawing import MOST_VERTICES, picture
from tensorgen.explanation.formula_tree import Name
from tensorgen.explanation.latex import aligned
from tensorgen.explanation.mathml import displayed, equation_mathml, mathml
from tensorgen.explanation.matrix_tree import matrix_tree
from tensorgen.explanation.report import (
    cost_rows,
    matrix_rows,
    sizes_title,
    structure_rows,
)
from tensorgen.explanation.style import STYLE, lights
from tensorgen.explanation.subjects import Explained, Form, Subject
from tensorgen.explanation.sum_ranges import Equation
from tensorgen.explanation.told_statements import (
    kernel_rows,
    kernels_of,
    launch_rows,
    lines,
)
from tensorgen.explanation.written_files import MARK

_WORD = re.compile(r"[^\W\d]\w*")


def page(told: Explained) -> str:
    """Return the page of all functions that were asked for."""
    found, most = sections(told)
    title = escaped(f"{told.spec.module}, explained")
    links = "".join(
        f'<a href="#f{place}"><code>{escaped(x.name)}</code></a>'
        for place, x in enumerate(told.subjects)
    )
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    return (
        "\n".join(
            [
                "<!DOCTYPE html>",
                MARK,
                '<html lang="en">',
                "<head>",
                '<meta charset="utf-8">',
                f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
                '<meta name="viewport" content="width=device-width, initial-scale=1">',
                f"<title>{title}</title>",
                f"<style>\n{STYLE}\n{lights(most)}\n</style>",
                "</head>",
                "<body>",
                f"<header><h1>{escaped(told.spec.module)}</h1>",
                _paragraph(told.spec.doc),
                f"<nav>{links}</nav></header>",
                "<main>",
                *found,
                "</main>",
                "</body>",
                "</html>",
            ]
        )
        + "\n"
    )


def sections(told: Explained) -> tuple[list[str], int]:
    """Return a section a function, and how many values light up in one at the most."""
    found, most = [], 0
    for place, (subject, is_first) in enumerate(told.in_turn):
        parts = _parts(subject)
        most = max(most, len(parts))
        found.append(_section(subject, told, place, parts, is_first))
    return found, most


def _parts(subject: Subject) -> dict[str, str]:
    """The classes of the values that are lit up together, by name."""
    names = [e.name for e in subject.equations]
    names += [p.name for p in subject.planned.parameters]
    return {name: f"p{k}" for k, name in enumerate(dict.fromkeys(names))}


def _paragraph(doc: str | None) -> str:
    text = escape(doc or "").replace("\\\\", "\\").strip()
    return f"<p>{escaped(text)}</p>" if text else ""


def _coded(words: str) -> str:
    """Words with names between backticks."""
    return re.sub("`([^`]*)`", r"<code>\1</code>", escaped(words))


def _section(
    subject: Subject, told: Explained, place: int, parts: Mapping[str, str], first: bool
) -> str:
    rows = [
        f'<section id="f{place}">',
        f"<h2><code>{escaped(subject.name)}</code></h2>",
        f"<p>{_coded(summary(subject.function))}</p>",
        _paragraph(subject.function.doc) if first else "",
        '<div class="both"><div>',
        *_matrices(subject, parts),
        "<h3>Formula</h3>",
        _block(subject, False, [_equation(e, parts) for e in subject.equations]),
        *(f"<p>{escaped(x)}: too long to be shown</p>" for x in subject.unreadable),
        *_texts("Structure", structure_rows(subject)),
        *_texts(f"Cost{sizes_title(subject)}", cost_rows(subject)),
        "<h3>Flops by the order of the chain rule</h3>",
        _modes(subject),
        "</div><div>",
    ]
    for form in subject.forms:
        when = f", if {form.condition}" if form.condition else ""
        title = f"Statements, {told.backend}{when}"
        rows.append(f"<h3>{escaped(title)}</h3>")
        statements = _statements(subject, form, parts)
        rows.append(f"<pre {_scrolled(title)}>{statements}</pre>")
    kernels = kernels_of(subject)
    rows += _texts(f"Launches, {told.backend}", launch_rows(subject, told))
    rows += _texts(f"Kernels, {told.backend}", kernel_rows(kernels, told.backend))
    rows += [*_drawing(subject, parts), "</div></div>", "</section>"]
    return named("\n".join(row for row in rows if row), kernels)


def _matrices(subject: Subject, parts: Mapping[str, str]) -> list[str]:
    """The formulas in matrix notation, typeset, and as NumPy has them."""
    told = subject.in_matrices
    rows = []
    for name, tree in zip(told, map(matrix_tree, told.values()), strict=True):
        sides = mathml(Name(name), parts), mathml(tree, parts)
        rows.append(_formula(name, displayed("<mo>=</mo>".join(sides))))
    title, *texts = _texts("In matrices", matrix_rows(subject)) or [""]
    return [title, _block(subject, True, rows), *texts] if rows else []


def _block(subject: Subject, in_matrices: bool, rows: Sequence[str]) -> str:
    """Equations with their LaTeX, which `tensorgen play` offers to copy."""
    text = escaped(aligned(subject, in_matrices))
    return "\n".join([f'<div data-latex="{text}">', *rows, "</div>"]) if rows else ""


def _equation(told: Equation, parts: Mapping[str, str]) -> str:
    ranges = escaped(told.ranges.replace("<=", "\N{LESS-THAN OR EQUAL TO}"))
    ranges = f"<small>for {ranges}</small>" if told.dims else ""
    return _formula(told.name, equation_mathml(told, parts) + ranges)


def _formula(name: str, math: str) -> str:
    return f'<div class="eq wide" {_scrolled(f"Formula of {name}")}>{math}</div>'


def _texts(title: str, rows: Iterable[str]) -> list[str]:
    text = escaped("\n".join(rows))
    if not text:
        return []
    return [f"<h3>{escaped(title)}</h3>", f"<pre {_scrolled(title)}>{text}</pre>"]


def _scrolled(title: str) -> str:
    """What lets keys reach, and scroll, a part that may be wider than its column."""
    return f'tabindex="0" role="region" aria-label="{escaped(title)}"'


def _modes(subject: Subject) -> str:
    rows = (
        f"<tr><td>{escaped(mode)}</td>"
        f"<td>{'cannot be computed' if flops is None else f'{flops:,.0f}'}</td></tr>"
        for mode, flops in subject.modes
    )
    return f"<table>{''.join(rows)}</table>"


def _statements(subject: Subject, form: Form, parts: Mapping[str, str]) -> str:
    """The statements; a name in them is lit up with what it names."""
    lefts = {e.left: e.name for e in subject.equations}

    def word(found: re.Match[str]) -> str:
        part = parts.get(found[0])
        text = escaped(found[0])
        return f'<span class="{part}">{text}</span>' if part else text

    rows = []
    for line in lines(subject, form):
        names = (lefts.get(x.removeprefix("part of "), "") for x in line.computes)
        classes = " ".join("s" + parts[x][1:] for x in names if x in parts)
        own = dedent(line.text)
        at, pieces = 0, []
        for found in _WORD.finditer(own):
            pieces += [escaped(own[at : found.start()]), word(found)]
            at = found.end()
        pieces.append(escaped(own[at:]))
        text = "".join(pieces)
        rows.append(f'<span class="{classes}">{text}</span>' if classes else text)
    return "\n".join(rows)


def _drawing(subject: Subject, parts: Mapping[str, str]) -> list[str]:
    dag = dag_of(subject)
    name = "The graph of computations"
    title = f"<h3>{name}</h3>"
    if len(dag.vertices) > MOST_VERTICES:
        return [title, f"<p>{len(dag.vertices)} values: tensorgen explain --dot</p>"]
    return [title, f'<div class="wide" {_scrolled(name)}>{picture(dag, parts)}</div>']
