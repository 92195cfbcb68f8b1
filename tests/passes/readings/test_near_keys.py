"""Sums by key of sums by key: keys compose, and the Jacobian is as sparse as they."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest

from tests import made

SPEC = """
tensorgen: 1
inputs:
  x: [n]
  a: [z]
  mon: {{shape: [z], index: t}}
  v: {{shape: [z], index: n}}
  c: [t]
  row: {{shape: [t], index: q}}
  con: {{shape: [q], index: m}}
functions:
  g[i]:
    where: |
      mono[k] = c[k]*exp(sum(a[e]*x[v[e]], e, mon[e] == k))
{}
    wrt: x
    emit: [value, jacobian]
"""
SPELLINGS = [
    "    expr: sum(log(sum(mono[k], k, row[k] == l)), l, con[l] == i)",
    "      post[l] = sum(mono[k], k, row[k] == l)\n"
    "    expr: sum(log(post[l]), l, con[l] == i)",
    "      post[l] = sum(where(row[k] == l, mono[k], 0), k)\n"
    "    expr: sum(log(post[l]), l, i == con[l])",
]


def program(n: int, m: int, each: int) -> tuple[np.ndarray, ...]:
    """A geometric program of m constraints: x, and what is said of its terms."""
    rng = np.random.default_rng(0)
    q, t, z = m, each * m, 2 * each * m
    con, row = rng.permutation(q), rng.permutation(np.repeat(np.arange(q), each))
    mon = rng.permutation(np.repeat(np.arange(t), 2))
    a, v = rng.normal(size=z), rng.integers(0, n, z)
    c = rng.uniform(1, 2, t)
    return rng.normal(size=n), a, mon, v, c, row, con


@pytest.mark.parametrize("body", SPELLINGS)
def test_the_jacobian_of_sums_by_key_of_sums_by_key_is_its_entries(body: str) -> None:
    model: Any = made.load(SPEC.format(body))
    x, *rest = given = program(n=7, m=5, each=3)
    jacobian = model.g_jac(*given, m=5)
    assert jacobian.nbytes <= 8 * 3 * 30
    steps = 1e-6 * np.eye(7)
    moved = [
        (model.g(x + h, *rest, m=5) - model.g(x - h, *rest, m=5)) / 2e-6 for h in steps
    ]
    np.testing.assert_allclose(jacobian.dense(), np.array(moved).T, atol=1e-7)


@pytest.mark.parametrize("body", SPELLINGS)
def test_nothing_is_made_of_all_terms_for_all_constraints(body: str) -> None:
    model: Any = made.load(SPEC.format(body))
    given = program(n=900, m=1_000, each=4)
    for arguments, most in ((given, 12), (program(n=2, m=4, each=1_000), 16)):
        tracemalloc.start()
        try:
            model.g_jac(*arguments, m=len(arguments[-1]))
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert peak < most * 8 * len(arguments[1])


def test_elements_are_added_up_by_nodes_of_nodes() -> None:
    model: Any = made.load(
        "tensorgen: 1\ninputs: {c: [t], row: {shape: [t], index: q},"
        " con: {shape: [q], index: m}}\nfunctions:\n"
        "  p[i]: {expr: 'sum(sum(c[k]**2, k, row[k] == l)**2, l, con[l] == i)',"
        " wrt: c, emit: [jacobian]}"
    )
    rng = np.random.default_rng(1)
    c, row, con = rng.normal(size=8), rng.integers(0, 5, 8), rng.integers(0, 3, 5)
    sums = np.bincount(row, c**2, 5)
    truth = np.zeros((3, 8))
    truth[con[row], np.arange(8)] = 4 * c * sums[row]
    jacobian = model.p_jac(c, row, con, m=3)
    np.testing.assert_allclose(jacobian.dense(), truth)
    assert jacobian.nbytes <= 8 * 3 * 8
