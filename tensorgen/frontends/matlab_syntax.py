"""The syntax that MatrixCalculus.org and GENO share, which is MATLAB's manner.

`*` is the product of matrices, `'` transposes, and `.*`, `./`, `.^` are by entry.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from tensorgen.errors import Source, Span, fail, suggest
from tensorgen.frontends import formula as tree
from tensorgen.frontends.cursor import Cursor, Token
from tensorgen.frontends.declared import Declared
from tensorgen.frontends.known_functions import KNOWN

_TOKEN = re.compile(
    r"""(?P<space>[^\S\n]+)
    |(?P<comment>(?:\#|%|//)[^\n]*)
    |(?P<number>(?:\d+(?:\.(?![*/^'])\d*)?|\.\d+)(?:[eE][+-]?\d+)?)
    |(?P<name>[A-Za-z]\w*)
    |(?P<sign>\.\*|\./|\.\^|<=|>=|==|[-+*/^'()=<>,;:\n\u2019\u2032])
    """,
    re.VERBOSE | re.ASCII,
)
_QUOTES = {"\u2019": "'", "\u2032": "'"}
"""What word processors make of the sign that transposes."""
_MEANT = {
    "**": "powers are written ^, and .^ by entry",
    "@": "the product of matrices is written *",
    "{": "what belongs together stands in parentheses: ( )",
    "[": "formulas are of whole vectors and matrices; entries have no notation here",
    "\\": "solve(A, b) is written inv(A)*b",
    "&": "conditions are written below each other",
}

_SAME = (
    *("exp", "log", "sqrt", "abs", "sign", "relu", "sin", "cos", "tan", "sinh", "cosh"),
    *("tanh", "asin", "acos", "atan", "sigmoid", "sum", "tr", "det", "logdet", "inv"),
    *("adj", "diag", "norm1", "norm2", "norminf"),
)
FUNCTIONS: Mapping[str, str] = {
    **dict(zip(_SAME, _SAME, strict=True)),
    **{"arcsin": "asin", "arccos": "acos", "arctan": "atan"},
    **{"trace": "tr", "ln": "log"},
}
"""What can be called, and what it is called in the tree."""

MADE = {"vector": 1, "matrix": 2}
"""What is called with a number, and is as long as its place asks for."""

_BY_ENTRY: Mapping[str, tree.Sign] = {".*": ".*", "./": "./", "*": "*", "/": "/"}
_POWERS: Mapping[str, tree.Sign] = {"^": "^", ".^": ".^"}


def tokens(source: Source, start: int = 0, end: int | None = None) -> list[Token]:
    """Return the words and signs of a text; line ends are signs."""
    return list(_tokens(source, start, len(source.text) if end is None else end))


def _tokens(source: Source, at: int, end: int) -> Iterator[Token]:
    while at < end:
        found = _TOKEN.match(source.text, at, end)
        if found is None:
            span = Span(source, at, at + 1)
            text = source.text[at]
            hint = _MEANT.get(text)
            fail(f"'{text}' has no meaning in a formula", span, hint=hint)
        at = found.end()
        text = _QUOTES.get(found[0], found[0])
        if found["space"] or found["comment"]:
            continue
        span = Span(source, found.start(), at)
        if found["sign"]:
            yield Token(text, found[0], span)
        else:
            yield Token("number" if found["number"] else "name", text, span)


class MatlabParser:
    """Reads formulas from a cursor, over variables that are declared or guessed."""

    def __init__(self, cursor: Cursor, variables: Mapping[str, Declared] = {}) -> None:
        self._cursor = cursor
        self._variables = variables

    def formula(self) -> tree.Formula:
        """Read a sum of products."""
        cursor = self._cursor
        start = cursor.next.span
        terms = [(False, self._product())]
        while sign := cursor.take("+", "-"):
            terms.append((sign.kind == "-", self._product()))
        if len(terms) == 1:
            return terms[0][1]
        return tree.Sum(cursor.since(start), tuple(terms))

    def _product(self) -> tree.Formula:
        cursor = self._cursor
        start = cursor.next.span
        found, count = self._signed(), 0
        while sign := cursor.take(*_BY_ENTRY):
            if sign.kind == "*" and cursor.next.kind == "*":
                span = cursor.since(sign.span)
                message = "'**' has no meaning in a formula"
                both = Span(cursor.source, span.start, cursor.next.span.end)
                fail(message, both, hint=_MEANT["**"])
            right = self._signed()
            cursor.enter()
            count += 1
            found = tree.Binary(cursor.since(start), _BY_ENTRY[sign.kind], found, right)
        for _ in range(count):
            cursor.leave()
        following = cursor.next
        if following.kind in ("name", "number", "("):
            hint = "a product is written with a sign: * of matrices, .* by entry"
            message = f"'{following.text}' follows without a sign"
            fail(message, following.span, hint=hint)
        return found

    def _signed(self) -> tree.Formula:
        cursor = self._cursor
        start = cursor.next.span
        if sign := cursor.take("-", "+"):
            cursor.enter()
            operand = self._signed()
            cursor.leave()
            if sign.kind == "+":
                return operand
            return tree.Minus(cursor.since(start), operand)
        return self._power()

    def _power(self) -> tree.Formula:
        cursor = self._cursor
        start = cursor.next.span
        found, count = self._atom(), 0
        while sign := cursor.take("'", *_POWERS):
            cursor.enter()
            count += 1
            if sign.kind == "'":
                found = tree.Transposed(cursor.since(start), found)
                continue
            if sign.kind == "^" and cursor.next.text == "T":
                cursor.advance()
                found = tree.Transposed(cursor.since(start), found)
                continue
            exponent = self._exponent()
            found = tree.Binary(
                cursor.since(start), _POWERS[sign.kind], found, exponent
            )
        for _ in range(count):
            cursor.leave()
        return found

    def _exponent(self) -> tree.Formula:
        start = self._cursor.next.span
        if self._cursor.take("-"):
            return tree.Minus(self._cursor.since(start), self._atom())
        return self._atom()

    def _atom(self) -> tree.Formula:
        """Read what has no sign around it, a level deeper."""
        self._cursor.enter()
        found = self._read_atom()
        self._cursor.leave()
        return found

    def _read_atom(self) -> tree.Formula:
        cursor = self._cursor
        found = cursor.next
        if found.kind == "number":
            cursor.advance()
            return tree.number(found.text, found.span)
        if found.kind == "(":
            cursor.advance()
            inner = self.formula()
            cursor.expect(")", found)
            return inner
        if found.kind != "name":
            cursor.unexpected("a value")
        cursor.advance()
        if cursor.next.kind == "(":
            return self._call(found)
        if found.text not in self._variables:
            if found.text == "eye":
                return tree.Identity(found.span)
            if found.text == "pi":
                return tree.Number(found.span, "pi")
            if found.text in FUNCTIONS or found.text in MADE:
                hint = f"{found.text}(x) is a value"
                message = f"'{found.text}' is a function, and stands without arguments"
                fail(message, found.span, hint=hint)
        return tree.Name(found.span, found.text)

    def _call(self, name: Token) -> tree.Formula:
        cursor = self._cursor
        opened = cursor.advance()
        arguments: list[tree.Formula] = []
        if cursor.next.kind != ")":
            arguments.append(self.formula())
            while cursor.take(","):
                arguments.append(self.formula())
        cursor.expect(")", opened)
        span = cursor.since(name.span)
        known = {**FUNCTIONS, **dict.fromkeys(MADE, "")}
        if name.text not in known:
            hint = suggest(name.text, known)
            if name.text in self._variables or len(name.text) == 1:
                hint = f"a product is written {name.text}*(...)"
            fail(f"unknown function '{name.text}'", name.span, hint=hint)
        if name.text in MADE:
            if len(arguments) != 1:
                hint = f"its size follows from its place: {name.text}(1)"
                fail(f"{name.text} has one argument, a number", span, hint=hint)
            return tree.Filled(span, arguments[0], MADE[name.text])
        function = FUNCTIONS[name.text]
        wanted = KNOWN[function].arguments
        if len(arguments) != wanted:
            message = f"{name.text} has {wanted} argument, not {len(arguments)}"
            fail(message, span)
        return tree.Call(span, function, tuple(arguments))
