"""What stands in several statements is made once, and only where it may."""

from __future__ import annotations

from fractions import Fraction

import pytest

from tensorgen.arrays.arrays import Array, array, variable
from tensorgen.arrays.code import Code
from tensorgen.arrays.operations import (
    Elementwise,
    Fill,
    Index,
    MatMul,
    Multiply,
    Number,
    Permute,
    Reduce,
    Triangle,
    Trim,
)
from tensorgen.arrays.places import (
    Entries,
)
from tensorgen.arrays.statements import Let, Scatter, Statement, Store
from tensorgen.arrays.written import written
from tensorgen.ir.dims import ZERO, Dim
from tensorgen.lower.names import Names
from tensorgen.lower.share_calls import share_calls

n = Dim.of("n")
mask, x = variable("mask", (n, n), "bool", "mask"), variable("x", (n, n), base="x")
i, y, z = (variable(name, (n,), base=name) for name in "iyz")
a, b = variable("a", (n, n), base="a"), variable("b", (n, n), base="b")
ONE = array(Number(Fraction(1)))
ZEROS = array(Fill((n, n), 0))


def where(held: Array) -> Array:
    """Select entries of x."""
    return array(Elementwise("where"), held, x, array(Number(Fraction(0))))


MASKED, TRI = where(mask), array(Triangle(n, n, ZERO))
COLUMNS, APPLIED = array(Reduce((0,)), MASKED), array(MatMul(), y, MASKED)
UPPER = array(Trim(lower=False, shift=ZERO), where(TRI))
INSIDE = [Let("a", COLUMNS), Let("b", APPLIED)]
OWN = [Let("a", MASKED), Let("b", APPLIED)]
NESTED = [
    Let("a", array(Permute((1, 0)), UPPER)),
    Let("b", array(Multiply(Fraction(2), 1), TRI)),
]
TURNED = array(Permute((1, 0)), array(MatMul(), x, x))
DOUBLED = array(Multiply(Fraction(2), 1), x)
AT = Index((Entries(), Entries()), (n,))
TWICE: list[Statement] = [Let("a", MASKED), Let("b", MASKED)]
SHARED: dict[str, tuple[list[Statement], str | None]] = {
    "inside of expressions": (
        [*INSIDE],
        "masked = np.where(mask, x, 0)\na = masked.sum(axis=0)\nb = y @ masked",
    ),
    "the name that it has": ([*OWN], "a = np.where(mask, x, 0)\nb = y @ a"),
    "a mask within a mask": (
        [*NESTED],
        "mask = np.tri(n, dtype=bool)\na = np.triu(np.where(mask, x, 0)).T\n"
        "b = 2 * mask",
    ),
    "a product": (
        [Let("a", array(Reduce((0,)), array(MatMul(), x, x))), Let("b", TURNED)],
        "x_x = x @ x\na = x_x.sum(axis=0)\nb = x_x.T",
    ),
    "a later statement that is just this": (
        [Let("a", array(Reduce((0,)), DOUBLED)), Let("b", DOUBLED)],
        "b = 2 * x\na = b.sum(axis=0)",
    ),
    "no later statement whose operands change": (
        [
            Let("a", array(Reduce((0,)), DOUBLED)),
            Store(x, AT, (i, i), "+=", ONE),
            Let("b", DOUBLED),
        ],
        None,
    ),
    "no arithmetic that has no name": (
        [
            Let("a", array(Reduce((0,)), DOUBLED)),
            Let("b", array(Reduce((1,)), DOUBLED)),
        ],
        None,
    ),
    "no array that changes": (
        [INSIDE[0], Store(x, AT, (i, i), "+=", ONE), INSIDE[1]],
        None,
    ),
    "no array that is added to": (
        [INSIDE[0], Scatter(x, AT, (i, i), ONE, by_entry=False), INSIDE[1]],
        None,
    ),
    "no value that is changed": (
        [OWN[0], Store(a, AT, (i, i), "-=", ONE), OWN[1]],
        None,
    ),
    "no name twice": (TWICE, None),
    "no other array": (
        [Let("a", array(MatMul(), y, ZEROS)), Let("b", array(MatMul(), z, ZEROS))],
        None,
    ),
}


def text(lines: list[Statement], returns: list[Array]) -> tuple[str, list[str]]:
    """Write statements and results."""
    found = written(Code(tuple(lines), tuple(returns)), "np")
    return "\n".join(found.lines), list(found.returns)


@pytest.mark.parametrize("case", SHARED)
def test_a_value_is_made_once(case: str) -> None:
    lines, expected = SHARED[case]
    names = Names(["a", "b", "i", "x", "y", "z"])
    found = text(*share_calls(lines, [a, b], names))
    assert found == (expected or text(lines, [])[0], ["a", "b"])


def test_results_stay_apart() -> None:
    returns = [MASKED, MASKED, array(Reduce((0, 1)), MASKED), APPLIED]
    lines, found = text(*share_calls([], returns, Names([])))
    whole = "np.where(mask, x, 0)"
    assert lines == f"masked = {whole}"
    assert found == [whole, whole, "masked.sum()", "y @ masked"]
