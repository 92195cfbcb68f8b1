r"""The syntax of formulas in LaTeX, as papers write them.

What stands side by side is multiplied, as matrices are. A sum extends over the product
behind it, up to the next plus or minus; a function without parentheses takes what is
multiplied behind it, up to the next function.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from tensorgen.errors import Span, SpecError, fail, suggest
from tensorgen.frontends import formula as tree
from tensorgen.frontends.cursor import Cursor, Token
from tensorgen.frontends.declared import Declared
from tensorgen.frontends.latex_limits import read_below, read_limits
from tensorgen.frontends.latex_symbols import Symbols
from tensorgen.frontends.latex_words import (
    FUNCTIONS,
    NORMS,
    OPENING,
    SUMS,
    function_named,
    is_symbol,
    read_symbol,
    take_transposition,
    take_words,
)
from tensorgen.frontends.shape_of import ShapeReader, Words
from tensorgen.ir.dims import Dim

WORDS = Words(
    r"{0}^\top", "{0} {1}", r"{0} \odot {1}", r"{0}^{{\odot {1}}}", r"{0} \oslash {1}"
)

_BEGINNING = (
    *(r"\frac", r"\sqrt", r"\langle", r"\norm", r"\abs", r"\lvert", r"\lVert"),
)
"""Commands with which a factor begins, beside functions and symbols."""
_FUNCTION_NAMES = ("f", "g", "h", "phi", "psi", "Phi", "Psi")
_SIGNS: Mapping[str, tree.Sign] = {
    **{r"\cdot": "*", r"\times": "*", "*": "*", r"\odot": ".*"},
    **{"/": "/", r"\div": "/", r"\oslash": "./"},
}


class LatexParser:
    """Reads formulas from a cursor, over what is known of their symbols."""

    def __init__(self, cursor: Cursor, symbols: Symbols) -> None:
        self._cursor = cursor
        self._symbols = symbols
        self._indices: list[str] = []
        self._bars: list[str] = []

    def formula(self) -> tree.Formula:
        """Read a sum of products."""
        cursor = self._cursor
        start = cursor.next.span
        sign = cursor.take("+", "-")
        terms = [(sign is not None and sign.kind == "-", self._product())]
        while sign := cursor.take("+", "-"):
            terms.append((sign.kind == "-", self._product()))
        if len(terms) > 1:
            return tree.Sum(cursor.since(start), tuple(terms))
        minus, only = terms[0]
        return tree.Minus(cursor.since(start), only) if minus else only

    # --- products -----------------------------------------------------------

    def _product(self, is_argument: bool = False) -> tree.Formula:
        """Read factors up to a plus or minus; of an argument, up to a function."""
        cursor = self._cursor
        start = cursor.next.span
        found, count = self._factor(), 0
        sign: Token | None = None
        right = found
        while True:
            before = sign
            sign = cursor.take(*_SIGNS)
            if sign is None and not self._begins(is_argument):
                break
            if sign is None and before is not None and before.kind == "/":
                self._check_divisor(right)
            cursor.enter()
            count += 1
            if sign is not None and cursor.take("-"):
                right = tree.Minus(cursor.next.span, self._factor())
            else:
                right = self._factor()
            found = self._multiplied(found, sign, right, cursor.since(start))
        for _ in range(count):
            cursor.leave()
        return found

    def _check_divisor(self, divisor: tree.Formula) -> None:
        """Refuse `a / b c`: who reads it cannot know whether c is below."""
        if not isinstance(divisor, tree.Number):
            hint = r"write \frac{a}{b c}, or parentheses"
            place = self._cursor.next.span
            fail("what follows a quotient may be below or beside it", place, hint=hint)

    def _multiplied(
        self, left: tree.Formula, sign: Token | None, right: tree.Formula, span: Span
    ) -> tree.Formula:
        kind: tree.Sign = "*" if sign is None else _SIGNS[sign.kind]
        if isinstance(left, tree.Transposed) or (
            isinstance(left, tree.Binary) and isinstance(left.right, tree.Transposed)
        ):
            self._is_row(right)
        if (
            kind == "*"
            and isinstance(left, tree.Name)
            and isinstance(right, tree.Entry)
        ):
            self._symbols.used(right.array.name).factors.add(left.name)
        if sign is not None and sign.kind == r"\cdot":
            orders = [self._order(left), self._order(right)]
            if orders == [1, 1] and not isinstance(left, tree.Transposed):
                return tree.Call(span, "inner", (left, right))
        return tree.Binary(span, kind, left, right)

    def _is_row(self, node: tree.Formula) -> None:
        """Take down that an entry is a vector: it is transposed, or meets a row."""
        if isinstance(node, tree.Entry) and len(node.places) == 1:
            self._symbols.used(node.array.name).rows_are_vectors = True
        elif isinstance(node, tree.Name):
            self._symbols.used(node.name).is_array = True

    def _order(self, node: tree.Formula) -> int:
        """How many axes a formula has, as far as symbols are known."""
        if not self._symbols.is_known:
            return 0
        try:
            return ShapeReader(self._symbols.declared, WORDS).read(node).order
        except (SpecError, KeyError):
            return 0  # it is told where the whole is read

    def _begins(self, is_argument: bool) -> bool:
        """Whether another factor follows."""
        following = self._cursor.next
        if following.kind in ("|", r"\Vert"):
            return following.kind not in self._bars
        if is_argument and self._is_function(following):
            return False
        return (
            following.kind == "number"
            or following.kind in OPENING
            or following.kind in _BEGINNING
            or is_symbol(following)
            or self._is_function(following)
        )

    def _is_function(self, token: Token) -> bool:
        return token.kind in SUMS or function_named(token) is not None

    # --- factors ------------------------------------------------------------

    def _factor(self) -> tree.Formula:
        """Read an atom with what stands above it."""
        cursor = self._cursor
        start = cursor.next.span
        found, count = self._atom(), 0
        while True:
            if cursor.next.kind == "_" and not isinstance(
                found, tree.Name | tree.Entry
            ):
                message = "a subscript stands behind a symbol, not behind a formula"
                fail(message, cursor.next.span)
            raised = cursor.take("'", "^")
            if raised is None:
                break
            cursor.enter()
            count += 1
            found = self._raised(found, raised, start)
        for _ in range(count):
            cursor.leave()
        return found

    def _raised(self, base: tree.Formula, sign: Token, start: Span) -> tree.Formula:
        cursor = self._cursor
        if sign.kind == "'" or take_transposition(cursor):
            self._is_row(base)
            return tree.Transposed(cursor.since(start), base)
        if take_words(cursor, "{", "-", r"\top", "}"):
            span = cursor.since(start)
            return tree.Transposed(span, tree.Call(span, "inv", (base,)))
        sign_of: tree.Sign = "^"
        if cursor.next.kind == "{" and cursor.ahead(1).kind == r"\odot":
            exponent, sign_of = self._power_by_entry(), ".^"
        else:
            exponent = self._group("an exponent")
        span = cursor.since(start)
        if isinstance(base, tree.Name) and base.name == "e" and self._is_euler():
            return tree.Call(span, "exp", (exponent,))
        return tree.Binary(span, sign_of, base, exponent)

    def _power_by_entry(self) -> tree.Formula:
        r"""Read `{\odot 2}` or `{\circ 2}`."""
        opened = self._cursor.advance()
        self._cursor.advance()
        with self._inside():
            found = self.formula()
        self._cursor.expect("}", opened)
        return found

    def _is_euler(self) -> bool:
        own = self._symbols.declared.get("e")
        return own is None or own.is_guessed

    def _group(self, what: str) -> tree.Formula:
        """Read a group in braces, or what stands in place of one: a single word."""
        cursor = self._cursor
        opened = cursor.next
        if cursor.take("{"):
            with self._inside():
                found = self.formula()
            cursor.expect("}", opened)
            return found
        if opened.kind == "number" and len(opened.text) > 1 and opened.text.isdigit():
            hint = f"in braces it is one: {{{opened.text}}}"
            fail(
                f"LaTeX takes the first digit alone for {what}", opened.span, hint=hint
            )
        return self._atom()

    @contextmanager
    def _inside(self) -> Iterator[None]:
        """Begin anew with bars, which close what they opened."""
        bars, self._bars = self._bars, []
        yield
        self._bars = bars

    # --- atoms --------------------------------------------------------------

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
        if found.kind in OPENING:
            return self._parenthesized()
        if found.kind in ("|", r"\lvert", r"\Vert", r"\lVert"):
            return self._between_bars()
        if found.kind == r"\langle":
            return self._inner()
        if found.kind == r"\frac":
            cursor.advance()
            above = self._group("a numerator")
            below = self._group("a denominator")
            return tree.Binary(cursor.since(found.span), "/", above, below)
        if found.kind == r"\sqrt":
            cursor.advance()
            if cursor.next.kind == "[":
                fail("only square roots are known", cursor.next.span, hint="x^{1/3}")
            inner = self._group("what a root is of")
            return tree.Call(cursor.since(found.span), "sqrt", (inner,))
        if found.kind in (r"\norm", r"\abs"):
            cursor.advance()
            inner = self._group("what it is of")
            span = cursor.since(found.span)
            return (
                self._norm(inner, span)
                if found.kind == r"\norm"
                else tree.Call(span, "abs", (inner,))
            )
        if found.kind in SUMS:
            return self._sum()
        if self._is_function(found):
            return self._function()
        return self._variable()

    def _parenthesized(self) -> tree.Formula:
        cursor = self._cursor
        opened = cursor.advance()
        with self._inside():
            found = self.formula()
        cursor.expect(OPENING[opened.kind], opened)
        return found

    def _check_call(self, name: str, own: Declared | None, span: Span) -> None:
        """Refuse `f(x)`: a function that nobody defined, rather than a product."""
        is_stated = own is not None and not own.is_guessed
        if name in _FUNCTION_NAMES and self._cursor.next.kind == "(" and not is_stated:
            hint = r"write out what it is; a product is f \cdot (x)"
            fail(f"'{name}' looks like a function, which is not known", span, hint=hint)

    def _between_bars(self) -> tree.Formula:
        cursor = self._cursor
        opened = cursor.advance()
        closing = {r"\lvert": r"\rvert", r"\lVert": r"\rVert"}
        wanted = closing.get(opened.kind, opened.kind)
        self._bars.append(wanted)
        inner = self.formula()
        self._bars.pop()
        cursor.expect(wanted, opened)
        span = cursor.since(opened.span)
        if wanted in (r"\rVert", r"\Vert") or cursor.next.kind == "_":
            return self._norm(inner, span)
        if self._order(inner) == 2:
            return tree.Call(span, "det", (inner,))
        return tree.Call(span, "abs", (inner,))

    def _norm(self, inner: tree.Formula, span: Span) -> tree.Formula:
        r"""A norm, by what stands below it: `\lVert x \rVert_2`."""
        cursor = self._cursor
        terms = [x for _, x in inner.terms] if isinstance(inner, tree.Sum) else [inner]
        for term in terms:
            self._is_row(term)
        kind = "2"
        if cursor.next.kind == "_":
            cursor.advance()
            kind = read_below(cursor).text
        if kind not in NORMS:
            known = "1, 2, F, * and \\infty"
            fail(f"the norm '{kind}' is not known", cursor.last.span, hint=known)
        if kind == "2" and self._order(inner) == 2:
            hint = r"\lVert A \rVert_F is the Frobenius norm"
            fail("the spectral norm of a matrix is not known", span, hint=hint)
        return tree.Call(cursor.since(span), NORMS[kind], (inner,))

    def _inner(self) -> tree.Formula:
        cursor = self._cursor
        opened = cursor.advance()
        with self._inside():
            left = self.formula()
            if cursor.take(",", "|", r"\mid") is None:
                cursor.unexpected("a comma")
            right = self.formula()
        cursor.expect(r"\rangle", opened)
        for side in (left, right):
            self._is_row(side)
        return tree.Call(cursor.since(opened.span), "inner", (left, right))

    def _sum(self) -> tree.Formula:
        """Read a sum, a product, a maximum or a minimum over indices."""
        cursor = self._cursor
        start = cursor.advance()
        if cursor.next.kind not in ("_", "^") and start.kind in (r"\max", r"\min"):
            return self._arguments(SUMS[start.kind], start)
        indices = read_limits(cursor, start, self._symbols, self._indices)
        self._indices += [name for name, _ in indices]
        body = self._product()
        del self._indices[len(self._indices) - len(indices) :]
        self._symbols.ended |= {name for name, _ in indices}
        found = body
        for name, limits in reversed(indices):
            found = tree.Total(
                cursor.since(start.span), SUMS[start.kind], found, name, limits
            )
        return found

    def _function(self) -> tree.Formula:
        cursor = self._cursor
        start = cursor.next
        function = function_named(cursor.advance())
        assert function is not None
        power = self._group("an exponent") if cursor.take("^") else None
        found = self._arguments(function, start)
        if power is not None:
            # By entry, as the function: \sin^2 x.
            found = tree.Binary(cursor.since(start.span), ".^", found, power)
        return found

    def _arguments(self, function: str, start: Token) -> tree.Formula:
        """Read what a function is of, in parentheses or up to the next function."""
        cursor = self._cursor
        opened = cursor.next
        if opened.kind in OPENING:
            cursor.advance()
            with self._inside():
                arguments = [self.formula()]
                while cursor.take(","):
                    arguments.append(self.formula())
            cursor.expect(OPENING[opened.kind], opened)
        else:
            arguments = [self._product(is_argument=True)]
        span = cursor.since(start.span)
        if function in ("max", "min") and len(arguments) > 1:
            found = arguments[0]
            for other in arguments[1:]:
                found = tree.Call(span, f"{function}imum", (found, other))
            return found
        if len(arguments) != 1:
            message = f"{start.text} has one argument, not {len(arguments)}"
            fail(message, span)
        return tree.Call(span, function, tuple(arguments))

    def _variable(self) -> tree.Formula:
        cursor = self._cursor
        start = cursor.next
        if not is_symbol(start):
            if start.kind.startswith("\\") and len(start.kind) > 1:
                known = [*FUNCTIONS, *SUMS, *_SIGNS, r"\frac", r"\sqrt"]
                fail(
                    f"'{start.text}' is not known",
                    start.span,
                    hint=suggest(start.kind, known),
                )
            cursor.unexpected("a value")
        name, is_bold = read_symbol(cursor)
        span = cursor.since(start.span)
        if start.kind == r"\mathbb" and name not in ("0", "1"):
            fail(f"'{name}' in this font is no variable", span)
        if name == "1":
            return tree.Filled(span, tree.Number(span, "1"), 1)
        if name == "0":
            return tree.Filled(span, tree.Number(span, "0"), 1)
        if name == "pi" and cursor.next.kind != "_":
            return tree.Number(span, "pi")
        below = None
        if cursor.next.kind == "_":
            cursor.advance()
            below = read_below(cursor)
            span = cursor.since(start.span)
        own = self._symbols.declared.get(name)
        if name == "I" and (own is None or own.is_guessed):
            self._symbols.remarks["I is the identity."] = None
            return tree.Identity(span)
        if below is None and name in self._indices:
            return tree.Whole(span, Dim.symbol(name) + self._symbols.first)
        if below is None and name in self._symbols.sizes:
            return tree.Whole(span, Dim.symbol(name))
        if name == "sigma" and own is None and cursor.next.kind == "(":
            told = "sigma with parentheses is the logistic function."
            self._symbols.remarks[told] = None
            return self._arguments("sigmoid", start)
        self._check_call(name, own, span)
        return self._symbols.variable(name, is_bold, below, self._indices, span)
