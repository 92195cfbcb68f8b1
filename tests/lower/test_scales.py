"""A number scales the smallest array of a product, whatever order its axes have."""

from __future__ import annotations

import numpy as np
import pytest

from tests.made import generate, load

SPEC = """
tensorgen: 1
inputs: {A: [m, n], B: [m, n], v: [m], w: [m]}
functions:
  rows: {expr: "A - 2*(v*w)[:, None]*B"}
  columns: {expr: "A.T - 3*B.T*(v*w)"}
  equal: {expr: "A - 2*(A*B)"}
  turned: {expr: "exp(A).T - 2*(w[:, None]*tanh(B)).T"}
"""
WRITTEN = {
    "rows": "A - 2 * (v * w)[:, None] * B",
    "columns": "A.T - 3 * (v * w) * B.T",
    "equal": "A - 2 * A * B",
    "turned": "np.exp(A.T) - 2 * w * np.tanh(B.T)",
}


@pytest.mark.parametrize("name", WRITTEN)
def test_a_number_scales_what_is_small(name: str) -> None:
    code = generate(SPEC).split(f"def {name}(")[1].split("\ndef ")[0]
    assert WRITTEN[name] in code
    rng = np.random.default_rng(0)
    A, B, v, w = (rng.normal(size=size) for size in ((2, 3), (2, 3), 2, 2))
    want = {
        "rows": A - 2 * (v * w)[:, None] * B,
        "columns": (A - 3 * (v * w)[:, None] * B).T,
        "equal": A - 2 * A * B,
        "turned": (np.exp(A) - 2 * w[:, None] * np.tanh(B)).T,
    }
    given = {"A": A, "B": B, "v": v, "w": w}
    function = getattr(load(SPEC), name)
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    found = function(**{x: given[x] for x in names})
    np.testing.assert_allclose(found, want[name], 1e-14)
