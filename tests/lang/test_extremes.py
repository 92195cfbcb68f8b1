"""`max` and `min` of several values, against loops; and where they stay reductions."""

from typing import Any

import numpy as np
import pytest

from tests.lang.speak import numbers, only_fault, value

N = numbers()
X, Y, A, v, w, c = N["X"], N["Y"], N["A"], N["v"], N["w"], float(N["c"])
row = N["row"]
AT = np.arange(4)


CASES = [
    ("f", "min(c, 0)", min(c, 0)),
    ("f", "max(0, c)", max(c, 0)),
    ("f", "max(c, -c, 0.3)", max(c, -c, 0.3)),
    ("f", "min(c, pi)", min(c, np.pi)),
    ("f", "min(2*c, n)", min(2 * c, 4)),
    ("f", "sum(min(v[i], 0), i)", np.minimum(v, 0).sum()),
    ("f[i]", "max(0, v[i] - w[i])", np.maximum(v - w, 0)),
    ("f[i]", "min(v[i], w[i], c)", np.minimum(np.minimum(v, w), c)),
    ("f[i]", "min(i + 1, n - i) * v[i]", np.minimum(AT + 1, 4 - AT) * v),
    ("f[i]", "max(2, i) * v[i]", np.maximum(2, AT) * v),
    ("f[a]", "max(row[a], 1)", np.maximum(row, 1)),
    ("f", "max(v, w)", np.maximum(v, w)),
    ("f", "min(X, v, c)", np.minimum(np.minimum(X, v), c)),
    # Reductions, as before: over an axis, or over what is bound.
    ("f", "max(v, 0)", v.max()),
    ("f", "min(X, 1)", X.min(axis=1)),
    ("f", "max(X, -1, True)", X.max(axis=-1, keepdims=True)),
    ("f", "min(X, (0, 1))", X.min()),
    ("f", "max(X, None)", X.max()),
    ("f", "max(v[e], e)", v.max()),
    ("f", "max(v[k], k)", v.max()),
    ("f[i]", "max(A[i, j], j)", A.max(axis=1)),
    ("f", "max(v[i], i, i < 2)", v[:2].max()),
]


@pytest.mark.parametrize(("left", "text", "expected"), CASES)
def test_a_call_has_the_value_of_its_loop(left: str, text: str, expected: Any) -> None:
    np.testing.assert_allclose(value(text, left), expected, atol=1e-12)


def test_an_index_that_the_first_argument_mentions_was_meant_to_be_bound() -> None:
    message, place, _ = only_fault("max(v[i], i)", "f[i]")
    assert (message, place) == ("the index 'i' is bound already", "i")
