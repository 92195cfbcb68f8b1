"""Kernels are checked by their text: other text is refused, and faults are found."""

from __future__ import annotations

import ast
import re
from typing import Any

import pytest

from tensorgen.arrays import scalar_text
from tensorgen.arrays.kernels import Kernel
from tensorgen.arrays.regions import Region
from tensorgen.arrays.scalar_text import Tightness
from tensorgen.calculus.requests import Mode
from tensorgen.check import Report
from tensorgen.check.kernel_text import Unsound, lines_of
from tensorgen.errors import InternalError, Source
from tensorgen.pipeline import compile_spec

SPEC = """
tensorgen: 1
inputs: {x: [n], y: [n], X: [m, n]}
functions:
  f:
    expr: sum(exp(x) * (y - 1) / 3 + where(x < y, x, maximum(x, 2*y)))
    wrt: x
    emit: [value, gradient]
"""


def kernel(*lines: str, made: str = "T z") -> Kernel:
    return Kernel("z", ("T x", "T y", "bool m"), (made,), lines)


@pytest.mark.parametrize(
    "lines",
    [
        ["z = x * 0.5;"],  # a double
        ["z = 1 / 2 * x;"],  # no half
        ["z = w + x;"],
        ["z = erfcx(x);"],
        ["z = x[0];"],
        ["z = x;", "z = y;"],
        ["x = y;", "z = x;"],
        ["const T z = x;"],
        ["const T a = x;"],
        ["t = x;", "z = t;"],
        ["const float a = x;", "z = a;"],
        ["const T i = x;", "z = i;"],
        ["z = x"],
        ["z = x y;"],
        ["z = (x;"],
        ["z = m ? x;"],
    ],
)
def test_what_is_no_text_of_a_kernel_is_refused(lines: list[str]) -> None:
    with pytest.raises(Unsound):
        lines_of(kernel(*lines))


def test_expressions_are_read_as_c_reads_them() -> None:
    (line,) = lines_of(kernel("z = -x * y - x / y / T(0.5) + (m && !m ? 1 : x);"))
    assert line.kind == "T"
    assert ast.unparse(line.value).replace("?:", "where") == (
        "-x * y - x / y / T(0.5) + where(m & ~m, 1, x)"
    )
    (line,) = lines_of(kernel("z = x < y || x == 1 && m;", made="bool z"))
    assert ast.unparse(line.value) == "(x < y) | (x == 1) & m"


def report(spec: str, mode: Mode = "cross-country") -> Report:
    found: dict[str, Report] = {}
    text = compile_spec(
        Source("<text>", spec), ["cupy"], mode, report=found.__setitem__
    )
    assert all(
        re.search(r"= (cp\.ElementwiseKernel|_Sums)\(", x) for x in text.values()
    )
    (one,) = found.values()
    return one


def test_kernels_are_held_exactly_against_calculus() -> None:
    assert report(SPEC).exact == ["f", "f_grad", "f_value_and_grad"]


@pytest.mark.parametrize(
    ("table", "key", "fault"),
    [
        ("_JOINED", ast.Sub, ("+", Tightness.SUM)),
        ("_JOINED", ast.Mult, ("+", Tightness.TERM)),
        ("_JOINED", ast.Div, ("*", Tightness.TERM)),
        ("_JOINED", ast.Sub, ("-", Tightness.UNARY)),
        ("_SIGNS", ast.Lt, ">"),
    ],
)
def test_faults_of_the_printer_are_found(
    table: str, key: Any, fault: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(getattr(scalar_text, table), key, fault)
    with pytest.raises(InternalError):
        report(SPEC)


SUMS = """
tensorgen: 1
inputs: {X: [n, n], x: [n]}
functions:
  f: {expr: "sum(exp(X * x), axis=1) / n"}
"""


def test_sums_in_kernels_are_held_exactly_against_what_is_stated() -> None:
    assert report(SUMS).exact == ["f"]


def test_a_sum_along_another_axis_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Region, "axes", (0,))
    with pytest.raises(InternalError):
        report(SUMS)


def test_a_fault_of_what_is_done_after_a_sum_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(scalar_text._JOINED, ast.Div, ("*", Tightness.TERM))
    with pytest.raises(InternalError):
        report(SUMS)


def test_what_is_chosen_of_pythons_numbers_has_a_type_of_its_own() -> None:
    """A kernel is given it as it is, like integers, and makes it one of its numbers."""
    spec = """
tensorgen: 1
inputs: {A: [n, m]}
functions:
  f: {expr: "mean(huber(A[0], 0.7))", wrt: A, emit: hvp}
"""
    assert "f_hvp" in report(spec, "forward").exact
