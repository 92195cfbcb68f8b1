"""Random graphs: lowered code computes what the interpreter does."""

from __future__ import annotations

import pytest

from tests.lower.support import RandomGraph, check
from tests.sampled import sampled

SIZES = [
    {"n": 3, "m": 2, "k": 4},
    {"n": 1, "m": 2, "k": 3},
    {"n": 2, "m": 2, "k": 5},
    {"n": 0, "m": 2, "k": 3},
]


@pytest.mark.parametrize("start", sampled(range(0, 400, 50), 2))
def test_random_graphs_compute_what_they_mean(start: int) -> None:
    for seed in range(start, start + 50):
        grown = RandomGraph(seed, SIZES[seed % len(SIZES)])
        roots = grown.grow(7)
        dtype = "float32" if seed % 5 == 0 else "float64"
        check(grown.graph, roots, grown.sizes, seed, dtype)
