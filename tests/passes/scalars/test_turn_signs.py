"""What is only read with its sign changed is computed with that sign."""

from __future__ import annotations

import pytest

from tests.made import generate

SPEC = """tensorgen: 1
inputs: {{x: [n], y: [n], c: scalar}}
functions:
  f: {{{where}expr: '{expr}', emit: [value]}}
"""


def value(expr: str, where: str = "") -> str:
    """The statements of the function's value."""
    text = generate(SPEC.format(expr=expr, where=where))
    return text.split("def f(")[1].split('"""')[2].split("\n\n\n")[0]


@pytest.mark.parametrize(
    ("expr", "text"),
    [
        ("sum(expm1(-(x - y)))", "return np.expm1(y - x).sum()"),
        ("sum(expm1(-2*(x - y)))", "return np.expm1(2 * (y - x)).sum()"),
        ("sum(expm1(-(x + y)))", "return np.expm1(-(x + y)).sum()"),
        ("sum(expm1(x - y))", "return np.expm1(x - y).sum()"),
    ],
)
def test_a_difference_has_the_sign_that_is_read(expr: str, text: str) -> None:
    assert value(expr).endswith(text)


def test_what_is_read_with_both_signs_stays_one() -> None:
    text = value("sum(expm1(x - y)*expm1(-(x - y)))")
    assert "np.expm1(-x_minus_y)" in text


def test_what_is_squared_as_well_is_turned() -> None:
    text = value("sum(expm1(-(x - y))*(x - y)**2)")
    assert "np.expm1(y_minus_x)" in text and "y_minus_x**2" in text


def test_what_has_a_name_stays() -> None:
    assert "np.expm1(-d)" in value("sum(expm1(-d))", "where: 'd = x - y', ")
