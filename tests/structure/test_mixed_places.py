"""Strides, fixed entries, reversals and index arrays beside one another."""

from __future__ import annotations

from typing import Any

import pytest

from tests.made import load
from tests.programs.check_structured import check
from tests.programs.structured import StructuredProgram, Term

HESSIAN = ("gradient", "hessian", "dense_hessian", "hvp")
JOINT = HESSIAN[:3]
JACOBIAN = ("jacobian", "dense_jacobian", "jvp")
THIRD = ("dense_hessian", 3)
SHAPES: dict[str, tuple[str, ...]] = {
    **{"x": ("2*n",), "y": ("n",), "A": ("m", "n")},
    **{"s": ("e",), "t": ("e",), "w": ("e",)},
}
CASES: list[tuple[tuple[Any, ...], str]] = [
    (HESSIAN, "sum(exp(x[::2]*x[1::2])) + sum(cosh(x))"),
    (HESSIAN, "sum(exp(x[::2]*x[1::2])) + sum((x[1:] - x[:-1])**4)"),
    (HESSIAN, "sum(x[2*s[k]]**2 * x[t[k]]**2 * w[k], k)"),
    (HESSIAN, "sum(x[2*s[k] + 1]**3 * w[k], k) + sum(sin(x[::2]) * x[1::2])"),
    (HESSIAN, "x[0]**2 * x[2*n - 1]**2 + sum(x[1::2]**3)"),
    (HESSIAN, "x[0]**2 * sum(x**2) + sum(x[::2]**3 * x[1::2])"),
    (HESSIAN, "sum(x * flip(x) * x)"),
    (HESSIAN, "norm(A @ x[::2])**2 + sum(x[1::2]**4)"),
    (HESSIAN, "sum(x[i + n]**2 * x[2*i]**2, i=range(n))"),
    (HESSIAN, "sum(x[2*i + 1]**2 * x[n - 1 - i]**2, i=range(n))"),
    (HESSIAN, "sum((x[s] - x[t])**4 * w) + x[0]**2 * x[1]**2"),
    (THIRD, "sum(exp(x[::2]*x[1::2]))"),
    (THIRD, "sum(x[s] * x[t]**2 * x[0] * w) + x[1]**4"),
    (JOINT, "sum(y**2 * x[::2]**2) + sum(x[1::2]**3)"),
    (JOINT, "sum(y[s]**2 * x[t]**2 * w) + sum(x[1::2]*y*y)"),
    (JACOBIAN, "concatenate([x[::2]**2, exp(x[1::2]), x[t]])"),
    (JACOBIAN, "concatenate([x[::2]**2, x[0]*y, exp(x)])"),
    (JACOBIAN, "flip(x[::2])**2 + x[1::2]"),
    (JACOBIAN, "exp(x[::2]) + x[0]"),
    (JACOBIAN, "stack([x[::2]**2, flip(x[1::2])])"),
    (JACOBIAN, "A @ exp(x[::2])"),
]


@pytest.mark.parametrize(("emit", "text"), CASES, ids=[text for _, text in CASES])
@pytest.mark.parametrize("sizes", [{"n": 3, "m": 2, "e": 4}, {"n": 1, "m": 1, "e": 1}])
def test_all_methods_agree_with_the_dense_derivative(
    emit: tuple[Any, ...], text: str, sizes: dict[str, int]
) -> None:
    wrt = ("x", "y") if emit == JOINT else ("x",)
    sides = {**sizes, "2*n": 2 * sizes["n"]}
    bounds = {"s": "n", "t": "2*n"}
    terms = (Term(text),)
    program = StructuredProgram(3, emit, terms, "f", wrt, SHAPES, bounds, sides, "")
    assert not [*check(program, load(program.text))]
