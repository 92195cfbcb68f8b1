"""What stands side by side along one axis is concatenated."""

from __future__ import annotations

import numpy as np
import pytest

from tests.made import generate, load

SPEC = """tensorgen: 1
inputs: {{u: [m, n], top: [n], left: [m], v: [n], c: scalar}}
functions:
  f:
    expr: '{}'
    emit: [value]
"""
CASES = {
    "concatenate([v, [c]])": "np.concatenate([v, np.full(1, c, dtype=dtype)])",
    "concatenate([[-inf], v])": (
        "np.concatenate([np.full(1, -np.inf, dtype=dtype), v])"
    ),
    "concatenate([top[None, :], u], axis=0)": "np.concatenate([top[None], u])",
    "concatenate([u, left[:, None]], axis=1)": (
        "np.concatenate([u, left[:, None]], axis=1)"
    ),
    "concatenate([u, 2*u, u], axis=1)": "np.concatenate([u, 2 * u, u], axis=1)",
}


def statements(expr: str) -> str:
    """The statements of a function."""
    return generate(SPEC.format(expr)).split("def f(")[1].split('"""')[2]


@pytest.mark.parametrize("expr", CASES)
def test_a_concatenation_is_written_as_one(expr: str) -> None:
    body = statements(expr)
    assert CASES[expr] in body and "zeros" not in body


@pytest.mark.parametrize(
    "expr",
    [
        "stack([v, c*v, v])",  # rows are stored where they belong
        "concatenate([v, [c]])[1:] + v",  # read as entries
        "concatenate([zeros(2), v])",  # zeros are written by nobody
    ],
)
def test_what_is_no_concatenation_is_not(expr: str) -> None:
    assert "np.concatenate" not in statements(expr)


def test_single_precision_stays() -> None:
    module = load(SPEC.format("concatenate([v, [c]])"))
    v = np.array([1, 2], np.float32)
    found = module.f(v, np.float32(3))
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, [1, 2, 3])
