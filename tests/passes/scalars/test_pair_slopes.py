"""Two functions of one array are one slope, where nothing else needs them."""

from __future__ import annotations

import re

import numpy as np
import pytest

import tensorgen

SPEC = """
tensorgen: 1
inputs: {X: [m, n], w: [n], y: [m]}
functions:
  nll:
    where: t = y * (X @ w)
    expr: -sum(log(%s(t)))
    wrt: w
    emit: [hessian, hvp]
"""


@pytest.mark.parametrize(
    ("function", "one", "others"),
    [
        ("sigmoid", "_sigmoid_slope", ["_sigmoid"]),
        ("ndtr", "_mills_fall", ["_inverse_mills", "_mills_gap"]),
    ],
)
def test_a_slope_is_one_call(function: str, one: str, others: list[str]) -> None:
    source = tensorgen.generate(SPEC % function)
    text = source[source.index("def nll_hvp") :].partition("\ndef ")[0]
    assert f"{one}(" in text
    assert not any(re.search(rf"{other}\(", text) for other in others)


def test_slopes_are_those_of_differences() -> None:
    module = tensorgen.load(SPEC % "ndtr")
    rng = np.random.default_rng(5)
    X, w, y = rng.normal(size=(9, 3)), rng.normal(size=3), rng.choice([-1.0, 1.0], 9)
    hessian = module.nll_hess(X, w, y).dense()
    product = module.nll_hvp(X, w, y, np.array([1.0, 2.0, -1.0]))
    np.testing.assert_allclose(hessian @ [1.0, 2.0, -1.0], product, rtol=1e-12)
    assert (np.linalg.eigvalsh(hessian) > 0).all()
