r"""Formulas in LaTeX, as papers write them, with what is said of their symbols.

    \min_{w} \frac{1}{2} w^\top w + c \sum_{i=1}^{m} \log(1 + \exp(-y_i x_i^\top w))
    \text{ where } x_i \in \mathbb{R}^n, y \in \mathbb{R}^m

Behind the formula stand constraints, after `\text{s.t.}`, and what symbols are, with
`\in`; a comment declares them in words, `% A symmetric matrix`. What nothing says
follows from use, from the font, and from letters.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal

from tensorgen.errors import Source, Span, SpecError, fail
from tensorgen.frontends.cursor import Cursor, Token
from tensorgen.frontends.declared import Declared
from tensorgen.frontends.formula import Comparison
from tensorgen.frontends.latex_limits import read_below, read_place
from tensorgen.frontends.latex_symbols import Symbols
from tensorgen.frontends.latex_syntax import WORDS, LatexParser
from tensorgen.frontends.latex_tokens import latex_tokens
from tensorgen.frontends.latex_words import is_symbol, read_symbol
from tensorgen.frontends.matlab_syntax import tokens
from tensorgen.frontends.matrixcalculus import declare, names_by
from tensorgen.frontends.read_declarations import is_declaration
from tensorgen.frontends.translation import Translation
from tensorgen.frontends.write_spec import Asked, Constraint, Model, write_spec
from tensorgen.ir.dims import Dim

Sense = Literal["", "minimize", "maximize"]
_COMPARISONS: Mapping[str, Comparison] = {"<=": "<=", ">=": ">=", "=": "=="}
_GOALS: Mapping[str, Sense] = {
    **{r"\min": "minimize", "minimize": "minimize", "min": "minimize"},
    **{r"\max": "maximize", "maximize": "maximize", "max": "maximize"},
    **{r"\argmin": "minimize", "argmin": "minimize", "arg min": "minimize"},
    **{r"\argmax": "maximize", "argmax": "maximize", "arg max": "maximize"},
}
_BETWEEN = (",", ".", ";", ":", "where", r"\\")


def read_latex(source: Source, asked: Asked) -> Translation:
    """Return the spec of a formula in LaTeX.

    Raises `SpecError` at what cannot be read, and where shapes do not fit.
    """
    words, comments = latex_tokens(source)
    symbols = Symbols()
    by: list[str] = []
    for span in comments:
        said = _words_in(source, span)
        by += names_by(said)
        if is_declaration(said):
            declare(said, symbols.declared)
    _Reader(source, words, symbols).model()
    symbols.settle()
    model = _Reader(source, words, symbols).model()
    model.by = (*by,) or model.by
    return write_spec(model, asked)


def _words_in(source: Source, comment: Span) -> list[Token]:
    """The words of a comment; none where it is prose that has other signs."""
    try:
        return tokens(source, comment.start, comment.end)
    except SpecError:
        return []


class _Reader:
    """Reads a text once."""

    def __init__(self, source: Source, words: list[Token], symbols: Symbols) -> None:
        self._source = source
        end = words[-1].span.end if words else len(source.text)
        self._cursor = Cursor(words, source, end)
        self._symbols = symbols
        self._parser = LatexParser(self._cursor, symbols)

    def model(self) -> Model:
        """Read all of it."""
        cursor = self._cursor
        if cursor.next.kind == "end":
            fail("there is no formula", cursor.next.span, hint=r"such as x^\top A x")
        sense, by = self._goal()
        name = ""
        if not sense:
            name, by = self._left_side()
        objective = self._parser.formula()
        constraints = tuple(self._rest(bool(sense)))
        model = Model(
            "LaTeX",
            objective,
            self._symbols.declared,
            WORDS,
            name,
            tuple(by),
            sense,
            constraints,
            tuple(self._symbols.sizes),
            text=self._source.text,
        )
        model.remarks += self._symbols.remarks
        if self._symbols.first == 0:
            model.remarks.append("Sums begin at 0, so entries are counted from 0.")
        return model

    def _goal(self) -> tuple[Sense, list[str]]:
        r"""Read `\min_{x}` before the objective, if that is what stands there."""
        cursor = self._cursor
        count = 0
        if cursor.next.kind == r"\arg":
            count = 1
        head = cursor.ahead(count)
        sense = _GOALS.get(head.text.lower() if head.kind == "word" else head.kind, "")
        behind = cursor.ahead(count + 1)
        if not sense or behind.kind in ("(", r"\{", "[", "{"):
            return "", []
        if behind.kind == "_":
            # A maximum over entries has an index below.
            first = cursor.ahead(count + 2 + (cursor.ahead(count + 2).kind == "{"))
            if first.kind == "letter" and first.text in "ijkl":
                return "", []
        for _ in range(count + 1):
            cursor.advance()
        by: list[str] = []
        if cursor.take("_"):
            opened = cursor.take("{")
            by.append(read_symbol(cursor)[0])
            while opened and cursor.next.kind not in ("}", "end"):
                if cursor.take(","):
                    by.append(read_symbol(cursor)[0])
                elif cursor.next.kind == r"\in":
                    self._skip_set()
                else:
                    cursor.unexpected("a comma")
            if opened:
                cursor.expect("}", opened)
        return sense, by

    def _skip_set(self) -> None:
        while self._cursor.next.kind not in (",", "}", "end"):
            opened = self._cursor.advance()
            if opened.kind == "{":
                while self._cursor.next.kind not in ("}", "end"):
                    self._cursor.advance()
                self._cursor.expect("}", opened)

    def _left_side(self) -> tuple[str, list[str]]:
        """Read `f(x, y) =`, if the text begins with it."""
        cursor = self._cursor
        at = 0
        while cursor.ahead(at).kind not in ("=", "end", "+", "-", r"\frac", "<=", ">="):
            at += 1
        if cursor.ahead(at).kind != "=" or not is_symbol(cursor.next) or at > 40:
            return "", []
        name, _ = read_symbol(cursor)
        by: list[str] = []
        if opened := cursor.take("("):
            by.append(read_symbol(cursor)[0])
            while cursor.take(","):
                by.append(read_symbol(cursor)[0])
            if cursor.take(";", "|", r"\mid"):
                while cursor.next.kind not in (")", "end"):
                    cursor.advance()
            cursor.expect(")", opened)
        if cursor.take("=") is None:
            cursor.unexpected("'='")
        return name, by

    # --- behind the formula ---------------------------------------------------

    def _rest(self, is_problem: bool) -> Iterator[Constraint]:
        """Read constraints, and take down what is said of symbols."""
        cursor = self._cursor
        constrained = False
        while cursor.next.kind != "end":
            if cursor.take("st"):
                constrained = True
                if not is_problem:
                    hint = r"\min_{x} stands before the objective"
                    fail("constraints of no problem", cursor.last.span, hint=hint)
            elif cursor.take(*_BETWEEN):
                continue
            elif self._is_membership():
                self._membership()
            elif constrained:
                yield from self._constraint()
            elif cursor.next.kind in _COMPARISONS:
                fail("the formula is compared", cursor.next.span)
            else:
                cursor.unexpected("the end of the formula")

    def _constraint(self) -> Iterator[Constraint]:
        cursor = self._cursor
        start = cursor.next.span
        left, count = self._parser.formula(), 0
        while sign := cursor.take(*_COMPARISONS):
            right = self._parser.formula()
            span = cursor.since(start)
            yield Constraint(_COMPARISONS[sign.kind], left, right, span)
            left, count = right, count + 1
        if not count:
            cursor.unexpected(r"a comparison, \le, \ge or =,")

    def _is_membership(self) -> bool:
        r"""Whether symbols with `\in` behind them come next."""
        cursor, at = self._cursor, 0
        if not is_symbol(cursor.next):
            return False
        while cursor.ahead(at).kind not in ("end", r"\in", *_COMPARISONS, "+", "-"):
            at += 1
        return cursor.ahead(at).kind == r"\in"

    def _membership(self) -> None:
        r"""Take down `A, B \in \mathbb{R}^{m \times n}`."""
        cursor = self._cursor
        found: list[tuple[str, bool, Span]] = []
        while True:
            start = cursor.next.span
            name, _ = read_symbol(cursor)
            below = read_below(cursor) if cursor.take("_") else None
            found.append((name, below is not None, cursor.since(start)))
            if not cursor.take(","):
                break
        if cursor.take(r"\in") is None:
            cursor.unexpected(r"'\in'")
        sizes, properties = self._set()
        if self._symbols.is_known:
            return
        for name, has_rows, span in found:
            rows = ("rows",) * has_rows
            own = Declared(name, len(sizes), (*properties, *rows), sizes, span=span)
            first = self._symbols.declared.setdefault(name, own)
            if first is not own:
                fail(f"'{name}' is declared twice", span)

    def _set(self) -> tuple[tuple[Dim, ...], tuple[str, ...]]:
        r"""Read `\mathbb{R}^n` and the like: sizes and what they promise."""
        cursor = self._cursor
        start = cursor.next.span
        is_real = cursor.take(r"\R", r"\reals") is not None
        letter = "R" if is_real else read_symbol(cursor)[0]
        if letter not in ("R", "S"):
            hint = r"\mathbb{R}^n, \mathbb{R}^{m \times n} and \mathbb{S}^n are known"
            fail("this set is not known", cursor.since(start), hint=hint)
        signs, sizes = "", list[Dim]()
        while raised := cursor.take("^", "_"):
            opened = cursor.take("{")
            words: list[Token] = []
            while cursor.next.kind not in ("}", "end"):
                words.append(cursor.advance())
                if opened is None:
                    break
            if opened:
                cursor.expect("}", opened)
            texts = "".join(x.text for x in words)
            if texts.strip("+") == "" and texts:
                signs = texts
            elif raised.kind == "^":
                sizes = self._sizes(words, cursor.since(start))
            else:
                fail("this set is not known", cursor.since(start))
        if letter == "S":
            if len(sizes) != 1:
                fail("symmetric matrices have one size", cursor.since(start))
            return (sizes[0], sizes[0]), ("spd",) if signs == "++" else ("symmetric",)
        promised = {"+": ("nonnegative",), "++": ("positive",)}.get(signs, ())
        return tuple(sizes), promised

    def _sizes(self, words: list[Token], span: Span) -> list[Dim]:
        parts: list[list[Token]] = [[]]
        for word in words:
            if word.kind == r"\times":
                parts.append([])
            else:
                parts[-1].append(word)
        sizes = [read_place(part, span) for part in parts]
        for size in sizes:
            self._symbols.sizes |= dict.fromkeys(size.symbols)
        if len(sizes) > 2:
            fail("only vectors and matrices are known", span)
        return sizes
