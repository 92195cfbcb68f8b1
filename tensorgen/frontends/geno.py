"""GENO's model files: parameters, variables, an objective, and constraints.

    parameters
      Matrix K symmetric
      Scalar c
      Vector y
    variables
      Vector a
    min
      0.5*(a.*y)'*K*(a.*y) - sum(a)
    st
      a >= 0
      a <= c
      y'*a == 0

(Laue, Mitterreiter and Giesen 2019, GENO -- GENeric Optimization.) What compares one
variable with data bounds it; all else becomes a function with limits.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from tensorgen.errors import Source, fail, suggest
from tensorgen.frontends.cursor import Cursor, Token
from tensorgen.frontends.declared import Declared
from tensorgen.frontends.formula import Comparison, Formula, names_in
from tensorgen.frontends.matlab_syntax import MatlabParser, tokens
from tensorgen.frontends.matrixcalculus import declare
from tensorgen.frontends.read_declarations import is_declaration
from tensorgen.frontends.translation import Translation
from tensorgen.frontends.write_spec import Asked, Constraint, Model, write_spec

Section = Literal["parameters", "variables", "min", "max", "st"]
SECTIONS: Mapping[str, Section] = {
    **{"parameters": "parameters", "parameter": "parameters"},
    **{"variables": "variables", "variable": "variables"},
    **{"min": "min", "minimize": "min", "max": "max", "maximize": "max"},
    **{"st": "st", "s.t.": "st", "subject": "st"},
}
_COMPARISONS: Mapping[str, Comparison] = {
    **{"<=": "<=", ">=": ">=", "==": "==", "=": "==", "<": "<=", ">": ">="}
}


@dataclass(frozen=True)
class _Part:
    """A section: the word that begins it, and the words of its lines."""

    section: Section
    head: Token
    lines: list[list[Token]]

    @property
    def words(self) -> list[Token]:
        return [word for line in self.lines for word in line]


def read_geno(source: Source, asked: Asked) -> Translation:
    """Return the spec of a model file of GENO's.

    Raises `SpecError` at what cannot be read, and where shapes do not fit.
    """
    parts = _parts(source)
    declared: dict[str, Declared] = {}
    variables: list[str] = []
    for part in [x for k in ("variables", "parameters") for x in parts.get(k, [])]:
        before = {*declared}
        for line in part.lines:
            if not is_declaration(line):
                hint = "a declaration is a kind and a name, such as Vector x"
                message = f"'{line[0].text}' declares nothing"
                fail(message, line[0].span, hint=hint)
            declare(line, declared)
        if part.section == "variables":
            variables += [name for name in declared if name not in before]
    goals = [*parts.get("min", []), *parts.get("max", [])]
    if len(goals) != 1:
        span = goals[1].head.span if goals else Cursor([], source, 0).next.span
        many = "there is more than one objective" if goals else "there is no objective"
        fail(many, span, hint="a model has one section min or max")
    if not variables:
        hint = "the section variables declares them, such as Vector x"
        fail("there are no variables", goals[0].head.span, hint=hint)
    objective = _objective(goals[0], source, declared)
    limits = [x for part in parts.get("st", []) for x in _constraints(part, source)]
    sense: Literal["minimize", "maximize"] = (
        "minimize" if goals[0].section == "min" else "maximize"
    )
    model = Model(
        "a model of GENO's",
        objective,
        declared,
        by=tuple(variables),
        sense=sense,
        constraints=tuple(limits),
        text=source.text,
    )
    _check_names(model)
    return write_spec(model, asked)


def _parts(source: Source) -> dict[Section, list[_Part]]:
    """The sections of a file, in order of their kinds."""
    found: dict[Section, list[_Part]] = {}
    part: _Part | None = None
    for line in _lines(tokens(source)):
        word = line[0].text.lower()
        # `s.t.` and `subject to` are several words.
        count = {"subject": 2}.get(word, 1)
        name = SECTIONS.get(word)
        if word == "s" and [x.text for x in line[:2]] == ["s", "t"]:
            name, count = "st", 2
        if name is not None:
            part = _Part(name, line[0], [])
            found.setdefault(name, []).append(part)
            line = line[count:]
        if part is None:
            known = "parameters, variables, min or max, and st"
            near = suggest(word, SECTIONS)
            message = f"'{line[0].text}' stands before the first section"
            fail(message, line[0].span, hint=near or f"sections are {known}")
        if line:
            part.lines.append(line)
    return found


def _lines(found: Sequence[Token]) -> Iterator[list[Token]]:
    line: list[Token] = []
    for token in found:
        if token.kind in ("\n", ";"):
            if line:
                yield line
            line = []
        else:
            line.append(token)
    if line:
        yield line


def _objective(
    part: _Part, source: Source, declared: Mapping[str, Declared]
) -> Formula:
    words = part.words
    end = words[-1].span.end if words else part.head.span.end
    cursor = Cursor(words, source, end)
    found = MatlabParser(cursor, declared).formula()
    if cursor.next.kind in _COMPARISONS:
        hint = "constraints stand in the section st"
        fail("the objective is compared", cursor.next.span, hint=hint)
    if cursor.next.kind != "end":
        cursor.unexpected("the end of the objective")
    return found


def _constraints(part: _Part, source: Source) -> Iterator[Constraint]:
    """The comparisons of a section; `0 <= x <= c` are two."""
    for line in part.lines:
        cursor = Cursor(line, source, line[-1].span.end)
        parser = MatlabParser(cursor)
        left = parser.formula()
        signs = 0
        while sign := cursor.take(*_COMPARISONS):
            right = parser.formula()
            span = cursor.since(line[0].span)
            yield Constraint(_COMPARISONS[sign.kind], left, right, span)
            left, signs = right, signs + 1
        if cursor.next.kind != "end" or not signs:
            cursor.unexpected("a comparison, <=, >= or ==,")


def _check_names(model: Model) -> None:
    """A model declares all that it mentions."""
    sides = [x for one in model.constraints for x in (one.left, one.right)]
    for formula in (model.objective, *sides):
        for name, node in names_in(formula).items():
            if name not in model.declared:
                hint = suggest(name, model.declared)
                hint = hint or "parameters and variables declare all names"
                fail(f"'{name}' is not declared", node.span, hint=hint)
