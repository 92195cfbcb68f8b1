"""Selections whose sides read the same: it is computed once, and no side guards it."""

from __future__ import annotations

import re

import numpy as np
import pytest

import tensorgen
from tests.made import source

SPEC = """tensorgen: 1
inputs: {{theta: [3], S: [n], v: [n]}}
functions:
  f:
    where: |
      rate[i] = theta[0]*S[i]/(theta[1] + theta[2]*S[i])
      r[i] = log(v[i]) - log(rate[i])
    expr: "{expr}"
    wrt: theta
    emit: [value, gradient, hessian]
"""
SPELLINGS = {
    "by name": "sum(huber(r, 1.5))",
    "by its size": "sum(where(abs(r) <= 1.5, r**2/2, 1.5*(abs(r) - 0.75)))",
    "by both ends": "sum(where(r > 1.5, 1.5*r - 1.125, "
    "where(r < -1.5, -1.5*r - 1.125, r**2/2)))",
}


def flops(text: str) -> list[int]:
    """The flops for each of n, function by function."""
    return [int(found) for found in re.findall(r"Cost: (\d+)\*n", text)]


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_what_both_sides_read_is_computed_once(spelling: str) -> None:
    text = tensorgen.generate(SPEC.format(expr=SPELLINGS[spelling]))
    for part in (source(text, "f"), source(text, "f_grad")):
        assert part.count("np.log(v)") == 1 and "np.clip(" in part
        assert "np.where(" not in part
    # Of derivatives of log(rate) no power of the rate is left.
    most = zip(flops(text), (13, 14, 18, 54, 62), strict=True)
    assert all(found <= limit for found, limit in most), flops(text)


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_an_infinite_distance_has_a_finite_slope(spelling: str) -> None:
    m = tensorgen.load(SPEC.format(expr=SPELLINGS[spelling]))
    theta, S = np.array([2.0, 1.0, 0.5]), np.array([1.0, 2.0, 3.0])
    v = np.array([1.0, 0.0, 2.0])
    with np.errstate(divide="ignore"):
        value, slope = m.f_value_and_grad(theta, S, v)
    _, others = m.f_value_and_grad(theta, S[[0, 2]], v[[0, 2]])
    Q = theta[1] + theta[2] * S[1]
    own = -1.5 * np.array([1 / theta[0], -1 / Q, -S[1] / Q])
    assert value == np.inf
    np.testing.assert_allclose(slope, others - own, rtol=1e-12)


def test_what_one_side_reads_keeps_its_guard() -> None:
    m = tensorgen.load("""tensorgen: 1
inputs: {x: [n]}
functions:
  f: {expr: "sum(where(x > 0, log(x) + x**2, x**2))", wrt: x, emit: [gradient, hessian]}
""")
    x = np.array([0.0, -1.0, 2.0])
    with np.errstate(all="raise"):
        np.testing.assert_allclose(m.f_grad(x), [0, -2, 4.5])
        np.testing.assert_allclose(m.f_hess(x).diagonal(), [2, 2, 1.75])


def test_entries_elsewhere_are_not_the_same() -> None:
    m = tensorgen.load("""tensorgen: 1
inputs: {x: [n]}
functions:
  f:
    expr: "sum(where(x[i] > 0, log(x[i]), log(x[n - 1 - i])**2), i)"
    wrt: x
    emit: [gradient]
""")
    x = np.array([-1.0, 2.0])
    with np.errstate(all="raise"):
        np.testing.assert_allclose(m.f_grad(x), [0, np.log(2) + 0.5])
