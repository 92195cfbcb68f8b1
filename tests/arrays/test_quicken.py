"""Logarithms of logistic functions of large arrays are made by quick helpers."""

from __future__ import annotations

import numpy as np
import pytest

import tensorgen
from tests.made import generate, load

SPEC = """tensorgen: 1
module: quick
dims: {n: SIZE}
inputs: {x: [n], y: [n]}
functions: {f: {expr: "EXPR", wrt: x, emit: [value]}}
"""
FUNCTIONS = {
    "log(1 + exp(x*y))": lambda x, y: np.logaddexp(0, x * y),
    "log(1 + exp(-x*y))": lambda x, y: np.logaddexp(0, -x * y),
    "y + log(1 + exp(-x))": lambda x, y: y + np.logaddexp(0, -x),
    "softplus(2*x)": lambda x, y: np.logaddexp(0, 2 * x),
    "log(sigmoid(x))": lambda x, y: -np.logaddexp(0, -x),
    "y*log(sigmoid(-x))": lambda x, y: -y * np.logaddexp(0, x),
}


def spec(expr: str, size: int) -> str:
    return SPEC.replace("EXPR", expr).replace("SIZE", str(size))


@pytest.mark.parametrize("expr", FUNCTIONS)
def test_all_digits_are_those_of_the_call(expr: str) -> None:
    x = np.concatenate([np.linspace(-40, 40, 801), [-1e3, 1e3, -1e-9, 0.0, 1e300]])
    y = np.linspace(0.5, 2, x.size)
    large = spec(expr, 5000)
    assert "logaddexp" not in generate(large) and "np.log1p(e)" in generate(large)
    module = load(large)
    given = {
        name: a for name, a in (("x", x), ("y", y)) if name in expr.replace("exp", "")
    }
    found = module.f(**given)
    np.testing.assert_allclose(found, FUNCTIONS[expr](x, y), rtol=4e-15, atol=0)


def test_infinities_are_those_of_the_call() -> None:
    x, y = np.array([np.inf, -np.inf, np.nan]), np.ones(3)
    found = load(spec("log(1 + exp(x*y))", 5000)).f(x=x, y=y)
    np.testing.assert_array_equal(found, [np.inf, 0, np.nan])


def test_what_is_small_or_unknown_or_not_for_numpy_keeps_its_call() -> None:
    for size in ("n", "1000"):
        text = SPEC.replace("EXPR", "log(1 + exp(x*y))").replace("SIZE", size)
        text = text.replace("dims: {n: n}\n", "")
        assert "np.logaddexp(0, x * y)" in generate(text)
    large = spec("log(1 + exp(x*y))", 5000)
    assert "logaddexp(T(0), x * y)" in tensorgen.generate(large, backend="cupy")
