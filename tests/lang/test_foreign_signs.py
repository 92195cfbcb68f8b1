"""What is said of signs that the language does not have: those of books and MATLAB."""

import time
import unicodedata

import pytest

from tensorgen.errors import Faults, Text
from tensorgen.lang.foreign_signs import find_slip, written_sign
from tensorgen.lang.syntax import parse
from tests.lang.speak import only_fault

SLIPS = [
    ("||v||", "norm(v)"),
    ("||v - w||**2", "norm(v - w)"),
    ("|v|", "abs(v)"),
    ("sum(|v|)", "abs(v)"),
    ("c * |v - w|", "abs(v - w)"),
    ("sum_i v[i]", "sum(v[i], i)"),
    ("c + sum_{i} v[i]", "sum(v[i], i)"),
    ("sum_{i=1}^{n} v[i]", "sum(v[i], i)"),
    ("max_i v[i]", "max(v[i], i)"),
    ("v' * w", "A.T"),
    ("v' @ A @ w' ", "A.T"),
    ("v^T w", "A.T"),
    ("v^T @ w", "A.T"),
    ("v**T @ w", "A.T"),
    ("5v", "5*v"),
    ("sum(2.5v)", "2.5*v"),
    ("12v + 1", "12*v"),
    ("sum v", "sum(v)"),
    ("c * sum v[0]", "sum(v[0])"),
    ("sum(v) where v > 0", "a condition stands last"),
    ("sum(v) .* w", "without a dot"),
    ("v_i * 2", "v[i]"),
]


@pytest.mark.parametrize(("text", "hint"), SLIPS)
def test_a_slip_has_a_hint(text: str, hint: str) -> None:
    assert hint in only_fault(text)[2]


def test_the_place_is_that_of_the_slip() -> None:
    assert only_fault("v @ sum_i v[i]")[1] == "s"
    assert only_fault("c + |v|")[1] == "|"
    assert only_fault("c * 12v")[1] == "1"


@pytest.mark.parametrize(
    ("text", "place"),
    [("(v < 1) | (w > 1) c", 0), ("norm(X, 'nuc') v", 14), ("1e5 + 1_000 v", 12)],
)
def test_what_the_language_has_is_no_slip(text: str, place: int) -> None:
    assert find_slip(text, place + 2) is None


def test_a_slip_behind_the_place_is_not_what_is_meant() -> None:
    assert find_slip("v w + 5v", 4) is None
    assert find_slip("v w + 5v", 8) == (6, "a product is written with its sign: 5*v")


SIGNS = {
    "GREEK SMALL LETTER SIGMA": "write sigma",
    "GREEK CAPITAL LETTER SIGMA": "write Sigma",
    "GREEK SMALL LETTER LAMDA": "write lam",
    "GREEK SMALL LETTER PI": "write pi",
    "GREEK PHI SYMBOL": "write phi",
    "MIDDLE DOT": "@ for the inner product",
    "MULTIPLICATION SIGN": "* between entries",
    "SUPERSCRIPT TWO": "write **2",
    "SUPERSCRIPT FIVE": "write **5",
    "SUPERSCRIPT LATIN SMALL LETTER I": "write **i",
    "SUBSCRIPT ONE": "write [1]",
    "VULGAR FRACTION ONE HALF": "write 1/2",
    "MATHEMATICAL BOLD SMALL X": "write x",
    "FULLWIDTH PLUS SIGN": "write +",
    "MODIFIER LETTER CAPITAL T": "write .T",
    "DOUBLE VERTICAL LINE": "norm(x)",
    "N-ARY SUMMATION": "sum(x[i], i)",
    "NABLA": "grad(f, x)",
    "SNOWMAN": "ASCII",
    "CJK UNIFIED IDEOGRAPH-4E00": "ASCII",
}


@pytest.mark.parametrize("name", SIGNS)
def test_a_sign_is_written_in_ascii(name: str) -> None:
    char = unicodedata.lookup(name)
    assert SIGNS[name] in written_sign(f"x {char} y", 2)


def test_a_capital_sigma_with_an_index_is_a_sum() -> None:
    assert "sum(x[i], i)" in written_sign("\N{GREEK CAPITAL LETTER SIGMA}_i x[i]", 0)


@pytest.mark.parametrize(
    "part", ["|", "||x", "sum_{i=", "5" * 20, "x_", "' ", "(", "sum ", "^ ", "a\t\t"]
)
def test_long_texts_are_searched_quickly(part: str) -> None:
    start = time.process_time()
    find_slip(part * (100_000 // len(part)), 100_000)
    assert time.process_time() - start < 2


@pytest.mark.parametrize("text", [x for x, _ in SLIPS])
def test_no_slip_is_an_expression_after_all(text: str) -> None:
    faults = Faults()
    read = parse(Text.plain(text), faults)
    assert (read is None) == bool(faults)
