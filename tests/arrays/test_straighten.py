"""Turned matrices that are spread over more axes are copied, and no others."""

from __future__ import annotations

import re

import pytest

import tensorgen
from tensorgen.arrays.arrays import Array, array, bound, variable
from tensorgen.arrays.code import Code
from tensorgen.arrays.operations import Add, Copy, Permute
from tensorgen.arrays.speed import Speed
from tensorgen.arrays.statements import Let
from tensorgen.arrays.straighten import straightened
from tensorgen.ir.dims import Dim

m, n, k = map(Dim.of, "mnk")
SPEED = Speed({"m": 50, "n": 100, "k": 8})
X = variable("X", (n, k), base="X")


def added(spread: Array, *dims: Dim) -> Code:
    """The sum of an array of some sizes and another one."""
    return Code((), (array(Add((1, 1)), variable("Y", dims, base="Y"), spread),))


def test_a_turned_matrix_that_is_spread_is_copied() -> None:
    turned = array(Permute((1, 0)), X)
    (found,) = straightened(added(turned, m, k, n), SPEED, str).returns
    assert found.args[1] is array(Copy(), turned)


def test_what_is_read_twice_is_copied_once() -> None:
    turned = array(Permute((1, 0)), X)
    first, second = added(turned, m, k, n), added(turned, m, m, k, n)
    code = straightened(Code((), first.returns + second.returns), SPEED, str)
    copy = array(Copy(), turned)
    assert code.statements == (Let("Xt", copy),)
    assert all(x.args[1] is bound("Xt", copy) for x in code.returns)


@pytest.mark.parametrize(
    ("spread", "dims"),
    [
        (X, (m, n, k)),  # which lies along its rows
        (array(Permute((1, 0)), X), (k, n)),  # each entry of which is read once
        (array(Permute((1, 0)), variable("V", (k, n))), (m, n, k)),  # short rows
        (array(Permute((1, 0, 2)), variable("Z", (m, n, k))), (k, n, m, k)),
    ],
)
def test_others_are_read_where_they_are(spread: Array, dims: tuple[Dim, ...]) -> None:
    code = added(spread, *dims)
    assert straightened(code, SPEED, str).returns == code.returns


@pytest.mark.parametrize("backend", ["numpy", "cupy"])
@pytest.mark.parametrize("hint", [100, 1000])
def test_differences_of_rows_go_along_rows(backend: str, hint: int) -> None:
    text = tensorgen.generate(
        f"""
tensorgen: 1
module: kernel
dims: {{n: {hint}}}
inputs: {{X: [n, 8], W: [n, n]}}
functions:
  f: {{expr: "sum(W[i, j]*exp(-sum(abs(X[i, k] - X[j, k]), k)/2), i, j)"}}
""",
        backend=backend,
    )
    assert len(re.findall(r"X\.T\b", text)) == 1
    assert "X.T.copy()" in text
