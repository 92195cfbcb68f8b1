r"""What words of LaTeX mean: functions, delimiters, and symbols with their accents."""

from __future__ import annotations

from collections.abc import Mapping

from tensorgen.errors import fail
from tensorgen.frontends.cursor import Cursor, Token
from tensorgen.frontends.latex_tokens import GREEK

_SAME = (
    *("exp", "log", "sin", "cos", "tan", "sinh", "cosh", "tanh", "det", "tr", "diag"),
    *("sign", "sigmoid", "softplus", "relu", "erf", "logdet", "inv", "logsumexp"),
    *("expm", "mean", "abs"),
)
FUNCTIONS: Mapping[str, str] = {
    **{f"\\{name}": name for name in _SAME},
    **{r"\arcsin": "asin", r"\arccos": "acos", r"\arctan": "atan"},
    **{r"\sgn": "sign", r"\Diag": "diag", r"\trace": "tr", r"\ReLU": "relu"},
    **{r"\Trace": "tr", r"\Tr": "tr", r"\lse": "logsumexp", r"\ln": "log"},
}
r"""Functions by their commands; `\operatorname` makes a word one of them."""

SUMS: Mapping[str, str] = {
    **{r"\sum": "sum", r"\prod": "prod", r"\max": "max", r"\min": "min"}
}
NORMS: Mapping[str, str] = {
    **{"1": "norm1", "2": "norm2", "F": "norm2", "infty": "norminf"},
    **{"*": "norm_nuc", "\\infty": "norminf", "Fro": "norm2", "fro": "norm2"},
}
OPENING: Mapping[str, str] = {
    **{"(": ")", "[": "]", "{": "}", r"\{": r"\}"},
    **{r"\lparen": r"\rparen", r"\lbrack": r"\rbrack"},
}
"""What is closed by which."""

_FONTS = (r"\mathcal", r"\mathbb", r"\mathfrak", r"\mathscr", r"\mathbf")
_ACCENTS = {r"\hat": "hat", r"\bar": "bar", r"\tilde": "tilde", r"\dot": "dot"}


def function_named(token: Token) -> str | None:
    """Return the function that a command, or a word as a command, is."""
    command = f"\\{token.text}" if token.kind == "word" else token.kind
    return FUNCTIONS.get(command)


def take_words(cursor: Cursor, *kinds: str) -> bool:
    """Read tokens of these kinds, if all of them come next."""
    found = all(cursor.ahead(k).kind == kind for k, kind in enumerate(kinds))
    for _ in range(len(kinds) * found):
        cursor.advance()
    return found


def take_transposition(cursor: Cursor) -> bool:
    r"""Read `\top`, `T` or `\mathsf{T}` above a symbol, with or without braces."""
    in_braces = cursor.next.kind == "{"
    found = cursor.ahead(int(in_braces))
    if found.kind not in (r"\top", "'") and found.text not in ("T", r"\prime"):
        return False
    if in_braces:
        return take_words(cursor, "{", found.kind, "}")
    return take_words(cursor, found.kind)


def is_symbol(token: Token) -> bool:
    """Whether a symbol begins there."""
    kind = token.kind
    known = kind in _FONTS or kind in _ACCENTS or kind in GREEK
    return known or kind in ("letter", "word", r"\pi")


def read_symbol(cursor: Cursor) -> tuple[str, bool]:
    """Return the name of a symbol, and whether it is bold."""
    found = cursor.next
    if not is_symbol(found):
        cursor.unexpected("a symbol")
    cursor.advance()
    if found.kind == "letter":
        return found.text, False
    if found.kind == "word":
        name = "".join(x for x in found.text if x.isalnum())
        if not name.isascii() or not name[:1].isalpha():
            fail(f"'{found.text}' cannot be a name", found.span)
        return name, False
    if found.kind in GREEK or found.kind == r"\pi":
        return GREEK.get(found.kind, "pi"), False
    opened = cursor.take("{")
    if cursor.next.kind == "number" and found.kind in (r"\mathbf", r"\mathbb"):
        name, is_bold = cursor.advance().text, True
        if name not in ("0", "1"):
            fail(f"'{name}' is no symbol", cursor.last.span)
    else:
        cursor.enter()
        name, is_bold = read_symbol(cursor)
        cursor.leave()
    if opened:
        cursor.expect("}", opened)
    if found.kind in _ACCENTS:
        return f"{name}_{_ACCENTS[found.kind]}", is_bold
    return name, is_bold or found.kind == r"\mathbf"
