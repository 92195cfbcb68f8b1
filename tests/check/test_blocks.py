"""Code by blocks is held against calculus like any other: at blocks of two entries."""

from __future__ import annotations

from pathlib import Path

import pytest

import tensorgen
from tensorgen.arrays import cache_blocks, rewrites, speed

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


class Anywhere(speed.Speed):
    """Takes all sizes for known ones, and the same."""

    def __init__(self, *given: object) -> None:
        """Forget all hints."""
        super().__init__({})

    def knows(self, *dims: object) -> bool:
        """All of them."""
        return True

    def entries(self, dims: object) -> int:
        """Enough for anything to be large."""
        return 2**30


@pytest.mark.parametrize(
    "name",
    [
        "attention_layer",
        "gaussian_mixture",
        "matrix_factorization",
        "poisson_regression",
        "softmax_regression",
        "tanh_network",
        "total_variation",
    ],
)
def test_blocks_of_two_entries_compute_what_calculus_states(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    loops = 0

    def counted(plan: cache_blocks.Schedule, *given: object) -> float:
        nonlocal loops
        loops += 1
        return 2.0

    monkeypatch.setattr(rewrites.Scene, "speed_in_blocks", Anywhere())
    monkeypatch.setattr(cache_blocks.Schedule, "gain", counted)
    monkeypatch.setattr(cache_blocks, "BLOCK", 2)
    monkeypatch.setattr(cache_blocks, "BLOCK_OF_PRODUCTS", 2)
    text = tensorgen.generate(EXAMPLES / f"{name}.yaml")
    assert loops and "for block in _blocks(" in text
