"""Levels of sums of exponentials, and which of their terms count."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import logsumexp

from tensorgen.ir.nodes import Map, topological
from tests.lang.speak import function, numbers, value


@pytest.mark.parametrize(
    ("weights", "labels"),
    [
        ("A[i, j]**2", "i, j"),
        ("A[i, j]**2 * w[j]**2", "i, j"),
        ("A[i, j]**2 * B[p, i, j]**2", "i, j, p"),
    ],
)
def test_what_counts_is_asked_of_no_table_of_weights(weights: str, labels: str) -> None:
    text = f"log(sum({weights} * exp(800 * v[i]), {labels}))"
    maps = [x for x in topological([function(text).node]) if isinstance(x, Map)]
    assert [x.order for x in maps if x.function == "not_equal"] == [1]
    # The row that has the largest exponent has no weights.
    A = numbers()["A"] * np.array([1, 0, 1, 1])[:, None]
    found = value(text, given={"A": A, "v": np.array([-1.0, 2.0, 1.0, 0.5])})
    assert abs(found - 800) < 10


def test_keys_of_two_axes_are_compared_with_one_key_entry_by_entry() -> None:
    exponent = "300 * sin(w[tri[p, q]] + p + 2*q)"
    picked = f"where(tri[p, q] == tri[i, 1], exp({exponent}), 0)"
    found = value(f"log(sum({picked}, p, q))", left="f[i]")
    keys, w = numbers()["tri"], numbers()["w"]
    exponents = [
        [
            300 * np.sin(w[keys[*at]] + at[0] + 2 * at[1])
            for at in np.argwhere(keys == key)
        ]
        for key in keys[:, 1]
    ]
    np.testing.assert_allclose(found, [logsumexp(x) for x in exponents], rtol=1e-13)
