"""Lines of `where` that are about the indices of the function's left side."""

from typing import Any

import numpy as np
import pytest

from tests.lang.speak import faults, numbers, value

N = numbers()
X, A, u, v, w = N["X"], N["A"], N["u"], N["v"], N["w"]
row = N["row"]
AT = np.arange(4)

CASES = [
    (
        "f[i=range(4)]",
        "s = 4 - i\nt = min(i + 1, s)",
        "s + 10*t",
        4 - AT + 10 * np.r_[1, 2, 2, 1],
    ),
    ("f[i]", "s = v[i] - 1", "s*s + w[i]", (v - 1) ** 2 + w),
    ("f[i, j]", "s = u[i]\nt = v[j]", "s*t + X[i, j]", np.outer(u, v) + X),
    ("f[i, j]", "s = u[i]\nt = s*v[j]", "t + X[i, j]", np.outer(u, v) + X),
    ("f[i]", "s[j] = X[i, j]*w[j]", "sum(s[j]**2, j)", ((X * w) ** 2).sum(1)),
    ("f[i]", "s[j] = X[i, j]*w[j]", "sum(s)", X @ w),
    ("f[i]", "s = u[i]\nr[i] = s + 1", "r[i]*s", (u + 1) * u),
    ("f[i]", "s = u[i]", "s[i] + 1", u + 1),
    ("f[i]", "s = sum(X[i, j], j)\nz = X.T @ u", "s*z[0]", X.sum(1) * (X.T @ u)[0]),
    ("f[i]", "s = sum(u[i], i)", "s*u[i]", u.sum() * u),
    ("f[i=range(m)]", "s = max(1, i)", "s*u[i]", [1, 1, 2] * u),
    ("f[i, j]", "p = softmax(X[i, j], j)", "p", np.exp(X) / np.exp(X).sum(1)[:, None]),
    ("f[e]", "s = u[row[e]]", "s", u[row]),
    ("f[e=range(2)]", "s = e", "s", [np.e, np.e]),
    ("f[n]", "s = 1/n", "s*v[n]", v / 4),
    ("f[i]", "s[:] = X[i]", "s @ w", X @ w),
    (
        "f[i]",
        "s = where(u[i] > 0, u[i], 0)\nt = s**2",
        "t[i] + s",
        np.maximum(u, 0) ** 2 + np.maximum(u, 0),
    ),
]


@pytest.mark.parametrize(("left", "where", "text", "expected"), CASES)
def test_a_line_is_about_each_of_them(
    left: str, where: str, text: str, expected: Any
) -> None:
    np.testing.assert_allclose(value(text, left, where), expected, atol=1e-12)


def test_a_range_that_nothing_gives_is_asked_for_at_the_left_side() -> None:
    (fault,) = faults("s", "f[i]", "s = 4 - i")
    assert fault.message == "nothing determines the range of 'i'"
    assert fault.hint is not None and "i=range(n)" in fault.hint
