r"""Words of LaTeX: what changes nothing in a formula is left out.

Sizes of delimiters, spaces, alignment and environments are gone, `\left|` and `\|` have
one spelling with `\lvert` and `\lVert`, and letters stand alone, as they are printed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from tensorgen.errors import Source, Span, fail
from tensorgen.frontends.cursor import Token

_TOKEN = re.compile(
    r"""(?P<space>\s+|~|&)
    |(?P<comment>%[^\n]*)
    |(?P<number>\d+(?:\.\d+)?|\.\d+)
    |(?P<letter>[A-Za-z])
    |(?P<word>\\(?:text|mathrm|mathit|mathsf|textrm|textbf|textit|mbox|rm
        |operatorname\*?)\s*\{\s*(?P<content>[^{}\\$]*?)\s*\})
    |(?P<command>\\[A-Za-z]+\*?|\\.)
    |(?P<sign>[-+*/^_'()\[\]{}<>=,;:.|!$])
    """,
    re.VERBOSE | re.DOTALL | re.ASCII,
)
_WITH_NAME = re.compile(r"\{[A-Za-z]+\*?\}(?:\{[^{}]*\})?|\[[^\]]*\]")

_SIZES = ("big", "Big", "bigg", "Bigg", "middle")
_SPACES = ("quad", "qquad", "thinspace", "medspace", "limits", "nolimits", "nonumber")
_STYLES = ("displaystyle", "textstyle", "scriptstyle", "notag")
_IGNORED = frozenset(
    [
        *(rf"\{name}" for name in (*_SIZES, *_SPACES, *_STYLES)),
        *(rf"\{name}{side}" for name in _SIZES[:4] for side in "lr"),
        *(r"\left", r"\right", r"\,", r"\;", r"\:", r"\!", "\\ ", "\\\n"),
        *(r"\(", r"\)", r"\[", r"\]"),
    ]
)
_SAME: Mapping[str, str] = {
    **{r"\dfrac": r"\frac", r"\tfrac": r"\frac", r"\cfrac": r"\frac"},
    **{r"\|": r"\Vert", r"\le": "<=", r"\leq": "<=", r"\leqslant": "<="},
    **{r"\ge": ">=", r"\geq": ">=", r"\geqslant": ">=", r"\lt": "<", r"\gt": ">"},
    **{r"\lbrace": r"\{", r"\rbrace": r"\}", r"\vert": "|", r"\ast": "*"},
    **{r"\boldsymbol": r"\mathbf", r"\bm": r"\mathbf", r"\bf": r"\mathbf"},
    **{r"\vec": r"\mathbf", r"\pmb": r"\mathbf"},
    **{r"\prime": "'", r"\intercal": r"\top", r"\trans": r"\top", r"\T": r"\top"},
    **{r"\ln": r"\log", r"\Tr": r"\tr", r"\trace": r"\tr", r"\mathds": r"\mathbb"},
    **{r"\hadamard": r"\odot", r"\circ": r"\odot", r"\lnot": r"\neg"},
    **{r"\colon": ":", r"\coloneqq": "=", r"\triangleq": "=", r"\newline": r"\\"},
    **{r"\varepsilon": r"\epsilon", r"\vartheta": r"\theta", r"\varphi": r"\phi"},
    **{r"\widehat": r"\hat", r"\widetilde": r"\tilde", r"\overline": r"\bar"},
}
_PROSE = {
    **dict.fromkeys(("s.t.", "st", "s. t.", "subject to", "such that"), "st"),
    **dict.fromkeys(("where", "with", "and", "for", "", ",", "."), "where"),
}
"""What words between formulas are for."""
_SIDED = {"|": "vert", r"\|": "Vert", r"\vert": "vert", r"\Vert": "Vert"}
_SIDES = {
    **dict.fromkeys((r"\left", r"\bigl", r"\Bigl", r"\biggl", r"\Biggl"), "l"),
    **dict.fromkeys((r"\right", r"\bigr", r"\Bigr", r"\biggr", r"\Biggr"), "r"),
}


def latex_tokens(source: Source) -> tuple[list[Token], list[Span]]:
    """Return the words of a text of LaTeX, and the places of its comments."""
    comments: list[Span] = []
    found = list(_words(source, comments))
    return list(_sided(found)), comments


def _words(source: Source, comments: list[Span]) -> Iterator[Token]:
    at, text, before = 0, source.text, ""
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            span = Span(source, at, at + 1)
            fail(f"'{text[at]}' has no meaning in a formula", span)
        at = found.end()
        span = Span(source, found.start(), at)
        if found["comment"]:
            comments.append(Span(source, found.start() + 1, at))
        elif found["command"] in (r"\begin", r"\end"):
            name = _WITH_NAME.match(text, at)
            if name is None:
                fail(f"{found[0]} names no environment", span)
            at = name.end()
        elif found["word"]:
            word = found["content"]
            kind = _PROSE.get(word.lower().rstrip(":"), "word")
            yield Token(kind, word, span)
        elif found["number"] and before == r"\frac" and found[0].isdigit():
            # As LaTeX has it, \frac12 is one half.
            for k, digit in enumerate(found[0]):
                yield Token("number", digit, Span(source, at - len(found[0]) + k, at))
        elif found["number"]:
            yield Token("number", found[0], span)
        elif found["letter"]:
            yield Token("letter", found[0], span)
        elif not found["space"] and found[0] != "$":
            before = _SAME.get(found[0], found[0])
            yield Token(before, found[0], span)
            continue
        before = before if found["space"] else ""


def _sided(found: list[Token]) -> Iterator[Token]:
    r"""Join `\left` with a bar behind it, and leave out what changes nothing."""
    side = ""
    for token in found:
        if side and token.text == ".":
            side = ""
            continue
        if side and token.text in _SIDED:
            kind = rf"\{side}{_SIDED[token.text]}"
            yield Token(kind, token.text, token.span)
        elif token.text not in _IGNORED:
            yield token
        side = _SIDES.get(token.text, "")


GREEK_VECTORS = ("beta", "theta", "xi", "eta", "zeta", "phi", "psi")
"""Greek letters that are vectors where nothing says otherwise."""

_SMALL = """alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi pi
rho sigma tau upsilon phi chi psi omega"""
_CAPITAL = "Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi Omega"
GREEK: Mapping[str, str] = {
    **{rf"\{name}": name for name in _SMALL.split() if name not in ("pi", "lambda")},
    **{rf"\{name}": name for name in _CAPITAL.split()},
    **{r"\lambda": "lam", r"\ell": "ell"},
}
"""What a spec calls Greek letters; pi is a number."""
