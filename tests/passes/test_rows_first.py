"""Rows that index arrays read are gathered first and multiplied then."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests import made

RATINGS = """
tensorgen: 1
inputs:
  U: [m, k]
  V: [n, k]
  rating: [q]
  row: {{shape: [q], index: m}}
  col: {{shape: [q], index: n}}
functions:
  f:
    expr: "{}"
    wrt: [U, V]
    emit: [value, gradient, hessian]
"""
SPELLINGS = [
    "sum((rating[e] - sum(U[row[e], a]*V[col[e], a], a))**2, e)",
    "sum((rating - sum(U[row]*V[col], axis=1))**2)",
    "norm(rating - (U @ V.T)[row, col])**2",
]


def peak(run: Callable[[], Any]) -> int:
    """How many bytes a call holds at most."""
    tracemalloc.start()
    try:
        run()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def ratings(m: int, n: int, k: int, q: int) -> tuple[np.ndarray, ...]:
    """Arguments: two factors, and a list of ratings."""
    rng = np.random.default_rng(0)
    places = rng.integers(0, m, q), rng.integers(0, n, q)
    return rng.normal(size=(m, k)), rng.normal(size=(n, k)), rng.normal(size=q), *places


@pytest.mark.parametrize("expr", SPELLINGS)
def test_no_pairs_of_rows_are_made(expr: str) -> None:
    model: Any = made.load(RATINGS.format(expr))
    m, n, k, q = 20, 800, 8, 20_000
    given = ratings(m, n, k, q)
    rows = 8 * q * k * k  # one outer product for each rating, the largest by hand
    assert peak(lambda: model.f_value_grad_hess(*given)) < 5 * rows
    assert peak(lambda: model.f_hess(*given)) < 5 * rows


@pytest.mark.parametrize("sizes", [(3, 4, 2, 40), (6, 5, 2, 7), (2, 3, 5, 4)])
@pytest.mark.parametrize("expr", SPELLINGS)
def test_products_with_the_hessian_of_ratings_are_those_of_its_entries(
    expr: str, sizes: tuple[int, int, int, int]
) -> None:
    model: Any = made.load(RATINGS.format(expr))
    U, V, rating, row, col = ratings(*sizes)
    hessian = model.f_hess(U, V, rating, row, col)
    left = rating - (U[row] * V[col]).sum(axis=1)
    (m, k), n = U.shape, len(V)
    slope: Any = np.zeros((len(row), (m + n), k))
    slope[np.arange(len(row)), row] = V[col]
    slope[np.arange(len(row)), m + col] = U[row]
    slope = slope.reshape(len(row), -1)
    truth: Any = (2 * slope.T @ slope).reshape(m + n, k, m + n, k)
    for e in range(len(row)):
        truth[row[e], :, m + col[e]] -= 2 * left[e] * np.eye(k)
        truth[m + col[e], :, row[e]] -= 2 * left[e] * np.eye(k)
    truth = truth.reshape((m + n) * k, -1)
    v = np.random.default_rng(1).normal(size=len(truth))
    np.testing.assert_allclose(hessian @ v, truth @ v, atol=1e-10)
    np.testing.assert_allclose(hessian.dense(), truth, atol=1e-10)


def test_what_an_entry_reads_is_summed_before_it_is_added_up() -> None:
    m, n, k, q = 2_000, 800, 8, 20_000
    text = RATINGS.format(SPELLINGS[0])
    text = text.replace("inputs:", f"dims: {{m: {m}, n: {n}, k: {k}, q: {q}}}\ninputs:")
    model: Any = made.load(text)
    hessian = model.f_hess(*ratings(m, n, k, q))
    v = np.ones(hessian.shape[1])
    assert peak(lambda: hessian @ v) < 6 * 8 * q * k
