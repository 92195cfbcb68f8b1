"""What is meant by signs that the language does not have: those of books and MATLAB."""

from __future__ import annotations

import re
import unicodedata

from tensorgen.operators.functions import FUNCTIONS

TRANSPOSE = "a transpose is written A.T"
_MEANT = {
    "\N{MINUS SIGN}": "-",
    "\N{EN DASH}": "-",
    "\N{EM DASH}": "-",
    "\N{MULTIPLICATION SIGN}": "* between entries, or @ between matrices",
    "\N{MIDDLE DOT}": "* between entries, or @ for the inner product",
    "\N{DOT OPERATOR}": "* between entries, or @ for the inner product",
    "\N{ASTERISK OPERATOR}": "*",
    "\N{RING OPERATOR}": "*, which multiplies entry by entry",
    "\N{CIRCLED DOT OPERATOR}": "*, which multiplies entry by entry",
    "\N{CIRCLED TIMES}": "kron(A, B), or outer(x, y)",
    "\N{DIVISION SIGN}": "/",
    "\N{DIVISION SLASH}": "/",
    "\N{LESS-THAN OR EQUAL TO}": "<=",
    "\N{GREATER-THAN OR EQUAL TO}": ">=",
    "\N{NOT EQUAL TO}": "!=",
    "\N{INFINITY}": "inf",
    "\N{SQUARE ROOT}": "sqrt",
    "\N{NO-BREAK SPACE}": "a plain space",
    "\N{RIGHT SINGLE QUOTATION MARK}": ".T",
    "\N{PRIME}": ".T",
    "\N{DOWN TACK}": ".T",
    "\N{MODIFIER LETTER CAPITAL T}": ".T",
    "\N{SUPERSCRIPT MINUS}": "**-1, or inv(A) of a matrix",
    "\N{DOUBLE VERTICAL LINE}": "norm(x)",
    "\N{DIVIDES}": "abs(x)",
    "\N{N-ARY SUMMATION}": "sum(x[i], i)",
    "\N{N-ARY PRODUCT}": "prod(x[i], i)",
    "\N{NABLA}": "grad(f, x)",
    "\N{PARTIAL DIFFERENTIAL}": "grad(f, x)",
}
_REDUCTIONS = {
    "\N{GREEK CAPITAL LETTER SIGMA}": "sum(x[i], i)",
    "\N{GREEK CAPITAL LETTER PI}": "prod(x[i], i)",
}
"""What letters with an index are."""
_LETTER = re.compile(r"GREEK (?:(?:CAPITAL|SMALL) LETTER )?(\w+)(?: SYMBOL)?")


def written_sign(text: str, at: int) -> str:
    """Return the hint for a character that is not of ASCII."""
    char = text[at]
    reduction = _REDUCTIONS.get(char) if text[at + 1 : at + 2] == "_" else None
    meant = reduction or _MEANT.get(char) or _letter(char) or _plain(char)
    return f"write {meant}" if meant else "an expression is written in ASCII"


def _letter(char: str) -> str | None:
    """The name of a Greek letter; lambda is a word of Python's."""
    found = _LETTER.fullmatch(unicodedata.name(char, ""))
    if found is None:
        return None
    name = found[1].lower().replace("lamda", "lam")
    return name.capitalize() if char.isupper() else name


def _plain(char: str) -> str | None:
    """What a character of another form is in ASCII: a small 2, a half, a bold x."""
    plain = unicodedata.normalize("NFKC", char).replace("\N{FRACTION SLASH}", "/")
    if not (plain.isascii() and plain.isprintable() and plain.strip()):
        return None
    form = unicodedata.decomposition(char).partition(" ")[0]
    if form == "<super>":
        return f"**{plain}"
    return f"[{plain}]: indices stand in brackets" if form == "<sub>" else plain


# Slips that Python's parser stumbles over, and what to say of each. An opening bar
# stands where no operand ends: there it is no `|` between conditions. What may repeat
# is bounded, so that long texts are searched in linear time.
_OPENS = r"(?:^|(?<=[-+*/@(,=<>&\[]))\s*"
_TERM = r"(?P<x>[A-Za-z_][\w.]{0,40}(?:\[[^]]{0,40}\])?)"
_REDUCTION = (
    r"\b(?P<at>(?P<name>sum|prod|max|min|mean)_\{?(?P<i>[A-Za-z]\w{0,40}?)"
    r"(?:\s*=[^}]{0,40})?\}?)(?:\^(?:\w{1,40}|\{[^}]{0,40}\}))?\s+"
)
_CALLED = "|".join(name for name in FUNCTIONS if name != "where")
_SLIPS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), hint)
    for pattern, hint in (
        (rf"{_OPENS}(?P<at>\|\|)(?P<x>[^|]{{1,40}})\|\|", "a norm is norm({x})"),
        (rf"{_OPENS}(?P<at>\|)(?P<x>[^|]{{1,40}})\|", "absolute values are abs({x})"),
        (_REDUCTION + _TERM, "the index stands last: {name}({x}, {i})"),
        (r"(?<=[\w)\]])\s*(?P<at>\^)\s*\{?\\?(?:T|top)\b", TRANSPOSE),
        (r"\A[^']*(?<=[\w)\]])(?P<at>')", TRANSPOSE),
        (
            r"(?<![\w.])(?P<at>\d{1,20}(?:\.\d{0,20})?)"
            r"(?P<x>(?![eE][-+\d])[A-Za-z]\w{0,40})",
            "a product is written with its sign: {at}*{x}",
        ),
        (
            rf"(?<![\w.])(?P<at>{_CALLED})[ \t]+(?!(?:if|for|and|or|in)\b){_TERM}",
            "arguments stand in parentheses: {at}({x})",
        ),
        (
            r"(?<=\))\s*(?P<at>where)\b",
            "a condition stands last: sum(x[i], i, x[i] > 0)",
        ),
        (
            r"(?<=[\w)\]'])\s*(?P<at>\.[*/^])",
            "*, / and ** go entry by entry without a dot, @ is the matrix product",
        ),
    )
)


def find_slip(text: str, end: int) -> tuple[int, str] | None:
    """Return the first slip that starts before `end`: its place and a hint."""
    found = [
        (match.start("at"), hint.format(**match.groupdict()))
        for pattern, hint in _SLIPS
        for match in pattern.finditer(text)
        if match.start("at") < end
    ]
    return min(found, default=None, key=lambda slip: slip[0])
