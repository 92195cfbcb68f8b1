"""What docstrings say of the price of functions."""

from __future__ import annotations

from fractions import Fraction

import pytest

import tensorgen
from tensorgen.arrays.cost_line import leading
from tensorgen.ir.dims import Dim

m, n, k = map(Dim.of, "mnk")
SPEC = """
tensorgen: 1
dims: {}
inputs: {{X: [m, n], w: [n], y: [m]}}
functions:
  f: {{expr: "sum(exp(X @ w - y))", wrt: w, emit: [value, gradient, hessian]}}
"""


def told(text: str) -> list[str]:
    """What the functions of a module say of their price."""
    source = " ".join(tensorgen.generate(text).split())
    return [part.split(" Raises")[0] for part in source.split(" Cost: ")[1:]]


@pytest.mark.parametrize(
    ("dim", "sizes", "said"),
    [
        (2 * m * n + 5 * m, {}, 2 * m * n),
        (2 * m * n + 5 * m, {"n": 10}, 2 * m * n + 5 * m),
        (m * n + m * k + n * k + k * k, {"n": 9}, m * k + k * k),
        (m * n + m * k + 2 * n * k + k * k, {}, k * k + k * m + 2 * k * n),
        ((m - 2) * (n - 2), {}, m * n),
        (k * k * 3 + n * Fraction(17, 8), {"k": 9}, 3 * k * k + 2 * n),
        (Dim.of(7), {}, Dim.of(7)),
        (Dim.of(0), {}, Dim.of(0)),
    ],
)
def test_the_terms_that_count_are_said(
    dim: Dim, sizes: dict[str, int], said: Dim
) -> None:
    assert leading(dim, sizes) == said


def test_functions_say_what_they_cost_and_hold() -> None:
    mixed = "2*m*n**2 flops; peak memory m*n + n**2 numbers if m*n + m < n*n:"
    assert told(SPEC.format("[m, n]")) == [
        "2*m*n flops; peak memory 2*m numbers",
        "4*m*n flops; peak memory 2*m numbers",
        "4*m*n flops; peak memory 2*m numbers",
        f"{mixed} 2*m*n flops; peak memory 2*m numbers",
        f"{mixed} 4*m*n flops; peak memory n numbers",
    ]


def test_hints_decide_which_terms_count() -> None:
    assert (
        told(SPEC.format("{m: 100, n: 1}"))[0]
        == "2*m*n + 3*m flops; peak memory 2*m numbers"
    )


def test_what_masks_take_is_rounded() -> None:
    spec = """
tensorgen: 1
inputs: {x: [n], y: [n]}
functions:
  f: "where(x > y, x, y)"
  g: "sum(where(x > y, 1, 0))"
"""
    assert [line.partition("memory ")[2] for line in told(spec)] == [
        "n numbers",
        "2*n numbers",
    ]
