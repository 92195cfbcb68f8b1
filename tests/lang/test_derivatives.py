"""Derivatives in expressions, against formulas worked out by hand."""

from typing import Any

import numpy as np
import pytest

import tensorgen
from tensorgen.errors import SpecError
from tests.lang.speak import function, numbers, value

N = numbers()
X, A, u, v, w, c = N["X"], N["A"], N["u"], N["v"], N["w"], N["c"]
S = A + A.T
T = np.tanh(X @ v)
J = (1 - T**2)[:, None] * X

CASES: list[tuple[str, str, Any]] = [
    ("f", "grad(v @ A @ v, v)", S @ v),
    ("f", "grad(c**3, c)", 3 * c**2),
    ("f", "jac(tanh(X @ v), v)", J),
    ("f", "jac(tanh(X @ v), v).T @ jac(tanh(X @ v), v)", J.T @ J),
    ("f", "hess(v @ A @ v, v)", S),
    ("f", "trace(hess(sum(v**4), v))", (12 * v**2).sum()),
    ("f", "hvp(v @ A @ v, v, w)", S @ w),
    ("f", "jvp(tanh(X @ v), v, w)", J @ w),
    ("f", "vjp(tanh(X @ v), v, u)", J.T @ u),
    ("f", "grad(sum(grad(sum(v**3), v)), v)", 6 * v),
    ("f", "norm(grad(v @ v, v))**2", 4 * v @ v),
    ("f[i]", "grad(tanh(v[i]), v[i])", 1 - np.tanh(v) ** 2),
    ("f[i]", "grad(sum(X[i, j] * v[j]**2, j), v)", 2 * X * v),
    ("f[i, j]", "grad(sum(X[i, q] * v[q]**2, q), v[j])", 2 * X * v),
    ("f[i]", "grad(v[i] * sum(v), v[i])", v + v.sum()),
    ("f[i]", "hess(v[i]**2 * c, c) + 0 * v[i]", np.zeros(4)),
    ("f[j]", "jac(X @ v, v[j])", X.T),
    ("f[j]", "hvp(v @ A @ v, v, A[:, j])", (S @ A).T),
    ("f[i]", "jvp(A[i, :] * v, v, w)", A * w),
    ("f[i]", "vjp(X @ v, v, X[:, i])", (X.T @ X).T),
    ("f", "sum(grad(v[i]**3, v[i]) * w[i], i)", (3 * v**2) @ w),
]


@pytest.mark.parametrize(("left", "text", "expected"), CASES)
def test_a_derivative_has_its_value(left: str, text: str, expected: Any) -> None:
    np.testing.assert_allclose(value(text, left), expected, atol=1e-10)


def test_a_derivative_is_of_where_names_and_functions_too() -> None:
    where = "z = X @ v\nt[i] = z[i]**2\ng = grad(sum(t), v)"
    expected = 2 * X.T @ (X @ v)
    np.testing.assert_allclose(value("g", where=where), expected)


def test_second_derivatives_by_entries_are_written_one_by_one() -> None:
    where = "a[i] = exp(2 * v[i])\nd[i] = grad(a[i], v[i])\ndd[i] = grad(d[i], v[i])"
    np.testing.assert_allclose(value("dd", where=where), 4 * np.exp(2 * v))


def test_an_input_that_only_the_derivative_mentions_is_an_argument() -> None:
    f = function("grad(c**2 + 0 * v[0], v)")
    assert [a.name for a in f.arguments] == ["v", "c"]


@pytest.mark.parametrize(
    "expr", ["sum(gammainc(v, 2))", "grad(sum(gammainc(v, 2)), v)"]
)
def test_what_has_no_derivative_is_refused_by_name(expr: str) -> None:
    emit = "" if "grad" in expr else ", wrt: v, emit: [gradient]"
    spec = "tensorgen: 1\ninputs: {v: [n]}\nfunctions:\n  f: {expr: "
    spec += f'"{expr}"{emit}}}\n'
    with pytest.raises(SpecError, match=r"'f': 'gammainc' has no derivative by .* 'a'"):
        tensorgen.generate(spec)
