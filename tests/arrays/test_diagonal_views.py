"""Diagonals are changed through views where they are whole, and nowhere else."""

from __future__ import annotations

from fractions import Fraction

import pytest

from tensorgen.arrays.arrays import Array, array, variable
from tensorgen.arrays.code import Code
from tensorgen.arrays.diagonal_views import through_diagonals
from tensorgen.arrays.operations import Add, Index, Number, Range
from tensorgen.arrays.places import WHOLE, Entries
from tensorgen.arrays.printer import Printer
from tensorgen.arrays.statement_text import statement_texts
from tensorgen.arrays.statements import Let, Statement, Store
from tensorgen.ir.dims import ONE, ZERO, Dim

N, M, B = map(Dim.symbol, "nmb")
H, v = variable("H", (N, N)), variable("v", (N,))
PLACES = Let("i", array(Range(ZERO, N)))
i = variable("i", (N,), "int")


def texts(*lines: Statement, returned: Array = H, kept: tuple[str, ...] = ()) -> str:
    code = through_diagonals(Code(lines, (returned,)), kept)
    return "\n".join(statement_texts(Printer("cp"), code.statements))


def stored(whole: Array, *parts: object, how: str = "+=", at: Array = i) -> Store:
    places = tuple(at for part in parts if part == Entries())
    return Store(whole, Index(parts, (N,)), places, how, v)  # type: ignore[arg-type]


BOTH = (Entries(), Entries())


@pytest.mark.parametrize("how", ["=", "+=", "-=", "*="])
def test_a_whole_diagonal_is_changed_through_a_view(how: str) -> None:
    line = stored(H, *BOTH, how=how)
    assert texts(PLACES, line) == f"cp.diagonal(H)[...] {how} v"


def test_axes_in_front_stay_whole() -> None:
    whole = variable("H", (B, N, N))
    line = stored(whole, WHOLE, *BOTH)
    assert texts(PLACES, line) == "cp.diagonal(H, axis1=1, axis2=2)[...] += v"


def test_places_that_others_read_are_still_made() -> None:
    line = stored(H, *BOTH)
    twice = array(Add((1, 1)), i, array(Number(Fraction(1))))
    assert "i = cp.arange(n)" in texts(PLACES, line, returned=twice)
    assert "i = cp.arange(n)" in texts(PLACES, line, kept=("i",))


@pytest.mark.parametrize(
    "lines",
    [
        (PLACES, stored(variable("H", (N, M)), *BOTH)),
        (Let("i", array(Range(ONE, N))), stored(H, *BOTH)),
        (Let("i", array(Range(ZERO, N - 1))), stored(H, *BOTH)),
        (PLACES, stored(variable("H", (N, N, N)), *BOTH, WHOLE)),
        (PLACES, stored(H, WHOLE, Entries())),
        (stored(H, *BOTH),),
        (PLACES, PLACES, stored(H, *BOTH)),
    ],
)
def test_other_places_stay_what_they_are(lines: tuple[Statement, ...]) -> None:
    plain = "\n".join(statement_texts(Printer("cp"), lines))
    assert texts(*lines) == plain
    assert "diagonal" not in plain
