"""Sums over ranges that depend on one another are nested running sums."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests import made

SPELLINGS = [
    "sum(sum(Z[j, l], l=range(j, i + 1)), j=range(i + 1))",
    "sum(Z[j, l], j, l, j <= l, l <= i)",
    "sum(sum(Z[j, l], j=range(l + 1)), l=range(i + 1))",
]


@pytest.mark.parametrize("body", SPELLINGS)
def test_a_sum_over_a_range_within_a_range_is_as_long_as_what_it_adds_up(
    body: str,
) -> None:
    model: Any = made.load(
        "tensorgen: 1\ninputs: {Z: [n, n]}\nfunctions:\n"
        f"  f[i=range(n)]: '{body}'\n"
        "  g: {expr: 'sum(sin(f[i]), i)', wrt: Z, emit: [value, gradient]}\n"
    )
    Z = np.random.default_rng(0).normal(size=(6, 6))
    truth = np.array([np.triu(Z[: i + 1, : i + 1]).sum() for i in range(6)])
    np.testing.assert_allclose(model.f(Z), truth)
    later = np.cumsum(np.cos(truth)[::-1])[::-1]
    np.testing.assert_allclose(model.g_grad(Z), np.triu(np.tile(later, (6, 1))))
    assert "n**3" not in (model.f.__doc__ + model.g_grad.__doc__)
