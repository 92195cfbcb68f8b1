"""Index notation against loops written out."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tensorgen.ir.nodes import Product
from tests.lang.speak import checks, function, numbers, value

N = numbers()
X, Y, A, B = N["X"], N["Y"], N["A"], N["B"]
u, v, w, long, wide, c = N["u"], N["v"], N["w"], N["long"], N["wide"], N["c"]
row, tri = N["row"], N["tri"]


def table(shape: tuple[int, ...], entry: Callable[..., Any]) -> Any:
    """Return the array whose entries a function of the indices gives."""
    result = np.zeros(shape)
    for at in np.ndindex(shape):
        result[at] = entry(*at)
    return result


CASES = [
    ("f[i, j]", "X[i, j] * v[j]", X * v),
    ("f[j, i]", "X[i, j]", X.T),
    ("f[i]", "A[i, i]", np.diag(A)),
    ("f[i]", "sum(X[i, j] * v[j], j)", X @ v),
    ("f", "sum(X[i, j] * v[j] * u[i], i, j)", u @ X @ v),
    ("f[i]", "sum(X[i, :] * v)", X @ v),
    ("f[i]", "X[i, :]", X),
    ("f[i]", "X[i]", X),
    ("f[i]", "u[i]", u),
    ("f[i]", "(X @ v)[i] + u[i]", X @ v + u),
    ("f[i]", "(X @ A)[i, 0]", (X @ A)[:, 0]),
    ("f", "sum(i * v[i], i)", np.arange(4) @ v),
    ("f[i]", "v[i] / (i + 1)", v / np.arange(1, 5)),
    ("f[i]", "v[n - 1 - i]", v[::-1]),
    ("f[n]", "v[n] * n", v * np.arange(4)),
    ("f", "sum(sum(X[m, n] * v[n], n)**2, m)", (X @ v) @ (X @ v)),
    ("f", "sum(v[n] * n, n=range(1, n))", v[1:] @ np.arange(1, 4)),
    ("f[m]", "sum(X[m, n], n=range(n - 1))", X[:, :-1].sum(axis=1)),
    ("f[i]", "long[2*i + 1]", long[1::2]),
    ("f[i]", "v[i + 1] - v[i]", np.diff(v)),
    ("f", "sum(v[i + 1] * v[i - 1], i)", v[2] * v[0] + v[3] * v[1]),
    ("f[i]", "sum(wide[i + j] * row[j], j)", wide[:4] * 2),
    ("f[i, j]", "wide[i + j] + 0 * v[i]", table((4, 2), lambda i, j: wide[i + j])),
    ("f[i]", "v[i:i + 2]", table((3, 2), lambda i, j: v[i + j])),
    ("f", "sum(v[i], i=range(2))", v[:2].sum()),
    ("f", "sum(v[i], i=range(1, n - 1))", v[1:-1].sum()),
    ("f", "sum(1, i=range(2, n)) * c / c + 0 * sum(v)", 2),
    ("f", "sum(sum(A[i, j], j=range(i, n)), i)", np.triu(A).sum()),
    ("f", "sum(A[i, j], i, j=range(i + 1, n))", np.triu(A, 1).sum()),
    ("f[i]", "sum(v[j], j=range(i + 1))", np.cumsum(v)),
    ("f[i]", "sum(v[j], j=range(i))", np.cumsum([0, *v])),
    ("f[i]", "sum(v[j], j=range(i, n))", np.cumsum(v[::-1])[::-1]),
    ("f", "sum(sum(v[j - i], j=range(i, n)), i=range(n))", np.cumsum(v).sum()),
    ("f", "sum(A[i, j], i, j, i < j)", np.triu(A, 1).sum()),
    ("f", "sum(A[i, j], i, j, i <= j)", np.triu(A).sum()),
    ("f", "sum(A[i, j], i, j, i == j)", np.trace(A)),
    ("f", "sum(A[i, j], i, j, i != j)", A.sum() - np.trace(A)),
    ("f", "sum(A[i, j], i, j, i < j < i + 2)", np.diag(A, 1).sum()),
    ("f", "sum(A[i, j], i, j, (i > j) & (j > 0))", np.tril(A, -1)[:, 1:].sum()),
    ("f", "sum(v[i], i, v[i] > 0)", v[v > 0].sum()),
    ("f", "sum(v[i], i, i >= 1, v[i] > w[i])", v[1:][v[1:] > w[1:]].sum()),
    ("f[i]", "sum(A[i, j], j, j != i)", A.sum(1) - np.diag(A)),
    ("f[i, j]", "delta(i, j) * v[i] + 0 * w[j]", np.diag(v)),
    ("f", "sum(delta(i + 1, j) * A[i, j], i, j)", np.diag(A, 1).sum()),
    ("f", "delta(2, 2) + delta(1, 2)", 1),
    ("f[a, j]", "X[row[a], j]", X[row]),
    ("f[a]", "X[row[a]]", X[row]),
    ("f", "sum(X[row[a], j], a, j)", X[row].sum()),
    ("f[a, d]", "v[tri[a, d]]", v[tri]),
    ("f[a]", "v[tri[a, 0]] - v[tri[a, 2]]", v[tri[:, 0]] - v[tri[:, 2]]),
    ("f[a]", "sum(v[tri[a, d]], d=range(1, 3))", v[tri[:, 1:]].sum(1)),
    ("f", "sum(u[row[a + 1]], a=range(k - 1))", u[row[1:]].sum()),
    ("f", "sum(u[row[a + 1]], a)", u[row].sum()),
    ("f[i]", "sum(row[a] * X[i, 1], a, row[a] == i)", [0, 0, 2 * X[2, 1]]),
    ("f[i]", "sum(delta(row[a], i), a) + 0 * u[0]", [1, 0, 1]),
    ("f", "max(v[i], i)", v.max()),
    ("f[i]", "min(X[i, j], j)", X.min(1)),
    ("f", "prod(v[i], i)", v.prod()),
    ("f", "mean(X[i, j], i, j)", X.mean()),
    ("f[j]", "mean(X[i, j], i)", X.mean(0)),
    ("f", "norm(v[i], i)", np.linalg.norm(v)),
    ("f", "norm(v[i], 1, i)", np.abs(v).sum()),
    ("f[i]", "norm(X[i, j], inf, j)", np.abs(X).max(1)),
    ("f[i]", "var(X[i, j], j)", X.var(1)),
    ("f[i]", "logsumexp(X[i, j], j)", np.log(np.exp(X).sum(1))),
    ("f", "max(v[i], i, i < 2)", v[:2].max()),
    ("f", "prod(v[i], i, v[i] > 0)", v[v > 0].prod()),
    ("f", "mean(v[i], i, v[i] > 0)", v[v > 0].mean()),
    ("f[i]", "mean(v[j], j=range(i + 1))", np.cumsum(v) / np.arange(1, 5)),
    ("f[i]", "max(v[j], j=range(i + 1))", np.maximum.accumulate(v)),
    ("f", "var(v[i], i, i > 0)", v[1:].var()),
    ("f", "norm(v[i], i, v[i] > 0)", np.linalg.norm(v[v > 0])),
    ("f", "logsumexp(v[i], i, i != 1)", np.log(np.exp(v[[0, 2, 3]]).sum())),
    ("f[i, j]", "softmax(X[i, j], j)", np.exp(X) / np.exp(X).sum(1, keepdims=True)),
    ("f[i]", "softmax(X[i, :])", np.exp(X) / np.exp(X).sum(1, keepdims=True)),
    ("f[i]", "cumsum(v[i], i)", np.cumsum(v)),
    ("f", "sum(sum(v[i], i) * w[j], j)", v.sum() * w.sum()),
    ("f", "sum(v[i], i) * sum(w[i], i)", v.sum() * w.sum()),
    ("f", "sum(X[t, :], t)", X.sum(0)),
    ("f[i]", "where(i < 2, v[i], w[i])", np.where(np.arange(4) < 2, v, w)),
    ("f[p, i]", "B[p, :, i] @ v + c", B.transpose(0, 2, 1) @ v + c),
    ("f[p]", "trace(B[p])", np.trace(B, axis1=1, axis2=2)),
    ("f[p]", "solve(B[p], v)", np.linalg.inv(B) @ v),
    ("f[p, q]", "det(B[p] @ B[q])", np.outer(*[np.linalg.det(B)] * 2)),
    ("f[p, i]", "(A[i] * B[p])[0, 0]", np.outer(B[:, 0, 0], A[:, 0])),
]


@pytest.mark.parametrize(("left", "text", "expected"), CASES)
def test_an_expression_has_the_value_of_its_loops(
    left: str, text: str, expected: Any
) -> None:
    np.testing.assert_allclose(value(text, left), expected, atol=1e-12)


def test_axes_are_those_of_the_left_side_then_those_of_the_expression() -> None:
    node = function("B[p, i, :] + 0 * u[j]", "f[i, j, p]").node
    assert [str(dim) for dim in node.dims] == ["n", "m", "k", "n"]


def test_names_are_used_with_and_without_indices() -> None:
    where = "z = X @ v\nt[i] = -u[i] * z[i]"
    np.testing.assert_allclose(value("sum(t) + sum(z)", where=where), (1 - u) @ X @ v)
    np.testing.assert_allclose(
        value("t[i] + z[i] * u[i]", "f[i]", where=where), np.zeros(3), atol=1e-12
    )


def test_an_index_may_shadow_a_constant() -> None:
    np.testing.assert_allclose(value("sum(v[e] * e, e)"), v @ np.arange(4))


def test_what_a_condition_excludes_may_be_singular() -> None:
    given = {"v": np.array([0.0, 1.0, 2.0, 4.0])}
    assert value("sum(1 / v[i], i, v[i] > 0)", given=given) == 1.75
    assert value("sum(log(v[i]), i, v[i] >= 1)", given=given) == np.log(8)


def test_a_range_that_follows_from_positions_is_checked_at_run_time() -> None:
    assert checks("v[i + 1] - v[i]", "f[i]") == ["the range of 'i' needs 1 <= n"]
    assert checks("sum(X[i, j], i, j)") == []
    assert checks("sum(v[i], i=range(2))") == ["'v[i]' needs 2 <= n"]


def test_an_index_array_that_may_leave_its_axis_is_checked() -> None:
    text = "sum(X[i, row[a]], i, a)"
    assert checks(text) == ["'X[i, row[a]]' needs m <= n"]


def test_deltas_of_positions_vanish_where_they_only_rename() -> None:
    node = function("sum(X[i, j] * v[j], j)", "f[i]").node
    assert isinstance(node, Product)
    assert not node.constraints
