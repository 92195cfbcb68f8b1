"""Functions in the memory of what they are of, where pages are saved by that."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorgen
from tests.made import generate

SPEC = """tensorgen: 1
module: kernel
dims: {n: SIZE}
inputs: {X: [n, 8], Y: [n, n], W: [n, n]}
functions:
  f:
    where: K[i, j] = EXPR
    expr: sum(K @ Y)
"""
CASES = {
    "exp(-sum((X[i, k] - X[j, k])**2, k)/2)": ["np.exp(K, out=K)"],
    "W[i, j]*exp(-sum((X[i, k] - X[j, k])**2, k)/2)": [
        "np.exp(exp_neg_half_sq_dists_X, out=exp_neg_half_sq_dists_X)"
    ],
    "sin(tanh(W[i, j] + Y[j, i])) + Y[i, j]": [
        *("K = Y.T + W", "np.tanh(K, out=K)", "np.sin(K, out=K)", "K += Y")
    ],
    "exp(W[i, j])": [],
    "exp(X[i, 0])*W[i, j]": [],
    "W[i, j]/cosh(W[i, j]*Y[i, j])": [],
}
BY_HAND: list[Any] = [
    lambda X, Y, W: np.exp(-((X[:, None] - X) ** 2).sum(-1) / 2),
    lambda X, Y, W: W * np.exp(-((X[:, None] - X) ** 2).sum(-1) / 2),
    lambda X, Y, W: np.sin(np.tanh(W + Y.T)) + Y,
    lambda X, Y, W: np.exp(W),
    lambda X, Y, W: np.exp(X[:, :1]) * W,
    lambda X, Y, W: W / np.cosh(W * Y),
]


@pytest.mark.parametrize(
    ("case", "by_hand"), [*zip(CASES.items(), BY_HAND, strict=True)], ids=[*CASES]
)
def test_large_arrays_are_written_over(case: Any, by_hand: Any) -> None:
    expr, expected = case
    spec = SPEC.replace("EXPR", expr)
    text = generate(spec.replace("SIZE", "300")).partition("\ndef _")[0]
    lines = [line.strip() for line in text.split("\n")]
    over = [line for line in lines if "out=" in line or line[:4] in ("K *=", "K +=")]
    assert over == [line for line in expected if not line.startswith("K = ")]
    assert all(line in lines for line in expected)
    module: Any = tensorgen.load(spec.replace("SIZE", "300"))
    rng = np.random.default_rng(0)
    given = {"X": rng.normal(size=(9, 8)), "Y": rng.normal(size=(9, 9))}
    given["W"] = rng.normal(size=(9, 9))
    before = {name: array.copy() for name, array in given.items()}
    taken = {x: given[x] for x in ("X", "Y", "W") if x in module.f.__annotations__}
    value = (by_hand(**given) @ given["Y"]).sum()
    assert module.f(**taken) == pytest.approx(value, rel=1e-12)
    assert all(np.array_equal(given[name], before[name]) for name in given)


@pytest.mark.parametrize("size", ["100", ""])
def test_small_arrays_and_those_of_any_size_are_written_plainly(size: str) -> None:
    expr, *_ = CASES
    spec = SPEC.replace("EXPR", expr)
    spec = spec.replace("SIZE", size) if size else spec.replace("dims: {n: SIZE}\n", "")
    assert "out=" not in generate(spec).partition("def _")[0]
