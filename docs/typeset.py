"""Formulas on pages, as MathML: browsers lay it out, and nothing is loaded for it.

Beneath what `tensorgen explain` printed its formulas stand once more, typeset, and so
does what pages write in blocks of the language `formula`, where each line is one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape

from tensorgen.explanation.formula_tree import Raw, read
from tensorgen.explanation.mathml import displayed, mathml
from tensorgen.explanation.sum_ranges import marked
from tensorgen.operators.told_places import ELSEWHERE

MOST_OPEN = 4
"""A page shows as many formulas; more are opened on demand."""
BLOCK = re.compile(
    r"```(?P<language>\w+)\n(?P<text>.*?)^```$", re.DOTALL | re.MULTILINE
)
TOLD = re.compile(r"^Formula:\n(?P<rows>(?: {4}.*\n)+)", re.MULTILINE)


def formula(math: str, ranges: str = "") -> str:
    """Return a formula that scrolls by itself where it is wider than the page."""
    told = escape(ranges.replace("<=", "\N{LESS-THAN OR EQUAL TO}"))
    small = f"<small>for {told}</small>" if told else ""
    return f'<div class="formula">{math}{small}</div>'


def typeset(block: str) -> str:
    """Return a fenced block with its formulas, if there are any.

    One of the language `formula` is replaced. Raises `ValueError` where it has a line
    that is none.
    """
    found = BLOCK.fullmatch(block)
    if found is None:
        return block
    if found["language"] == "formula":
        lines = found["text"].splitlines()
        made = [_displayed(line) for line in lines if line]
        if None in made:
            raise ValueError(f"no formula: {found['text']}")
        return "\n\n".join(row for row in made if row)
    rows = [x for told in TOLD.finditer(found["text"]) for x in _told(told["rows"])]
    if not rows:
        return block
    start = "<details open>" if len(rows) <= MOST_OPEN else "<details>"
    title = "<summary>These formulas, typeset</summary>"
    return "\n".join([block, "", start + title, *rows, "</details>"])


def _told(rows: str) -> Iterator[str]:
    """The equations of a list; those that go on in deeper lines are joined."""
    for text in re.sub(r"\n {5,}", " ", rows.rstrip()).splitlines():
        equation, _, ranges = text.strip().partition(" for 0 <=")
        made = _displayed(equation, "0 <=" * bool(ranges) + ranges)
        if made is not None:
            yield made


def _displayed(text: str, ranges: str = "") -> str | None:
    """A line as a formula; None where it is no equation."""
    body, elsewhere, _ = text.partition(ELSEWHERE)
    first, *others = re.split(r" ([=≈]) ", body)
    if not others:
        return None
    try:
        row = _side(first)
        for sign, side in zip(others[::2], others[1::2], strict=True):
            row += f"<mo>{sign}</mo>{_side(side)}"
    except ValueError:
        return None
    row += f"<mtext>{elsewhere}</mtext>" * bool(elsewhere)
    return formula(displayed(row), ranges)


def _side(text: str) -> str:
    """One side of an equation; `ValueError` if it is no formula."""
    if found := re.fullmatch(r"∫ (.*) d(\w+)", text):
        return f"<mo>∫</mo>{_side(found[1])}<mi>d</mi><mi>{found[2]}</mi>"
    tree = read(marked(text.strip()))
    if isinstance(tree, Raw):
        raise ValueError(text)
    return mathml(tree, {})
