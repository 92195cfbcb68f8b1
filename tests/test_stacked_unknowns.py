"""Unknowns that are stacked with data: what is tied deep in sums stays what it is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorgen

Array = Any
# A polynomial a segment by its values and three derivatives at both ends, of which the
# inner ones are free: minimum snap.
BY_ROWS = """
  D(d) = stack([p, rows(d[:, 0]), rows(d[:, 1]), rows(d[:, 2])], axis=1)
  rows(v) = concatenate([zeros(1, 3), v, zeros(1, 3)])
"""
AT_ONCE = """
  D(d) = concatenate([p[:, None], rows(d)], axis=1)
  rows(v) = concatenate([zeros(1, 3, 3), v, zeros(1, 3, 3)])
"""
SPEC = """
tensorgen: 1
{hint}
inputs:
  tau: [S]
  R: [8, 8]
  p: [S + 1, 3]
definitions: |
  E(d) = concatenate([D(d)[:-1], D(d)[1:]], axis=1)
{stacked}
unknowns:
  d:
    shape: [S - 1, 3, 3]
    minimises: |
      sum(E(d)[s, a, c]*R[a, b]*E(d)[s, b, c]/exp(tau[s])**7, s, a, b, c)
functions:
  effort: {{expr: sum(d**2), wrt: tau}}
"""


def effort(tau: Array, R: Array, p: Array) -> Array:
    """The same by matrices: the free rows solve a linear system."""
    size = len(tau)
    total = np.zeros((4 * size + 4, 4 * size + 4), tau.dtype)
    for s in range(size):
        rows = slice(4 * s, 4 * s + 8)
        total[rows, rows] += (R + R.T) / np.exp(tau[s]) ** 7
    given = np.zeros((size + 1, 4, 3))
    given[:, 0] = p
    free = np.ravel([[4 * s + r for r in (1, 2, 3)] for s in range(1, size)]).astype(
        int
    )
    right = -(total @ given.reshape(-1, 3))[free]
    return (np.linalg.solve(total[np.ix_(free, free)], right) ** 2).sum()


THOROUGH = pytest.mark.thorough


@pytest.mark.parametrize(
    ("stacked", "hint"),
    [
        pytest.param(BY_ROWS, "", id="by rows"),
        pytest.param(BY_ROWS, "dims: {S: 2}", id="by rows, 2", marks=THOROUGH),
        pytest.param(BY_ROWS, "dims: {S: 6}", id="by rows, 6", marks=THOROUGH),
        pytest.param(BY_ROWS, "dims: {S: 900}", id="by rows, 900", marks=THOROUGH),
        pytest.param(AT_ONCE, "", id="at once", marks=THOROUGH),
        pytest.param(AT_ONCE, "dims: {S: 2}", id="at once, 2", marks=THOROUGH),
        pytest.param(AT_ONCE, "dims: {S: 6}", id="at once, 6", marks=THOROUGH),
        pytest.param(AT_ONCE, "dims: {S: 900}", id="at once, 900"),
    ],
)
def test_a_hint_is_no_part_of_what_is_computed(stacked: str, hint: str) -> None:
    module = tensorgen.load(SPEC.format(hint=hint, stacked=stacked))
    for size in (2, 3, 5):
        rng = np.random.default_rng(size)
        tau, p = rng.normal(size=size) / 9, rng.normal(size=(size + 1, 3))
        Q = rng.normal(size=(8, 8))
        R = Q @ Q.T + np.eye(8)
        assert module.effort(tau, R, p) == pytest.approx(effort(tau, R, p), rel=1e-9)
        steps = 1e-30j * np.eye(size)
        slope = [np.imag(effort(tau + step, R, p)) / 1e-30 for step in steps]
        np.testing.assert_allclose(module.effort_grad(tau, R, p), slope, rtol=1e-8)
