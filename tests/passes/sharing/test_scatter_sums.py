"""What several terms add where an index array says is added up there once."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import tensorgen
from tests.made import generate, source

SPEC = """tensorgen: 1
module: grid
dims: {n: 300, m: 400}
inputs:
  v: [n]
  a: {shape: [m], index: n}
  b: {shape: [m], index: n}
  g: [m]
  s: [m]
  p: [n]
functions:
  f:
    where: |
      y = g*v[a]**2 - v[a]*v[b]*s
      z = g*v[b]**2 + v[a]*v[b]*sin(v[a] - v[b])
      P[i] = sum(y[l], l, a[l] == i) + sum(z[l], l, b[l] == i)
    expr: sum((P - p)**2)
    wrt: v
    emit: [value, gradient]
"""


def data() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    found: dict[str, Any] = {x: rng.normal(size=9) for x in ("v", "p")}
    found |= {x: rng.integers(0, 9, 14) for x in ("a", "b")}
    return found | {x: rng.normal(size=14) for x in ("g", "s")}


def slope() -> str:
    return source(generate(SPEC), "f_grad")


def test_each_index_array_adds_once_to_the_residual_and_once_to_the_slope() -> None:
    text = slope()
    assert text.count("_sum_by_key(") == 4
    for a in ("a", "b"):
        read = re.findall(rf"\w+\[{a}\]", text)
        assert len(read) == len({*read}) == 2


def test_the_slope_is_that_of_differences() -> None:
    module, given = tensorgen.load(SPEC), data()
    found = module.f_grad(**given)
    for k, own in enumerate(found):
        ends = []
        for h in (1e-6, -1e-6):
            moved = given["v"].copy()
            moved[k] += h
            ends.append(module.f(**{**given, "v": moved}))
        assert own == pytest.approx((ends[0] - ends[1]) / 2e-6, rel=1e-6, abs=1e-6)


def test_what_changes_is_read_each_time() -> None:
    """Rows that a statement adds to are not what they were before it."""
    spec = """tensorgen: 1
module: walk
inputs: {x: [n], a: {shape: [m], index: n}, w: [m]}
functions:
  f:
    where: |
      s[i] = sum(w[l], l, a[l] == i)
    expr: sum(s[a]*x[a]) + sum(s*x)
    wrt: x
    emit: [gradient]
"""
    rng = np.random.default_rng(0)
    a, w = rng.integers(0, 5, 8), rng.normal(size=8)
    s = np.bincount(a, w, 5)
    expected = np.bincount(a, s[a], 5) + s
    found = tensorgen.load(spec).f_grad(x=np.ones(5), a=a, w=w)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


EDGES = """tensorgen: 1
dims: {n: 100, f: 3, pipes: 150}
inputs:
  h: [n]
  fixed: [f]
  start: {shape: [pipes], index: n + f}
  stop: {shape: [pipes], index: n + f}
  c: [pipes]
functions:
  energy:
    where: |
      head = concatenate([h, fixed])
      d[e] = head[start[e]] - head[stop[e]]
    expr: EXPR
    wrt: h
    emit: [dense_hessian]
"""


@pytest.mark.parametrize(
    "expr",
    [
        "sum(c * (d**2 + 1)**(3/4))",
        "sum(c[e] * (1 + (head[stop[e]] - head[start[e]])**2)**0.75, e)",
        "c @ exp(3 * log(1 + d**2) / 4)",
    ],
)
def test_what_an_edge_adds_to_a_matrix_is_one_sum(expr: str) -> None:
    text = source(generate(EDGES.replace("EXPR", expr)), "energy_hess_dense")
    assert text.count("_sum_by_key(") == text.count("_add_at(") == 2
    # Both ends of an edge are free or not, in whatever order they are read.
    assert text.count("np.where(") == 1
    assert "(start < n) & (stop < n)" in text
    module = tensorgen.load(EDGES.replace("EXPR", expr))
    rng = np.random.default_rng(0)
    h, fixed, c = rng.random(5), rng.random(2), rng.random(9)
    start, stop = rng.integers(0, 7, 9), rng.integers(0, 7, 9)
    found = module.energy_hess_dense(h, fixed, start, stop, c)
    d = np.append(h, fixed)[start] - np.append(h, fixed)[stop]
    second = 1.5 * c * (1 + d**2) ** -0.25 - 0.75 * c * d**2 * (1 + d**2) ** -1.25
    incidence = np.eye(7)[start] - np.eye(7)[stop]
    want = (incidence.T * second) @ incidence
    np.testing.assert_allclose(found, want[:5, :5], rtol=1e-12, atol=1e-12)


POWER_FLOW = """tensorgen: 1
dims: {n: 100}
inputs: {theta: [n], V: [n], G: [n, n], B: [n, n]}
functions:
  injections:
    where: |
      WHERE
    expr: concatenate([P, Q])
    wrt: [theta, V]
    emit: [dense_jacobian]
"""
FLOWS = [
    """t[i, j] = theta[i] - theta[j]
      P[i] = V[i] * sum(V[j] * (G[i, j] * cos(t[i, j]) + B[i, j] * sin(t[i, j])), j)
      Q[i] = V[i] * sum(V[j] * (G[i, j] * sin(t[i, j]) - B[i, j] * cos(t[i, j])), j)""",
    """t = theta[:, None] - theta
      P = V * ((G * cos(t) + B * sin(t)) @ V)
      Q = V * ((G * sin(t) - B * cos(t)) @ V)""",
    """t = theta[:, None] - theta
      P = V * ((G * cos(t)) @ V) + V * ((B * sin(t)) @ V)
      Q = V * ((G * sin(t)) @ V) - V * ((B * cos(t)) @ V)""",
]


@pytest.mark.parametrize("where", FLOWS)
def test_sums_on_a_diagonal_are_of_what_stands_beside_it(where: str) -> None:
    text = generate(POWER_FLOW.replace("WHERE", where))
    body = source(text, "injections_jac_dense").rpartition('"""')[2]
    # One sum and one difference of matrices, and each is applied once.
    assert body.count(" @ ") == 2
    assert len(re.findall(r"np\.(?:cos|sin)\(", body)) == 2
    assert len(re.findall(r"\b[GB] \* ", body)) == 4
