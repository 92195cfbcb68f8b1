"""The reference of the language is true: its tables, its diagnostics."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

import tensorgen
from tensorgen.lang.prelude import prelude
from tensorgen.operators.functions import FUNCTIONS

DOCS = Path(__file__).resolve().parent.parent / "docs"
PAGE = (DOCS / "language.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def tables() -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        "function_tables", DOCS / "function_tables.py"
    )
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_tables_of_functions_are_what_the_compiler_says(tables: ModuleType) -> None:
    assert tables.page(PAGE) == PAGE, "run python docs/function_tables.py"


def test_every_function_has_its_row() -> None:
    written = section("Functions")
    for row in FUNCTIONS.values():
        assert f"| `{row}` |" in written
    for name in prelude():
        assert f"| `{name}(" in written


def section(title: str) -> str:
    """Return the text below a heading, up to the next one of its level."""
    return PAGE.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


# What each row of the table of diagnostics answers to.
WRONG = {
    "shapes do not match in '+'": "f: X + y",
    "unknown name 'z'": "f: sum(z)",
    "unknown size 'r'": "f: sum(w * ones(r))",
    "the index 'j' is neither on the left side nor bound": "f[i]: X[i, j]",
    "'phi' calls p.phi, and code from outside is not allowed": (
        "f: sum(w)\nexternal: {phi: {call: p.phi}}"
    ),
    "the metric of 'w' is not known to be symmetric": (
        "f: {expr: sum(w**2), wrt: {w: {metric: 'outer(w, exp(w))'}}}"
    ),
    "'exp(w)' is no polynomial in w: it takes 'exp' of it": (
        "f: gaussian_mean(exp(w), w, w**2)"
    ),
    "the entry k[1] is missing": ("f: {where: {'k[0]': w, 'k[2]': w}, expr: sum(k)}"),
    "of 'x' there are first entries alone": ("f: {where: {'x[0]': w}, expr: sum(x)}"),
    "nothing determines the range of 'k'": "f: sum(w[0], k)",
    "the range of 'i' is not affine in the dims": "f[i]: w[2*i] + w[2*i + 1]",
    "the stride of a range is a positive integer": ("f: sum(w[i], i=range(n, 0, -1))"),
    "':' stands for an axis that the value does not have": "f[i, :]: X[i, 0]",
    "the range of 'i' does not follow: n and m cannot be compared": (
        "f: sum(w[i] * y[i], i)"
    ),
    "the ranges of 'i' and 'j' do not follow: neither stands alone": (
        "f: sum(w[i + j], i, j)"
    ),
    "0 is outside of the range of 'i'": "f[i]: w[i - 1]",
    "'gradient' is for scalars, and 'f' has shape (m, n)": (
        "f: {expr: X, wrt: X, emit: [gradient]}"
    ),
    "'and' and 'or' cannot be used in an expression": "f: where(w > 0 and w < 1, w, 0)",
    "there is no operator '^'": "f: w^2",
    "'f' has several results": ("f: {expr: {loss: sum(w), twice: 2 * w}}\n  g: 1 + f"),
    "'f' is of one sample, and B is how many there are": "f: sum(one) / B",
    "inside {...}, YAML cuts this expression at ','": (
        "f: {expr: sum(X, axis=0), wrt: X}"
    ),
    "'&' needs conditions, and w is none": "f: where(0 < w & w < 1, w, 0)",
    "a bound of 'g' depends on the variable 'w'": (
        "g: sum(w)\nproblem: {minimize: g, variables: w, "
        "constraints: {g: {lower: 'w[0]'}}}"
    ),
}


@pytest.mark.parametrize("message", WRONG)
def test_a_diagnostic_of_the_reference_is_what_is_said(message: str) -> None:
    head = "tensorgen: 1\ninputs:\n  one: {shape: [n], batch: [B]}\n"
    head += "  X: [m, n]\n  w: [n]\n  y: [m]\nfunctions:\n"
    with pytest.raises(tensorgen.SpecError) as caught:
        tensorgen.generate(f"{head}  {WRONG[message]}\n")
    assert f"error: {message}" in str(caught.value)


def test_the_reference_lists_the_diagnostics_tested_here() -> None:
    rows = re.findall(r"^\| (.+?) \| .+ \|$", section("Diagnostics"), re.MULTILINE)
    assert set(rows) - {"message", "---", "---|---"} == set(WRONG)


def test_every_name_of_the_grammar_is_defined_and_used() -> None:
    grammar = section("Grammar").partition("```ebnf\n")[2].partition("```")[0]
    grammar = re.sub(r'\(\*.*?\*\)|"[^"]*"', "", grammar, flags=re.DOTALL)
    defined = set(re.findall(r"^(\w+) +=", grammar, re.MULTILINE))
    used = set(re.findall(r"[a-z]+", grammar))
    primitive = {"text", "newline", "letter", "digit", "quote", "character"}
    assert used - defined <= primitive
    for name in defined - {"file"}:
        assert len(re.findall(rf"\b{name}\b", grammar)) > 1, f"{name} is never used"
