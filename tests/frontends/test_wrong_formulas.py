"""What cannot be read is told with its place, and what would be right."""

from __future__ import annotations

import random
import re

import pytest

from tensorgen.errors import Source, SpecError
from tensorgen.frontends.notations import NOTATIONS
from tensorgen.frontends.write_spec import Asked
from tests.frontends.published import GENO, LATEX, MATRIXCALCULUS

MODEL = "parameters\n  Matrix A\nvariables\n  Vector x\n"
# The notation, the text, where the fault is, and words of the message and hint.
WRONG = [
    ("matrixcalculus", "", "1:1", "there is no formula", "x'*A*x"),
    ("matrixcalculus", "x'*(A*x - y", "1:12", "'(' is not closed", "opened here"),
    ("matrixcalculus", "x'*A*", "1:6", "ends where a value is expected", ""),
    ("matrixcalculus", "x'*A)", "1:5", "')' stands where the end", ""),
    ("matrixcalculus", "x**2", "1:2", "'**' has no meaning", "^, and .^ by entry"),
    ("matrixcalculus", "A@x", "1:2", "'@' has no meaning", "written *"),
    ("matrixcalculus", "x[1]", "1:2", "'[' has no meaning", "whole vectors"),
    ("matrixcalculus", "x y", "1:3", "follows without a sign", "* of matrices"),
    ("matrixcalculus", "2x", "1:2", "follows without a sign", "* of matrices"),
    ("matrixcalculus", "x*y", "1:1", "a column and a column", "product is x'*y"),
    ("matrixcalculus", "x + y'", "1:1", "a column and a row", "transpose one"),
    ("matrixcalculus", "x + A", "1:1", "a column and a matrix", ""),
    ("matrixcalculus", "x^2", "1:1", "a column has no power", "x.^2"),
    ("matrixcalculus", "A^c", "1:3", "is a whole number", ""),
    ("matrixcalculus", "c^x", "1:3", "the exponent is a column", "c.^x"),
    ("matrixcalculus", "x/y", "1:3", "the divisor is a column", "x./y"),
    ("matrixcalculus", "tr(x)", "1:1", "tr is of a square matrix", ""),
    ("matrixcalculus", "diag(c)", "1:1", "not of a scalar", ""),
    ("matrixcalculus", "lgo(x)", "1:1", "unknown function 'lgo'", "'log'"),
    ("matrixcalculus", "c(x)", "1:1", "unknown function 'c'", "c*(...)"),
    ("matrixcalculus", "log + x", "1:1", "without arguments", "log(x)"),
    ("matrixcalculus", "log(x, y)", "1:1", "has 1 argument, not 2", ""),
    ("matrixcalculus", "vector()", "1:1", "one argument, a number", "vector(1)"),
    ("matrixcalculus", "vector(x)", "1:8", "is a scalar", ""),
    ("matrixcalculus", "x'*é", "1:4", "'é' has no meaning", ""),
    ("matrixcalculus", f"{'q' * 61}*x", "1:1", "longer than 60", ""),
    ("matrixcalculus", "x'*y\nmatrix x, matrix x", "2:18", "declared twice", "first"),
    ("matrixcalculus", "x'*y\nx is a vektor", "2:1", "follows without", ""),
    (
        "matrixcalculus",
        "x'*y\nx is a symetric matrix",
        "2:8",
        "'symetric'",
        "symmetric",
    ),
    ("matrixcalculus", "x'*y\nx is a symmetric vector", "2:8", "only a matrix", ""),
    ("matrixcalculus", "vector", "1:1", "without arguments", "vector(x)"),
    ("matrixcalculus", "x'*y\nsymmetric matrix", "2:11", "declares no name", ""),
    ("geno", "", "1:1", "there is no objective", "min or max"),
    ("geno", MODEL, "1:1", "there is no objective", "min or max"),
    ("geno", f"{MODEL}min", "5:4", "ends where a value", ""),
    ("geno", f"{MODEL}min\n A*x", "6:2", "is a column, not a scalar", "sum(...)"),
    ("geno", f"{MODEL}min\n sum(z)", "6:6", "'z' is not declared", ""),
    ("geno", f"{MODEL}min\n sum(x)\nmax\n sum(x)", "7:1", "more than one", ""),
    ("geno", f"{MODEL}min\n sum(x) >= 0", "6:9", "objective is compared", "st"),
    ("geno", f"{MODEL}min\n sum(x)\nst\n A*x", "8:5", "a comparison", ""),
    ("geno", f"{MODEL}min\n sum(x)\nst\n A >= 0", "8:2", "mentions no variable", ""),
    ("geno", f"{MODEL}min\n sum(x)\nst\n x >= A", "8:2", "a column and a matrix", ""),
    ("geno", "Vector x\nmin\n sum(x)", "1:1", "before the first section", "sections"),
    ("geno", "parameters\n Vector x\nmin\n sum(x)", "3:1", "no variables", "Vector x"),
    ("geno", "variables\n x\nmin\n sum(x)", "2:2", "declares nothing", "a kind"),
    (
        "geno",
        "variables\n Matrix X orthogonal\nmin\n sum(X)",
        "2:11",
        "no property",
        "",
    ),
    ("latex", "", "1:1", "there is no formula", r"x^\top A x"),
    ("latex", r"\frac{1}{2", "1:11", "'{' is not closed", "opened here"),
    ("latex", r"\left( x", "1:9", "'(' is not closed", ""),
    ("latex", r"\fract{1}{2}", "1:1", r"'\fract' is not known", r"\frac"),
    ("latex", r"x y", "1:1", "a column and a column", r"x^\top y, by entry x \odot y"),
    ("latex", r"x^2", "1:1", "a column has no power", r"x^{\odot 2}"),
    ("latex", r"c^12", "1:3", "the first digit alone", "{12}"),
    ("latex", r"\sum x_i", "1:1", "has no index", r"\sum_{i=1}^n"),
    ("latex", r"\sum_{i<j} x_i", "1:8", "no meaning below a sum", r"\sum_{i=1}"),
    ("latex", r"\sum_{i=1} x_i", "1:7", "without an upper one", ""),
    ("latex", r"\sum_i^n x_i", "1:6", "without a lower one", ""),
    ("latex", r"\sum_{i=1}^n x_i + x_i", "1:22", "bound by no sum", "parentheses"),
    ("latex", r"\sum_i \sum_i x_i", "1:13", "bound already", ""),
    ("latex", r"\sum_i c", "1:1", "nothing is read at the index i", ""),
    ("latex", r"\sum_{i=1}^{n^2} x_i", "1:14", "stands in a place", "sums of indices"),
    ("latex", r"(x + y)_i", "1:8", "behind a symbol", ""),
    ("latex", r"\lVert A \rVert_2", "1:1", "spectral norm", "_F"),
    ("latex", r"\lVert x \rVert_3", "1:17", "'3' is not known", "infty"),
    ("latex", r"\sqrt[3]{c}", "1:6", "only square roots", "x^{1/3}"),
    ("latex", r"c / d b", "1:7", "may be below or beside", r"\frac{a}{b c}"),
    ("latex", r"\mathbb{E}[c]", "1:1", "no variable", ""),
    ("latex", r"g(c) + c", "1:1", "looks like a function", "write out"),
    ("latex", r"\log(c, d)", "1:1", "one argument, not 2", ""),
    (
        "latex",
        r"x^\top x, x \in \mathbb{C}^n",
        "1:17",
        "set is not known",
        r"\mathbb{S}",
    ),
    ("latex", r"x^\top x \le 1", "1:10", "the formula is compared", ""),
    ("latex", r"x^\top x \text{ s.t. } x \ge 0", "1:10", "no problem", r"\min_{x}"),
    (
        "latex",
        r"x^\top y, x \in \mathbb{R}^n, y \in \mathbb{R}^m",
        "1:1",
        "have the sizes n and m",
        "",
    ),
]


