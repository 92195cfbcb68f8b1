"""Terms that are alike are one, however they came to stand in a sum."""

from __future__ import annotations

import pytest

import tensorgen
from tests import goldens
from tests.made import source

SPEC = """
tensorgen: 1
inputs: {{v: [n], w: [n], s: scalar, t: {{shape: scalar, positive: true}}}}
functions:
  f:
    where: |
      y = v - w
    expr: {}
"""
MPC = goldens.FOLDER.parents[1] / "examples" / "gallery" / "mpc.yaml"


@pytest.mark.parametrize(
    ("expr", "written"),
    [
        ("v * (1 / (s * t) - 1 / s / t) + w", "w.copy()"),
        ("sqrt(t) * v - t / sqrt(t) * v + w", "w.copy()"),
        ("y + w", "v.copy()"),
        ("v - w / 2 + y", "2 * v - 1.5 * w"),
        ("v * (1 + sum(1, i=range(n - 1)))", "n * v"),
        ("v * (1 + 1.5 * sum(1, i=range(n - 1)))", "(1 + 1.5 * (n - 1)) * v"),
    ],
)
def test_a_sum_has_no_like_terms(expr: str, written: str) -> None:
    text = source(tensorgen.generate(SPEC.format(expr)), "f")
    assert text.rpartition("return ")[2].strip() == written


def test_a_matrix_that_is_symmetric_meets_its_transpose_where_it_is_placed() -> None:
    text = tensorgen.generate(MPC)
    assert "S + S" not in text and "A[-1, :2, :2] += S" in text
