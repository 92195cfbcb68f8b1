"""What depends on differences alone keeps its digits far from the origin."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorgen

FAR = 2.0**20
PLACES = """
tensorgen: 1
module: places
dims: {n: 300, d: 3}
inputs: {Y: [n, d], P: [n, n]}
functions:
  f:
    expr: sum(P[i, j] * log(1 + norm(Y[i, :] - Y[j, :])**2), i, j, i != j)
    wrt: Y
    emit: [gradient, hvp]
  g:
    expr: sum(P[i, j] * exp(-sum((Y[i, k] - Y[j, k])**2, k) / 2), i, j)
    wrt: Y
    emit: [gradient, hvp]
"""


@pytest.fixture(scope="module")
def module() -> Any:
    return tensorgen.load(PLACES)


def points(count: int) -> dict[str, Any]:
    """Arguments whose sums with FAR are what they are."""
    rng = np.random.default_rng(0)
    places = np.round(rng.normal(size=(count, 3)) * 2**20) / 2**20
    return {"Y": places, "P": rng.random((count, count))}


@pytest.mark.parametrize("name", ["f", "g"])
def test_slopes_of_distances_are_the_same_far_from_the_origin(
    module: Any, name: str
) -> None:
    near = points(40)
    far = {**near, "Y": near["Y"] + FAR}
    dY = np.random.default_rng(1).normal(size=(40, 3))
    slope = getattr(module, f"{name}_grad")
    product = getattr(module, f"{name}_hvp")
    for found, expected in (
        (slope(**far), slope(**near)),
        (product(**far, dY=dY), product(**near, dY=dY)),
    ):
        np.testing.assert_allclose(
            found, expected, rtol=0, atol=2e-14 * np.abs(expected).max()
        )


def test_slopes_are_row_sums_and_products_still(module: Any) -> None:
    text = tensorgen.generate(PLACES)
    slope = text.partition("def f_grad")[2].partition("\ndef ")[0]
    assert "Y_centred" in slope and "[:, None, :]" not in slope
    assert " @ Y_centred" in slope


def test_no_points_have_no_slopes(module: Any) -> None:
    with np.errstate(invalid="ignore"):  # of their mean
        assert module.g_grad(**points(0)).shape == (0, 3)