def read(notation: str, text: str) -> str:
    return NOTATIONS[notation].read(Source("in", text), Asked()).spec


@pytest.mark.parametrize(("notation", "text", "place", "message", "hint"), WRONG)
def test_a_fault_is_told_with_its_place(
    notation: str, text: str, place: str, message: str, hint: str
) -> None:
    with pytest.raises(SpecError) as found:
        read(notation, text)
    told = str(found.value)
    assert told.startswith(f"in:{place}: error: ") and "^" in told
    assert message in told.splitlines()[0]
    assert hint in told


@pytest.mark.parametrize(
    ("notation", "text"),
    [
        ("matrixcalculus", "(" * 5000 + "x" + ")" * 5000),
        ("matrixcalculus", "-" * 5000 + "c"),
        ("matrixcalculus", "x" + "'" * 5000),
        ("matrixcalculus", "*".join("c" * 5000)),
        ("matrixcalculus", "exp(" * 61 + "c" + ")" * 61),
        ("latex", "{" * 5000),
        ("latex", r"\frac" * 5000),
        ("latex", r"\hat" * 5000 + "x"),
        ("latex", r"\log" * 5000 + " c"),
        ("latex", "|" * 5000),
        ("latex", "c " * 5000),
        ("latex", "c" + "^{2" * 5000),
    ],
    ids=lambda text: text[:9],
)
def test_what_is_nested_too_deeply_is_told(notation: str, text: str) -> None:
    with pytest.raises(SpecError, match="nested deeper than 60 levels"):
        read(notation, text)


def test_a_long_sum_is_no_deep_one() -> None:
    assert " + ".join("c" * 3000) in read("matrixcalculus", "+".join("c" * 3000))
    with pytest.raises(SpecError, match="more than 20,000 words"):
        read("matrixcalculus", "+".join("c" * 30_000))


@pytest.mark.parametrize("seed", range(3))
def test_damaged_texts_are_read_or_told(seed: int) -> None:
    """Words of published formulas are dropped, doubled and exchanged."""
    rng = random.Random(seed)
    tables = {"matrixcalculus": MATRIXCALCULUS, "geno": GENO, "latex": LATEX}
    texts = [(name, text) for name, own in tables.items() for text, _ in own.values()]
    told = 0
    for _ in range(150):
        notation, text = rng.choice(texts)
        words = re.findall(r"\\?\w+|\s+|\S", text)
        for _ in range(rng.choice((1, 2, 5))):
            one, other = rng.randrange(len(words)), rng.randrange(len(words))
            damage = rng.randrange(3)
            if damage == 0:
                words[one] = ""
            elif damage == 1:
                words.insert(one, words[other])
            else:
                words[one], words[other] = words[other], words[one]
        try:
            assert read(notation, "".join(words)).count("tensorgen: 1") == 1
        except SpecError as error:
            told += all(x.message for x in error.diagnostics)
    assert 30 < told < 150
