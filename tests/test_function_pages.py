"""Pages of functions, and formulas of pages, as the site takes them in."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from docs import function_pages
from docs.typeset import typeset
from tensorgen.explanation.function_reference import Entry, entries
from tensorgen.operators.functions import FUNCTIONS
from tests.documents import ROOT, blocks

FOUND = {entry.name: entry for entry in entries()}
TOLD = """```text
Formula:
    h[i, j] = (sum_{k=0, row[k] == i}^{m - 1} X[k, j]
        * y[k]) / m
        for 0 <= i < n; 0 <= j < p
    rest = recurrence(1 2)

Structure:
    h: dense
```"""


def page(name: str) -> str:
    return function_pages.page(FOUND[name])


def test_a_page_says_what_is_known_of_a_function() -> None:
    told = page("sigmoid")
    assert told.startswith(
        "---\ntitle: sigmoid\nsearch: {boost: 4}\n---\n\n# sigmoid\n"
    )
    assert "| also called | [`expit`](expit.md) |" in told
    assert "By `x`: `sigmoid(x) * sigmoid(-x)`." in told
    assert "| `log(sigmoid(t))` | `log_sigmoid(t)` |" in told
    assert "def _sigmoid(t: Array | Scalar) -> Array:" in told
    assert "__device__ T sigmoid(T t) {" in told
    assert told.rstrip().endswith("[`glu`](glu.md), [`silu`](silu.md)")
    assert "It is defined as `x * sigmoid(x)`." in page("silu")
    assert "CUDA" not in page("ndtr") and "| shape | (n, n) or (n, m) |" in page("eye")


@pytest.mark.parametrize("name", ["sum", "cholesky", "hypot", "huber", "norm_ppf"])
def test_formulas_of_a_page_are_mathematics(name: str) -> None:
    formulas = re.findall(r"<math .*?</math>", page(name))
    assert formulas
    for formula in formulas:
        words = ElementTree.fromstring(formula).iter("mtext")
        assert {word.text for word in words} <= {", else 0"}
    assert "norm</mi><mi>ppf" not in "".join(formulas)  # it is no norm over indices


def test_names_that_begin_others_are_found_before_them() -> None:
    boosts = [function_pages.boost(x) for x in ("log", "log_ndtr", "log_ndtr_diff")]
    assert boosts == [64, 16, 4]


def test_tables_of_the_language_lead_to_pages() -> None:
    linked = function_pages.linked("| `exp(x)` | `exp(x)` |\n| `exf(x)` | none |\n")
    assert (
        linked == "| [`exp(x)`](functions/exp.md) | `exp(x)` |\n| `exf(x)` | none |\n"
    )
    page = function_pages.linked((ROOT / "docs" / "language.md").read_text("utf-8"))
    assert all(f"](functions/{name}.md) |" in page for name in FOUND)


def test_the_navigation_has_every_page_once() -> None:
    index, *groups = function_pages.nav()
    assert index == function_pages.INDEX and len(groups) == 3
    rows = [row for own in groups if isinstance(own, dict) for row in own.values()]
    names = [name for own in rows for row in own for name in row]
    assert sorted(names) == sorted(FOUND) and {*FUNCTIONS} <= {*names}


def test_formulas_that_were_told_are_typeset_below() -> None:
    made = typeset(TOLD)
    assert made.startswith(TOLD) and made.count("<math ") == 1
    assert "<details open>" in made and "0 ≤ i &lt; n; 0 ≤ j &lt; p" in made
    assert "<mi>row</mi>" in made and "<munderover>" in made and "<mfrac>" in made
    assert typeset("```text\nFormula: none\n```") == "```text\nFormula: none\n```"


def test_blocks_of_formulas_are_mathematics_alone() -> None:
    first, second = (
        typeset(f"```formula\n{block.text}```")
        for block in blocks(ROOT / "docs" / "laplace.md")
        if block.language == "formula"
    )
    assert first.startswith('<div class="formula"><math ') and "<mo>∫</mo>" in first
    assert "<mo>≈</mo>" in second and "```" not in first + second


def test_a_block_that_is_no_formula_is_refused() -> None:
    with pytest.raises(ValueError, match="no formula: a b"):
        typeset("```formula\na b\n```")


def test_entries_say_in_a_line_what_they_are() -> None:
    entry: Entry = FOUND["square"]
    assert (entry.call, entry.definition, entry.short) == ("square(x)", *2 * ("x**2",))
    assert FOUND["log"].short == "derivative: 1 / x"
