"""What is said of the name under the pointer, as Markdown.

Of a function: formulas, structure and cost of all that is emitted for it; of inputs,
local names and dims: shape and meaning; of a function of the language what `tensorgen
functions` tells of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from tensorgen.editor.faults import read
from tensorgen.emit.documentation import summary
from tensorgen.errors import Source, Span, SpecError
from tensorgen.explanation.function_reference import entries, page
from tensorgen.explanation.report import (
    cost_rows,
    formula_rows,
    matrix_rows,
    sizes_title,
    structure_rows,
)
from tensorgen.explanation.subjects import Subject, explained
from tensorgen.ir.dims import Dim, tuple_text
from tensorgen.lang import ElaboratedFunction, Program
from tensorgen.prices.thresholds import UNHINTED
from tensorgen.spec.model import InputSpec

_WORD = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True)
class Told:
    """Markdown, and the characters of the text that it is about."""

    markdown: str
    span: Span


def word_at(source: Source, offset: int) -> Span | None:
    """Return the word at an offset of a spec, if it is in no comment."""
    start = source.text.rfind("\n", 0, offset) + 1
    end = source.text.find("\n", offset)
    line = source.text[start : end if end >= 0 else None].partition(" #")[0]
    for found in _WORD.finditer(line):
        span = Span(source, start + found.start(), start + found.end())
        if span.start <= offset <= span.end:
            return span
    return None


def told(source: Source, offset: int) -> Told | None:
    """Return what is said of the name at an offset of a spec, if there is any."""
    span = word_at(source, offset)
    if span is None:
        return None
    text = _of_name(source, source.text[span.start : span.end], span)
    return None if text is None else Told(text, span)


def _of_name(source: Source, name: str, span: Span) -> str | None:
    program = read(source)
    if isinstance(program, SpecError):
        return _of_language(name)
    here = _around(program, span.start)
    if here is not None:
        for local in here.locals:
            if local.name == name:
                return _local(local.left, local.formula, local.node.dims)
    for given in program.spec.inputs:
        if given.name == name:
            return input_told(given)
    for unknown in program.spec.unknowns:
        if unknown.name == name:
            return input_told(unknown.given)
    if any(f.spec.name == name for f in program.functions):
        return _function(source, name)
    for definition in program.spec.definitions:
        if definition.name == name:
            return _fenced(f"{definition.name_text.value} = {definition.body.value}")
    hints = dict(program.spec.hints)
    if name in hints:
        hint = hints[name]
        size = f"{UNHINTED:,}, for want of a hint" if hint is None else f"{hint:,}"
        return f"A dim, taken for {size} where costs are compared."
    return _of_language(name)


def _around(program: Program, offset: int) -> ElaboratedFunction | None:
    """The function in whose text an offset lies: the last that begins before it."""
    starts = {f.spec.name_text.span().start: f for f in program.functions}
    before = [start for start in starts if start <= offset]
    return starts[max(before)] if before else None


def _local(left: str, formula: str, dims: tuple[Dim, ...]) -> str:
    shape = f"shape {tuple_text(dims)}" if dims else "a number"
    return f"{_fenced(f'{left} = {formula}')}\n\n{shape}"


def input_told(given: InputSpec) -> str:
    """Return what is said of an input: its shape, its promises, its doc."""
    shape = f"shape {tuple_text(given.shape)}" if given.shape else "a number"
    words = [shape, *sorted(given.properties), *["sparse"] * given.sparse]
    if given.index is not None:
        words.append(f"integers from 0 to {given.index - 1}")
    if given.default is not None:
        words.append(f"by default {float(given.default):g}")
    if given.batch is not None:
        words.append(f"a sample a row, {given.batch} in all")
    lines = [f"**{given.name}**: {', '.join(words)}"]
    return "\n\n".join([*lines, given.doc] if given.doc else lines)


@lru_cache(maxsize=64)
def _function(source: Source, name: str) -> str:
    """All that is emitted for a function of the spec."""
    try:
        found = explained(source, name, allow_external=True, in_all_modes=False)
    except SpecError as error:  # of what elaboration cannot know yet
        return _fenced(error.diagnostics[0].message)
    return "\n\n".join(part for x in found.subjects for part in _subject(x))


def _subject(subject: Subject) -> Iterator[str]:
    yield f"**{subject.name}**: {summary(subject.function)}"
    rows = [*formula_rows(subject), *matrix_rows(subject)]
    if rows:
        yield _fenced("\n".join(rows))
    if structure := structure_rows(subject):
        yield _fenced("\n".join(structure))
    cost = "; ".join(cost_rows(subject))
    yield f"{cost[:1].upper()}{cost[1:]}{sizes_title(subject)}."


def _of_language(name: str) -> str | None:
    for entry in entries():
        if entry.name == name:
            return _fenced(page(entry))
    return None


def _fenced(text: str) -> str:
    return f"```text\n{text.rstrip()}\n```"
