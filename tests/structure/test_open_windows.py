"""Hessians of functions of moving sums: bands, each of which is a moving sum."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorgen

SPEC = """tensorgen: 1
inputs: {{z: [n], c: [n]}}
functions:
  f: {{expr: "{}", wrt: z, emit: [hessian, hvp]}}
"""
TEXTS = {
    "sum(exp(sum(z[i + k], k=range(4))), i)": 7,
    "sum(c * exp(z)) + sum(exp(2*sum(z[i + k], k=range(3))), i)": 5,
    "sum(c[i] * exp(sum(z[j], j, i - 2 <= j, j <= i + 1)), i)": 7,
    "sum(exp(z[1:] + z[:-1])) + sum(sum(z[i:i + 3])**3, i=range(n - 2))": 5,
}


@pytest.mark.parametrize("text", TEXTS)
def test_windows_that_two_axes_share_are_bands(text: str) -> None:
    module: Any = tensorgen.load(SPEC.format(text))
    n, names = 11, ("z", "c") if "c" in text else ("z",)
    given = dict(zip(names, np.random.default_rng(0).normal(size=(2, n)), strict=False))
    H = module.f_hess(**given)
    assert H.structure.startswith(f"band of {TEXTS[text]} diagonals")
    columns = [module.f_hvp(**given, dz=along) for along in np.eye(n)]
    np.testing.assert_allclose(H.dense(), columns, rtol=1e-12, atol=1e-12)
    b = np.ones(n)
    np.testing.assert_allclose(H @ b, H.dense() @ b)
    solved = H.solve(b, shift=2.0)
    np.testing.assert_allclose(H.dense() @ solved + 2 * solved, b, atol=1e-10)


def test_a_window_of_many_entries_stays_an_array() -> None:
    text = "sum(exp(sum(z[i + k], k=range(40))), i)"
    assert "class FHessian" not in tensorgen.generate(SPEC.format(text))
