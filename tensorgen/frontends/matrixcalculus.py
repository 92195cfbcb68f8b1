"""MatrixCalculus.org's notation: a formula, and what its variables are.

    x'*A*x + c*sin(y)'*x
    where A is a symmetric matrix, x, y are vectors
    wrt x

Declarations stand in lines of their own, or behind `where`, also in GENO's manner,
`Matrix A symmetric`; what is not declared follows from letters, as on the page: a to g
are scalars, h to z vectors, capitals matrices.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tensorgen.errors import Source, fail
from tensorgen.frontends.cursor import Cursor, Token
from tensorgen.frontends.declared import Declared
from tensorgen.frontends.matlab_syntax import MatlabParser, tokens
from tensorgen.frontends.read_declarations import is_declaration, read_declarations
from tensorgen.frontends.translation import Translation
from tensorgen.frontends.write_spec import Asked, Model, write_spec

_BY = ("wrt", "by")


def names_by(words: Sequence[Token]) -> list[str]:
    """Return what `wrt x, y` names; nothing where words say something else."""
    if words[1:] and words[0].text.lower() in _BY:
        return [word.text for word in words[1:] if word.kind == "name"]
    return []


def read_matrixcalculus(source: Source, asked: Asked) -> Translation:
    """Return the spec of a formula of MatrixCalculus.org's.

    Raises `SpecError` at what cannot be read, and where shapes do not fit.
    """
    formula: list[Token] = []
    declared: dict[str, Declared] = {}
    by: list[str] = []
    for line in _statements(tokens(source)):
        if named := names_by(line):
            by += named
        elif is_declaration(line):
            declare(line, declared)
        else:
            formula += line
    cursor = Cursor(formula, source, formula[-1].span.end if formula else 0)
    if not formula:
        hint = "such as x'*A*x"
        fail("there is no formula", cursor.next.span, hint=hint)
    found = MatlabParser(cursor, declared).formula()
    if cursor.next.kind != "end":
        cursor.unexpected("the end of the formula")
    model = Model(
        "MatrixCalculus.org's notation", found, declared, by=tuple(by), text=source.text
    )
    return write_spec(model, asked)


def declare(words: Sequence[Token], declared: dict[str, Declared]) -> None:
    """Take down what words declare; a name is declared once."""
    for one in read_declarations(words):
        first = declared.setdefault(one.name, one)
        if first is not one:
            assert first.span is not None
            marks = [(first.span, "first here")]
            fail(f"'{one.name}' is declared twice", one.span, marks=marks)


def _statements(found: Sequence[Token]) -> Iterator[list[Token]]:
    """Yield the words of each line, and of what stands behind `;` and `where`."""
    line: list[Token] = []
    for token in found:
        ends = token.kind in ("\n", ";")
        begins = token.kind == "name" and token.text.lower() in ("where", *_BY)
        if (ends or begins) and line:
            yield line
            line = []
        if not ends and token.text.lower() != "where":
            line.append(token)
    if line:
        yield line
