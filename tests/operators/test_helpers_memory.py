"""Helpers that go over arrays hold few of them at a time."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np

from tests.made import load

SLOPE = """
tensorgen: 1
inputs: {t: [n]}
functions:
  f: {expr: sum(tanh(t)), wrt: t, emit: [gradient]}
"""


def test_the_slope_of_tanh_holds_two_arrays() -> None:
    module: Any = load(SLOPE)
    t = np.linspace(-3, 3, 200_000)
    slope = module._sech2(t)
    np.testing.assert_allclose(slope, 1 / np.cosh(t) ** 2, 1e-14)
    tracemalloc.start()
    module._sech2(t)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 2.1 * t.nbytes
