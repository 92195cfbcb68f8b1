"""Small whole powers of arrays are products of squares, which others share."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import tensorgen
from tensorgen.arrays.arrays import array, variable
from tensorgen.arrays.operations import Multiply, Power
from tensorgen.arrays.speed import Speed
from tensorgen.ir.dims import Dim
from tests.made import source

SPEC = """
tensorgen: 1
module: powers
dims: {n: 1000, m: 50}
inputs: {x: [n], s: scalar, A: [m, n], b: [m]}
functions:
"""
EXPONENTS = (-8, -7, -6, -5, -4, -3, -2, 3, 4, 5, 6, 7, 8)
POWERS = SPEC + "".join(
    f"  {'up' if k > 0 else 'down'}_{abs(k)}: {{expr: x**{k}}}\n" for k in EXPONENTS
)


def lines(expr: str, wrt: str = "x", backend: str = "numpy") -> list[str]:
    """The statements of a value and its gradient."""
    spec = f"{SPEC}  f: {{expr: {expr}, wrt: {wrt}, emit: [value, gradient]}}\n"
    text = tensorgen.generate(spec, backend=backend)
    _, _, function = text.partition("def f_value_and_grad(")
    body = re.split(r'"""', function)[2].split("\n\n")[0]
    return [line.strip() for line in body.splitlines() if "_arrays(" not in line][1:]


def test_one_square_serves_a_power_and_its_derivative() -> None:
    assert lines("sum(x**4)") == [
        "x_squared = x**2",
        "f = x_squared @ x_squared",
        "grad = 4 * x_squared * x",
        "return f, grad",
    ]
    assert lines("sum(x**4)", backend="cupy") == [
        "x_squared, grad = _x_squared_and_grad(x)",
        "f = x_squared @ x_squared",
        "return f, grad",
    ]


def test_a_power_below_a_fraction_line_is_a_product_there() -> None:
    assert lines("sum(x**-3)") == [
        "x_squared = x**2",
        "f = (1 / (x_squared * x)).sum()",
        "grad = -3 / x_squared**2",
        "return f, grad",
    ]


def test_what_is_raised_is_computed_once() -> None:
    assert lines("sum((A @ x - b)**3)") == [
        "residual = A @ x - b",
        "residual_squared = residual**2",
        "f = (residual_squared * residual).sum()",
        "grad = 3 * (A.T @ residual_squared)",
        "return f, grad",
    ]


def test_a_square_of_what_has_no_name_is_called_after_it() -> None:
    spec = SPEC + "  f: {expr: sum((A @ x - b)**4)}\n"
    assert "A_x_minus_b_squared = (A @ x - b) ** 2\n" in tensorgen.generate(spec)


def test_a_fourth_power_that_several_need_is_called_so() -> None:
    spec = f"{SPEC}  f: {{expr: sum(x**6 + 3 * x**5), wrt: x, emit: [value, gradient]}}"
    whole = source(tensorgen.generate(spec), "f_value_and_grad")
    text = re.sub(r'"""[\s\S]*?"""', "", whole)
    first, others = text.split("x_fourth = x_squared**2")
    assert "x_squared = x**2" in first and "**" not in others


def test_powers_of_numbers_are_powers() -> None:
    assert "f = s**5 * sum_x" in lines("s**5 * sum(x)", "s")


def test_large_powers_are_powers() -> None:
    assert "f = (x**9).sum()" in lines("sum(x**9)")


def test_steps_and_blocks_multiply() -> None:
    code = tensorgen.generate("""
tensorgen: 1
module: powers
dims: {n: 1000, d: 20}
inputs: {h0: [d], W: [d, d], x: [n], y: [n]}
functions:
  steps:
    where: |
      h[0] = h0
      h[t=range(1, n)] = tanh(W @ h[t - 1])**3
    expr: sum(h[n - 1])
    wrt: h0
    emit: [value, gradient]
  pairs: {expr: "sum((x[i] - y[j])**7, i, j)"}
""")
    code = re.sub(r'"""(.|\n)*?"""', "", code)
    assert "for t in range(" in code
    assert "for block in _blocks(" in code
    assert re.search(r"_squared\b", code)
    assert not re.search(r"\*\* ?[3-8]", code)


@pytest.fixture(scope="module")
def powers() -> Any:
    """A power a function."""
    return tensorgen.load(POWERS)


def _of(powers: Any, k: int, x: Any) -> Any:
    return getattr(powers, f"{'up' if k > 0 else 'down'}_{abs(k)}")(x)


@pytest.mark.parametrize("k", EXPONENTS)
def test_the_result_is_the_power_of_a_number_within_rounding(
    powers: Any, k: int
) -> None:
    x = np.random.default_rng(abs(k)).normal(size=300)
    unit = Fraction(1, 2**53) * (k - 1 if k > 0 else -k)
    for value, found in zip(x, _of(powers, k, x), strict=True):
        exact = Fraction(float(value)) ** k
        assert abs(Fraction(float(found)) - exact) <= unit * abs(exact)
    single = _of(powers, k, x.astype(np.float32))
    assert single.dtype == np.float32
    wide = x.astype(np.float32).astype(float) ** k
    np.testing.assert_allclose(single, wide, rtol=abs(k) * 2.0**-24)


@pytest.mark.parametrize("k", EXPONENTS)
def test_extreme_numbers_come_out_as_of_a_power(powers: Any, k: int) -> None:
    sizes = 10.0 ** (305 / abs(k) * np.array([-1, -0.5, 0.5, 1]))
    beyond = 10.0 ** (330 / abs(k) * np.array([-1, 1]))
    x = np.array([0.0, np.inf, 1e-320, *sizes, *beyond])
    x = np.array([*x, *-x, np.nan])
    with np.errstate(all="ignore"):
        found, wanted = _of(powers, k, x), x ** float(k)
        known = np.isfinite(wanted) & (abs(wanted) >= np.finfo(float).tiny)
        np.testing.assert_allclose(found[known], wanted[known], rtol=1e-15)
        np.testing.assert_array_equal(found[~known], wanted[~known])
        np.testing.assert_array_equal(
            np.signbit(found[~known]), np.signbit(wanted[~known])
        )


def test_a_power_that_is_none_costs_more_than_products() -> None:
    x = variable("x", (Dim.of("n"),))
    speed = Speed({"n": 1000})
    square, ninth = (array(Power(Fraction(k)), x) for k in (2, 9))
    product = array(Multiply(Fraction(1), 2), x, x)
    assert speed.work(square) == speed.work(product)
    assert speed.work(ninth) > 8 * speed.work(product)
