"""Positions that stop at an end of an axis, against loops written out."""

from typing import Any

import numpy as np
import pytest

import tensorgen
from tensorgen.ir.nodes import Map, topological
from tests.lang.speak import checks, function, numbers, only_fault, value

N = numbers()
X, A, u, v, w = N["X"], N["A"], N["u"], N["v"], N["w"]
row, tri = N["row"], N["tri"]
AT = np.arange(4)
BACK, ON = np.maximum(AT - 1, 0), np.minimum(AT + 1, 3)

CASES = [
    ("f[i]", "v[max(i - 1, 0)] * w[i]", v[BACK] * w),
    ("f[i]", "v[min(i + 1, n - 1)] * w[i]", v[ON] * w),
    ("f[i=range(n)]", "v[max(i - 1, 0)]", v[BACK]),
    ("f[i]", "w[i] + v[n - 1 - max(i - 1, 0)]", w + v[3 - BACK]),
    ("f[i, j]", "X[i, j] - X[i, max(j - 2, 0)]", X - X[:, np.maximum(AT - 2, 0)]),
    ("f[i, j]", "A[max(i, j), min(i, j)] + 0*A[i, j]", np.tril(A) + np.tril(A, -1).T),
    ("f[i]", "w[i]*v[min(max(i - 1, 0), n - 2)]", w * v[np.minimum(BACK, 2)]),
    ("f[i]", "w[i]*v[max(i - 2, 0, i - 3)]", w * v[np.maximum(AT - 2, 0)]),
    ("f[a]", "v[max(row[a], 1)]", v[np.maximum(row, 1)]),
    (
        "f[a=range(k), i=range(m)]",
        "delta(i, row[max(a - 1, 0)])",
        np.eye(3)[row[[0, 0]]],
    ),
    ("f[i]", "where(i > 0, v[max(i - 1, 0)], 0) * w[i]", np.r_[0, v[:3]] * w),
    ("f[i, j]", "delta(max(i - 1, 0), j)*A[i, j]", np.eye(4)[BACK] * A),
    ("f", "v[min(0, n - 1)] + v[max(0, n - 1)]", v[0] + v[3]),
    ("f", "sum(v[max(i - 1, 0)] * v[i], i)", v[BACK] @ v),
    ("f[i]", "sum(v[j], j=range(i + 1)) * X[min(i, m - 1), 0] * w[i]", None),
    ("f[i=range(n)]", "A[max(i - 1, 0)][min(i + 1, n - 1)]", A[BACK, ON]),
]


@pytest.mark.parametrize(("left", "text", "expected"), CASES)
def test_an_entry_is_the_one_that_its_loop_reads(
    left: str, text: str, expected: Any
) -> None:
    if expected is None:
        expected = np.cumsum(v) * X[np.minimum(AT, 2), 0] * w
    np.testing.assert_allclose(value(text, left), expected, atol=1e-12)


def test_where_it_is_known_which_end_is_read_nothing_is_chosen() -> None:
    plain = where_made("where(i > 0, v[i - 1], 0)*w[i]")
    assert where_made("where(i > 0, v[max(i - 1, 0)], 0)*w[i]") == plain
    assert where_made("v[max(i, 0)]*w[i]") == 0


def where_made(text: str) -> int:
    nodes = topological([function(text, "f[i]").node])
    return sum(isinstance(x, Map) and x.function == "where" for x in nodes)


def test_an_end_says_nothing_of_ranges() -> None:
    message, place, hint = only_fault("v[max(i - 1, 0)]", "f[i]")
    assert (message, place) == ("nothing determines the range of 'i'", "i")
    assert "i=range(n)" in hint
    assert checks("v[max(i - 1, 0)]", "f[i=range(n)]") == [
        "'v[max(i - 1, 0)]' needs 1 <= n"
    ]


def test_a_step_reads_entries_at_ends() -> None:
    where = """
s[0, j] = v[j]
s[t + 1, j] = s[t, max(j - 1, 0)] + s[t, min(j + 1, n - 1)]*u[max(t - 1, 0)] + 0*u[t]
"""
    s = v
    for t in range(3):
        s = s[BACK] + s[ON] * u[max(t - 1, 0)]
    np.testing.assert_allclose(value("s[m]", "f", where), s, atol=1e-12)


def test_rows_that_steps_read_anywhere_are_carried() -> None:
    """The value at the root of a tree, whose nodes stand behind their children."""
    module = tensorgen.load("""tensorgen: 1
inputs:
  w: [n - 1]
  tip: [n]
  left: {shape: [n - 1], index: 2*n - 2}
  right: {shape: [n - 1], index: 2*n - 2}
functions:
  root:
    where: |
      v[0, j=range(2*n - 1)] = where(j < n, tip[min(j, n - 1)], 0)
      v[k + 1, j] = where(j == n + k, s[k], v[k, j])
      s[k] = sin(v[k, left[k]])*w[k] + v[k, right[k]]
    expr: v[n - 1, 2*n - 2]
    wrt: w
""")
    w, tip = np.array([0.5, 2.0, -1.5]), np.array([0.3, 1.0, -0.4, 0.8])
    left, right = np.array([0, 2, 4]), np.array([1, 3, 5])

    def root(w: Any) -> Any:
        v = [*tip]
        for k in range(3):
            v.append(np.sin(v[left[k]]) * w[k] + v[right[k]])
        return v[-1]

    value, grad = module.root_value_and_grad(w, tip, left, right)
    np.testing.assert_allclose(value, root(w), rtol=1e-14)
    slope = [(root(w + s) - root(w - s)) / 2e-6 for s in 1e-6 * np.eye(3)]
    np.testing.assert_allclose(grad, slope, rtol=1e-8)
