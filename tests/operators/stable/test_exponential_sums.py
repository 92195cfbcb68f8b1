"""Sums of exponentials, whatever stands beside them, seen as one thing."""

from __future__ import annotations

import numpy as np

from tests.made import generate, load

ROLLED = """tensorgen: 1
inputs: {eta: [n]}
functions:
  f: {expr: "log(cumsum(roll(exp(eta), 1) + exp(eta)))"}
"""


def test_entries_that_are_read_elsewhere_are_no_further_axis_of_a_sum() -> None:
    assert "(n, n)" in generate(ROLLED) and "(n, n, n)" not in generate(ROLLED)
    eta = np.array([0.3, -1.0, 2.0, 0.5])
    expected = np.log(np.cumsum(np.roll(np.exp(eta), 1) + np.exp(eta)))
    np.testing.assert_allclose(load(ROLLED).f(eta), expected, rtol=1e-14)
