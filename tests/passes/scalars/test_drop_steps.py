"""Terms of derivatives that are 0 on both sides of a step are not computed."""

from __future__ import annotations

import numpy as np
import pytest

from tests.made import generate, load

SPEC = """tensorgen: 1
module: steps
inputs: {x: [n], y: [n], c: scalar}
functions:
  clipped:
    {expr: 'sum(clip(x, -c, c)*(x - clip(x, -c, c)/2))', wrt: x, emit: [gradient]}
  below: {expr: 'sum(minimum(x, y)*(x - minimum(x, y)/2))', wrt: x, emit: [gradient]}
  above: {expr: 'sum(maximum(x, y)*(x - maximum(x, y)/2))', wrt: x, emit: [gradient]}
  other: {expr: 'sum(minimum(x, y)*(y - minimum(x, y)/2))', wrt: x, emit: [gradient]}
"""


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("clipped", "np.clip(x, -c, c)"),
        ("below", "np.minimum(x, y)"),
        ("above", "np.maximum(x, y)"),
    ],
)
def test_the_derivative_by_what_is_clipped_is_the_clip(name: str, call: str) -> None:
    text = generate(SPEC).split(f"def {name}_grad(")[1].split("\ndef ")[0]
    assert f"return {call}" in text and "sign" not in text, text


def test_what_vanishes_on_one_side_alone_stays() -> None:
    text = generate(SPEC).split("def other_grad(")[1].split("\ndef ")[0]
    assert "np.sign(" in text, text
    x, y = np.array([-1.0, 0.5, 2.0, 3.0]), np.array([0.0, 0.5, 1.0, np.inf])
    grad = load(SPEC).other_grad(x[:3], y[:3])
    np.testing.assert_array_equal(grad, [1, 0, 0])


def test_derivatives_have_values_where_a_step_hides_infinity() -> None:
    x = np.array([-np.inf, -2, -1.5, 0.5, 1.5, 2, np.inf, np.nan])
    expected = np.array([-1.5, -1.5, -1.5, 0.5, 1.5, 1.5, 1.5, np.nan])
    np.testing.assert_array_equal(load(SPEC).clipped_grad(x, c=1.5), expected)
