"""Recurrences of which the last value alone is read keep no other."""

from __future__ import annotations

import numpy as np
import pytest

import tensorgen
from tensorgen.passes.steps.at_ends import at_ends
from tests.lang.speak import program

SPEC = """tensorgen: 1
inputs: {a: [T + 1], h: scalar}
functions:
  f:
    where: |
      x[0] = a
      x[t + 1] = x[t] + h*x[t]**2
    expr: x[T, T]
"""


def test_the_last_entry_of_the_last_value_is_no_last_value_itself() -> None:
    module, a = tensorgen.load(SPEC), np.array([0.3, -1.0, 2.0, 0.5])
    x = a
    for _ in range(3):
        x = x + 0.1 * x**2
    np.testing.assert_allclose(module.f(a, 0.1), x[3], rtol=1e-14)


@pytest.mark.parametrize(
    ("read", "is_kept"),
    [
        ("sum(x[T])", False),
        ("x[T, T] * x[T, 0]", False),
        ("sum(x[T]) + sum(x[1])", True),
        ("sum(x[T]) + sum(x)", True),
    ],
)
def test_what_is_read_before_the_end_keeps_the_history(
    read: str, is_kept: bool
) -> None:
    found = program(SPEC.replace("x[T, T]", read))
    roots = [found.functions[0].node]
    assert (at_ends(found.graph, roots) == roots) == is_kept
