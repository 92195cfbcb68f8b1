"""Energies of pairs: all spellings have one Hessian, of blocks and products."""

from __future__ import annotations

import ast
from pathlib import Path

import numpy as np
import pytest

from tests.made import generate, load

SPEC = """
tensorgen: 1
dims: {n: 40}
inputs: {x: [n, 3]}
functions:
  f:
    where: |
      q[i, j] = 1/(1e-9 + sum((x[i, c] - x[j, c])**2, c))
    expr: %s
    wrt: x
    emit: [gradient, hessian]
"""
RANGE = SPEC % "sum(q[i, j]**6 - q[i, j]**3, i, j=range(i + 1, n))"
BELOW = SPEC % "sum(q[i, j]**6 - q[i, j]**3, i, j=range(i))"
WHERE = SPEC % "sum(where(i < j, q[i, j]**6 - q[i, j]**3, 0), i, j)"
TWICE = SPEC % "sum(where(i == j, 0, q[i, j]**6 - q[i, j]**3), i, j)/2"
SPELLINGS = RANGE, BELOW, WHERE, TWICE


def body(text: str, name: str) -> list[str]:
    (own,) = (
        x
        for x in ast.parse(text).body
        if isinstance(x, ast.FunctionDef) and x.name == name
    )
    return [ast.unparse(x) for x in own.body[1:]]


def test_a_range_of_pairs_costs_what_a_condition_does() -> None:
    range_, where = (body(generate(x), "f_hess") for x in (RANGE, WHERE))
    assert range_ == where
    assert "1:" not in "".join(range_)


def test_all_weights_of_a_difference_are_added_up_before_it_is_multiplied() -> None:
    lines = body(generate(RANGE), "f_hess")
    assert len(lines) < 22
    (blocks,) = (x for x in lines if x.startswith("A = "))
    assert blocks.count("@") == 2
    assert "D = -np.tril(difference, -1)" in lines


@pytest.mark.parametrize("spec", SPELLINGS)
def test_hessians_are_those_of_differences(spec: str) -> None:
    module, rng = load(spec), np.random.default_rng(4)
    x, dx = 2 * rng.normal(size=(5, 3)), rng.normal(size=(5, 3))
    above, below = (module.f_grad(x + s * dx) for s in (1e-6, -1e-6))
    found = module.f_hess(x).matvec(dx)
    np.testing.assert_allclose(found, (above - below) / 2e-6, rtol=1e-6, atol=1e-5)
    np.testing.assert_allclose(
        module.f_hess(x).matvec(dx), load(WHERE).f_hess(x).matvec(dx), rtol=1e-9
    )


def test_differences_that_are_formed_are_multiplied_as_they_are() -> None:
    mixture = Path(__file__).parents[2] / "examples" / "gaussian_mixture.yaml"
    lines = body(generate(mixture.read_text("utf-8")), "nll_value_and_grad")
    assert not any("centred" in line or "shifted" in line for line in lines)
    assert any("parts.responsibility[:, None] * parts.X_minus_mu" in x for x in lines)
