"""Sums that take more than a line become several statements that do the same."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from tensorgen.arrays.arrays import Array, array, variable
from tensorgen.arrays.code import Code
from tensorgen.arrays.long_sums import broken_sums
from tensorgen.arrays.operations import Add, Index, Multiply
from tensorgen.arrays.places import WHOLE
from tensorgen.arrays.printer import Printer
from tensorgen.arrays.reading import LINE
from tensorgen.arrays.statement_text import statement_text
from tensorgen.arrays.statements import Change, Let, Statement, Store
from tensorgen.ir.dims import Dim

n, m = Dim.symbol("n"), Dim.symbol("m")
NAMES = [f"a_name_of_some_length_{k}" for k in range(9)]


def total(signs: str, *dims: Dim) -> Array:
    """A sum of as many variables as there are signs, every other of them scaled."""
    terms: list[Array] = [variable(name, dims) for name in NAMES[: len(signs)]]
    for k in range(1, len(terms), 2):
        terms[k] = array(Multiply(Fraction(1, 2), 1), terms[k])
    return array(Add(tuple(1 if sign == "+" else -1 for sign in signs)), *terms)


def run(lines: tuple[Statement, ...]) -> tuple[list[str], np.ndarray]:
    """The text of statements, and what they leave in `out`."""
    printer = Printer("np")
    text = [statement_text(printer, line) for line in lines]
    rng = np.random.default_rng(0)
    given = {name: rng.standard_normal((3, 2)) for name in NAMES}
    space = {"np": np, "out": rng.standard_normal((4, 2)), **given}
    exec("\n".join(text), space)
    return text, np.asarray(space["out"])


@pytest.mark.parametrize(
    "signs", ["++++++", "+-+-+-+-+", "+--------", "+++++----", "+-"]
)
def test_a_sum_is_added_up_in_lines_that_fit(signs: str) -> None:
    line = Let("out", total(signs, n, m))
    before, wanted = run((line,))
    after, found = run(broken_sums(Code((line,), ())).statements)
    assert max(map(len, after)) <= LINE
    assert len(after) == 1 if len(before[0]) <= LINE else len(after) > 1
    np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("how", ["+=", "-="])
def test_what_is_added_in_place_is_broken_likewise(how: Change) -> None:
    at = Index((WHOLE, WHOLE), (n, m))
    start = Let("out", array(Multiply(Fraction(2), 1), variable(NAMES[8], (n, m))))
    target = variable("out", (n, m), base="out")
    line = Store(target, at, (), how, total("-+--+-++", n, m))
    before, wanted = run((start, line))
    after, found = run((start, *broken_sums(Code((line,), ())).statements))
    assert max(map(len, after)) <= LINE < max(map(len, before))
    np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12)


def test_numbers_and_sums_of_what_broadcasts_stay() -> None:
    first = Let("out", total("++++++++"))
    assert broken_sums(Code((first,), ())).statements == (first,)
    parts = [variable(name, (m,)) for name in NAMES[:8]]
    wide = array(Add((1,) * 9), *parts, variable(NAMES[8], (n, m)))
    second = Let("out", wide)
    assert broken_sums(Code((second,), ())).statements == (second,)
