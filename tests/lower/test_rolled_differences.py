"""What is rolled one way less the other is a difference of two concatenations."""

from __future__ import annotations

import numpy as np
import pytest

from tests.made import generate, load

SPEC = """
tensorgen: 1
inputs: {x: [n]}
functions:
  f:
    where: |
      slope = %s
    expr: sum(slope**2 * x)
    emit: value
"""


@pytest.mark.parametrize(
    "slope",
    ["roll(x, -1) - roll(x, 2)", "-roll(x, -1) - roll(x, 1) - roll(x, 3)"],
    ids=["difference", "negative"],
)
def test_rolls_are_written_side_by_side(slope: str) -> None:
    spec = SPEC % slope
    text = generate(spec)
    assert "np.zeros" not in text
    assert text.count("np.concatenate") == slope.count("roll")
    x = np.arange(7.0) ** 2
    want = eval(slope, {"roll": np.roll, "x": x})
    assert load(spec).f(x=x) == pytest.approx((want**2 * x).sum())


def test_a_slope_is_no_laplacian() -> None:
    cubed = SPEC.replace("slope**2", "(roll(x, -1) - roll(x, 2))**3") % "x"
    assert "laplacian" not in generate(cubed)
