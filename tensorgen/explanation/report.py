"""All that is told of functions as text, on 88 columns."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping
from math import prod

from tensorgen.arrays.cost_line import MOST_TERMS, Amount, leading, powers
from tensorgen.emit.documentation import summary
from tensorgen.emit.kernels import named
from tensorgen.emit.text import equation, escape, paragraph
from tensorgen.explanation.subjects import Explained, Form, Subject
from tensorgen.explanation.sum_ranges import SPACE, Equation
from tensorgen.explanation.told_statements import (
    kernel_rows,
    kernels_of,
    launch_rows,
    lines,
)
from tensorgen.ir.dims import ONE, Dim
from tensorgen.ir.nodes import entries
from tensorgen.operators.matrix_text import written
from tensorgen.prices.thresholds import assumed

_INDENT = "    "


def report(told: Explained) -> str:
    """Return the text of all functions that were asked for."""
    rows = [escape(f"Module {told.spec.module}"), *_doc(told.spec.doc)]
    for subject, is_first in told.in_turn:
        rows += ["", *_subject(subject, told, is_first)]
    return "\n".join(row.rstrip() for row in rows) + "\n"


def _doc(doc: str | None) -> list[str]:
    return [_INDENT + row if row else row for row in paragraph(doc or "") if doc]


def _subject(subject: Subject, told: Explained, first: bool) -> Iterator[str]:
    yield f"== {subject.name}"
    yield summary(subject.function)
    if first:
        yield from _doc(subject.function.doc)
    yield from _titled("Formula", formula_rows(subject))
    yield from _titled("In matrices", matrix_rows(subject))
    yield from _titled("Structure", structure_rows(subject))
    yield from _titled(f"Cost{sizes_title(subject)}", cost_rows(subject))
    yield from _titled("Flops by the order of the chain rule", mode_rows(subject))
    kernels = kernels_of(subject)
    rows: list[str] = []
    for form in subject.forms:
        title = f"Statements, {told.backend}"
        if form.condition:
            title += f", if {form.condition}"
        rows += _titled(title, [line.commented for line in lines(subject, form)], "")
    rows += _titled(f"Launches, {told.backend}", launch_rows(subject, told))
    rows += _titled(f"Kernels, {told.backend}", kernel_rows(kernels, told.backend))
    yield from named("\n".join(rows), kernels).split("\n")


def _titled(title: str, rows: list[str], indent: str = _INDENT) -> Iterator[str]:
    if rows:
        yield ""
        yield f"{title}:"
        yield from (indent + row for text in rows for row in text.split("\n"))


def formula_rows(subject: Subject) -> list[str]:
    """The formulas in index notation, each with the ranges of its indices."""
    found = [row for e in subject.equations for row in equation_rows(e)]
    for name in subject.unreadable:
        found.append(f"{name}: too long to be shown; see the statements")
    return found


def equation_rows(told: Equation) -> list[str]:
    """An equation on lines that fit."""
    rows = [row.replace(SPACE, " ").rstrip() for row in equation(told.text, "")]
    return rows + [f"{_INDENT}for {told.ranges}"] * bool(told.dims)


def matrix_rows(subject: Subject) -> list[str]:
    """The formulas in matrix notation, of those that have one."""
    texts = (f"{name} = {written(x)[0]}" for name, x in subject.in_matrices.items())
    return [row for text in texts for row in equation(text, "")]


def structure_rows(subject: Subject) -> list[str]:
    """What each derivative object is, and how many numbers it stores."""
    planned, rows = subject.planned, []
    holders = [h for f in subject.function.alone for h in f.holders]
    for k, holder in zip(planned.tensors, holders, strict=False):
        whole = planned.plan.formulas[k].dims
        name = planned.root_names[k]
        words = holder.words or holder.structure
        first = f"{name}: {words}"
        text = f"{first}: {holder.structure}" if holder.words else first
        if holder.words and len(text) > 80:  # the equation has lines of its own
            rows += [*textwrap.wrap(f"{first}:", 80), *equation(holder.structure)]
        else:
            rows += equation(text, "")
        stored = entries(planned.plan.parts[k])
        numbers = prod(whole, start=ONE)
        rows.append(f"{_INDENT}stores {amount(stored, subject.hints)}")
        if stored != numbers:
            rows[-1] += f" of {amount(numbers, subject.hints)}"
        rows[-1] += " numbers"
    return rows


def cost_rows(subject: Subject) -> list[str]:
    """The arithmetic and the peak memory of each form."""
    return [row for form in subject.forms for row in _costs(subject, form)]


def _costs(subject: Subject, form: Form) -> list[str]:
    flops, numbers = subject.costs(form)
    when = f"if {form.condition}: " if form.condition else ""
    kept = form.function.cost.partition(", including ")[2]
    memory = f"peak memory {amount(numbers, subject.hints)} numbers"
    memory += f", including {kept}" * bool(kept)
    return [f"{when}{amount(flops, subject.hints)} flops", *textwrap.wrap(memory, 84)]


def amount(dim: Dim, sizes: Mapping[str, int]) -> str:
    """A polynomial, or its largest terms, and what it comes to."""
    number = f"{int(Amount.of(dim, sizes)):,}"
    if dim.constant is not None:
        return number
    short = dim if len(dim.terms) <= MOST_TERMS else leading(dim, sizes)
    return f"{powers(short)}{' + ...' * (short != dim)} = {number}"


def mode_rows(subject: Subject) -> list[str]:
    """The modelled arithmetic of each order of the chain rule."""
    return [
        f"{mode:14s}{'cannot be computed' if flops is None else f'{flops:18,.0f}'}"
        for mode, flops in subject.modes
    ]


def sizes_title(subject: Subject) -> str:
    """The sizes that amounts are told for."""
    form = subject.forms[0]
    dims = [
        *subject.costs(form),
        *(d for p in subject.planned.parameters for d in p.dims),
    ]
    symbols = dict.fromkeys(x for dim in dims for x in dim.sources)
    sizes = assumed(subject.hints, sorted(symbols))
    told = [f"{name} = {size:,}" for name, size in sizes.items()]
    return f" at {', '.join(told)}" if told else ""
